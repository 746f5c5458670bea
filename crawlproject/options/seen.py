"""The settings ``SEEN_*``: how seen URLs are stored."""

from __future__ import annotations

from dataclasses import dataclass

from crawlproject.options.values import Options, Reader, setting
from crawlproject.seen.cache import ClockCache


@dataclass(frozen=True)
class SeenOptions(Options):
    """The cache in front of a seen-set on disk.

    SEEN_CACHE_SIZE: URLs in the cache in front of a store on disk; 0: none
    """

    #: Keys in the cache; 0 = none.
    # 2^16: above the paper's critical point of about 50,000, from which a larger cache gains little.
    cache_size: int = setting(Reader.count, "SEEN_CACHE_SIZE", 65_536, most=10**9)

    def cache(self) -> ClockCache | None:
        """The cache, if any. A mark bit gives LRU's hit rate (Broder 2003; docs/research/url-cache.md)."""
        return ClockCache(self.cache_size) if self.cache_size else None
