"""The seen-set: which URLs have been met, so that none is fetched twice, whatever spelling it came in."""

from crawlproject.seen.exact import MemorySeenSet
from crawlproject.seen.fingerprint import bytes_fingerprint, url_fingerprint

__all__ = ["MemorySeenSet", "bytes_fingerprint", "url_fingerprint"]
