"""The seen-set: the known URLs, so that none is fetched twice, in any spelling.

    URL -> cache -> fingerprint -> exact store

The cache answers for most seen URLs, the store for all others, exactly.  A store in memory is as fast as the cache,
which is for stores on disk.  A Bloom filter can take the place of the store, and loses a few URLs.
"""

from crawlproject.seen.bloom import UrlBloom
from crawlproject.seen.cache import ClockCache
from crawlproject.seen.exact import MemorySeenSet
from crawlproject.seen.fingerprint import bytes_fingerprint, key_bytes, server_part, url_fingerprint, url_key
from crawlproject.seen.seen_set import BloomSeenSet, ExactStore, SeenSet, SeenUrls

__all__ = [
    "BloomSeenSet",
    "ClockCache",
    "ExactStore",
    "MemorySeenSet",
    "SeenSet",
    "SeenUrls",
    "UrlBloom",
    "bytes_fingerprint",
    "key_bytes",
    "server_part",
    "url_fingerprint",
    "url_key",
]
