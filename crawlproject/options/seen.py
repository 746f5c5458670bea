"""The settings ``FRONTIER_SEEN_*``: how seen URLs are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from crawlproject.options.values import Options, Reader, setting
from crawlproject.seen.bloom import BloomSeenSet
from crawlproject.seen.cache import ClockCache
from crawlproject.seen.exact import MemorySeenSet
from crawlproject.seen.seen_set import SeenSet

if TYPE_CHECKING:
    from crawlproject.seen.seen_set import ExactStore, SeenUrls

Kind = Literal["exact", "bloom"]

#: URLs that the Bloom filter is made for at first: 24 MB; it grows with what is stored.
CAPACITY = 10_000_000


@dataclass(frozen=True)
class SeenOptions(Options):
    """The seen-set to make.

    FRONTIER_SEEN_SET: `exact`: no URL is lost; `bloom`: less memory, but some new URLs are mistaken for seen ones
    FRONTIER_SEEN_BLOOM_ERROR: maximum share of false positives of the filter
    FRONTIER_SEEN_CACHE_SIZE: URLs in the cache in front of a store on disk; 0: none
    """

    kind: Kind = setting(Reader.choice, "FRONTIER_SEEN_SET", "exact", get_args(Kind))
    # 2^16: above the paper's critical point of about 50,000, from which a larger cache gains little.
    cache_size: int = setting(Reader.count, "FRONTIER_SEEN_CACHE_SIZE", 65_536, most=10**9)
    # One new URL in a thousand is lost.
    bloom_error: float = setting(Reader.positive, "FRONTIER_SEEN_BLOOM_ERROR", 0.001, 1.0)

    def in_memory(self) -> SeenUrls:
        """A seen-set without a store. The exact one is as fast as a cache or Bloom filter, so it has neither."""
        if self.kind == "bloom":
            return BloomSeenSet(CAPACITY, self.bloom_error)
        return SeenSet(MemorySeenSet())

    def over(self, store: ExactStore) -> SeenSet:
        """An exact seen-set over ``store``, with its cache.

        A mark bit gives LRU's hit rate (Broder 2003; docs/research/url-cache.md).  No Bloom filter: RocksDB's own cost
        less (docs/research/stores.md).
        """
        return SeenSet(store, ClockCache(self.cache_size) if self.cache_size else None)
