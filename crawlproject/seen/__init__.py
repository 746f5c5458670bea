"""The seen-set: the known URLs, so that none is fetched twice, in any spelling.

    URL -> cache -> fingerprint -> exact store

The cache answers for most seen URLs, the store for the rest, exactly.  A store in memory is as fast as the cache, which
is for stores on disk.  A Bloom filter alone needs a fifth of the memory and loses some URLs.
"""

from crawlproject.seen.bloom import UrlBloom
from crawlproject.seen.cache import ClockCache, LruCache, RandomCache, StaticCache, UrlCache
from crawlproject.seen.exact import MemorySeenSet
from crawlproject.seen.fingerprint import bytes_fingerprint, key_bytes, server_part, url_fingerprint, url_key
from crawlproject.seen.seen_set import BloomSeenSet, ExactStore, SeenSet, SeenUrls

__all__ = [
    "BloomSeenSet",
    "ClockCache",
    "ExactStore",
    "LruCache",
    "MemorySeenSet",
    "RandomCache",
    "SeenSet",
    "SeenUrls",
    "StaticCache",
    "UrlBloom",
    "UrlCache",
    "bytes_fingerprint",
    "key_bytes",
    "server_part",
    "url_fingerprint",
    "url_key",
]
