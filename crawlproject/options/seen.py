"""The settings ``SEEN_*``: how seen URLs are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, cast, get_args

from crawlproject.options.values import Options, Reader
from crawlproject.seen import BloomSeenSet, ClockCache, MemorySeenSet, SeenSet, UrlBloom

if TYPE_CHECKING:
    from pathlib import Path

    from crawlproject.seen import ExactStore, SeenUrls

Kind = Literal["exact", "bloom"]


@dataclass(frozen=True)
class SeenOptions(Options):
    """The seen-set to make."""

    kind: Kind
    #: Keys in the cache in front of an exact store on disk; 0 = none.
    cache_size: int
    bloom_error: float
    #: Initial capacity of the Bloom filter in URLs.
    bloom_capacity: int
    #: Where Scrapy's own scheduler keeps its requests, and we the keys; None: nothing is kept.
    directory: Path | None

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """See ``Options``."""
        kind = cast("Kind", reader.choice("SEEN_SET", "exact", get_args(Kind)))
        # One new URL in a thousand is lost; for 10 million URLs the filter takes 24 MB.
        error = reader.number("SEEN_BLOOM_ERROR", 0.001)
        if not 0 < error < 1:
            raise reader.wrong("SEEN_BLOOM_ERROR", "above 0 and below 1")
        return cls(
            kind=kind,
            # 2^16: above the paper's critical point of about 50,000, from which a larger cache gains little.
            cache_size=reader.count("SEEN_CACHE_SIZE", 65_536, most=10**9),
            bloom_error=error,
            bloom_capacity=reader.count("SEEN_BLOOM_CAPACITY", 10_000_000, least=1, most=10**11),
            directory=reader.path("JOBDIR"),
        )

    def in_memory(self) -> SeenUrls:
        """A seen-set without a store. The exact one is as fast as a cache, so it has none."""
        if self.kind == "bloom":
            return BloomSeenSet(UrlBloom(self.bloom_capacity, self.bloom_error))
        return SeenSet(MemorySeenSet())

    def over(self, store: ExactStore) -> SeenSet:
        """An exact seen-set over ``store``, with its cache.

        No Bloom filter: RocksDB's own cost less (docs/research/stores.md).
        """
        return SeenSet(store, cache=ClockCache(self.cache_size) if self.cache_size else None)
