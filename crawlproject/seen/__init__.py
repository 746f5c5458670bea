"""The seen-set: which URLs have been met, so that none is fetched twice, whatever spelling it came in.

    URL -> fingerprint -> cache -> bloom -> exact store

The cache answers for most URLs that were seen, the bloom for most that are new, the store for the rest, always right.
In memory the store alone is as fast as the others; they are for stores on disk.
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
