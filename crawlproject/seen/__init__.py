"""The seen-set: the known URLs, so that none is fetched twice, in any spelling.

    URL -> fingerprint -> cache -> bloom -> exact store

The cache answers for most seen URLs, the Bloom filter for most new ones, the store for the rest, exactly.
A store in memory is as fast as cache and Bloom filter; these are for stores on disk.
"""

from crawlproject.seen.bloom import UrlBloom
from crawlproject.seen.cache import ClockCache
from crawlproject.seen.exact import MemorySeenSet
from crawlproject.seen.fingerprint import bytes_fingerprint, key_bytes, server_part, url_fingerprint, url_key
from crawlproject.seen.seen_set import BloomSeenSet, ExactStore, SeenSet

__all__ = [
    "BloomSeenSet",
    "ClockCache",
    "ExactStore",
    "MemorySeenSet",
    "SeenSet",
    "UrlBloom",
    "bytes_fingerprint",
    "key_bytes",
    "server_part",
    "url_fingerprint",
    "url_key",
]
