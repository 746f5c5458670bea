"""The seen-set: the known URLs, so that none is fetched twice, in any spelling.

    URL -> fingerprint -> cache -> exact store; or a Bloom filter alone, with losses

A store in memory is as fast as a cache: that is for stores on disk.
"""

from crawlproject.seen.bloom import BloomSeenSet
from crawlproject.seen.cache import ClockCache
from crawlproject.seen.exact import MemorySeenSet
from crawlproject.seen.fingerprint import bytes_fingerprint, key_bytes, server_part, url_fingerprint, url_key
from crawlproject.seen.seen_set import ExactStore, SeenSet

__all__ = [
    "BloomSeenSet",
    "ClockCache",
    "ExactStore",
    "MemorySeenSet",
    "SeenSet",
    "bytes_fingerprint",
    "key_bytes",
    "server_part",
    "url_fingerprint",
    "url_key",
]
