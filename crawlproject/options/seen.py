"""The settings ``SEEN_*``: how seen URLs are stored."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, Self, cast, get_args

from crawlproject.options.values import Options, Reader
from crawlproject.seen.bloom import UrlBloom
from crawlproject.seen.cache import ClockCache, LruCache, RandomCache, StaticCache
from crawlproject.seen.exact import MemorySeenSet
from crawlproject.seen.seen_set import BloomSeenSet, SeenSet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from crawlproject.seen.cache import UrlCache
    from crawlproject.seen.seen_set import ExactStore, SeenUrls

Kind = Literal["exact", "bloom"]
CachePolicy = Literal["clock", "lru", "random", "static"]

#: Of a Bloom filter alone. None in front of an exact store: RocksDB's own cost less (docs/research/stores.md).
DEFAULT_CAPACITY = 10_000_000


@dataclass(frozen=True)
class SeenOptions(Options):
    """The seen-set to make."""

    kind: Kind
    cache_policy: CachePolicy
    #: Keys in the cache; 0 = none.
    cache_size: int
    #: For the policy ``static``: URLs, canonical or not, the most popular first.
    cache_urls: tuple[str, ...]
    bloom_error: float
    #: URLs that the Bloom filter is made for at first; 0 = none in front of an exact store.
    bloom_capacity: int
    #: Where Scrapy's own scheduler keeps its requests, and we the keys; None: nothing is kept.
    directory: Path | None

    @classmethod
    def read(cls, reader: Reader) -> Self:
        kind = cast("Kind", reader.choice("SEEN_SET", "exact", get_args(Kind)))
        # A mark bit gives LRU's hit rate (Broder 2003, figures 2 and 3; docs/research/url-cache.md).
        policy = cast("CachePolicy", reader.choice("SEEN_CACHE_POLICY", "clock", get_args(CachePolicy)))
        # One new URL in a thousand is lost, or needlessly looked up; for 10 million URLs the filter takes 24 MB.
        error = reader.number("SEEN_BLOOM_ERROR", 0.001)
        if not 0 < error < 1:
            raise reader.wrong("SEEN_BLOOM_ERROR", "above 0 and below 1")
        # 2^16: above the paper's critical point of about 50,000, from which a larger cache gains little.
        size = reader.count("SEEN_CACHE_SIZE", 65_536, most=10**9)
        path = reader.path("SEEN_CACHE_URLS")
        return cls(
            kind=kind,
            cache_policy=policy,
            cache_size=size,
            cache_urls=_urls(path, size) if policy == "static" else (),
            bloom_error=error,
            bloom_capacity=_capacity(reader, kind),
            directory=reader.path("JOBDIR"),
        )

    def in_memory(self) -> SeenUrls:
        """A seen-set without a store. The exact one is as fast as a cache or Bloom filter, so it has neither."""
        if self.kind == "bloom":
            return BloomSeenSet(UrlBloom(self.bloom_capacity, self.bloom_error))
        return SeenSet(MemorySeenSet())

    def over(self, store: ExactStore, canonical: Callable[[str], str]) -> SeenSet:
        """An exact seen-set over ``store``, with its cache and Bloom filter; ``canonical``: see ``cache``.

        No Bloom filter for a store that has keys already: to add them takes 5 to 9 s per million.
        """
        bloom = UrlBloom(self.bloom_capacity, self.bloom_error) if self.bloom_capacity and not len(store) else None
        return SeenSet(store, cache=self.cache(canonical), bloom=bloom)

    def cache(self, canonical: Callable[[str], str]) -> UrlCache | None:
        """The cache, if any; ``canonical`` gives the URL by which the seen-set is asked for a URL."""
        if not self.cache_size:
            return None
        if self.cache_policy == "static":
            return StaticCache(map(canonical, self.cache_urls))
        return {"clock": ClockCache, "lru": LruCache, "random": RandomCache}[self.cache_policy](self.cache_size)


def _capacity(reader: Reader, kind: Kind) -> int:
    if reader.value("SEEN_BLOOM_CAPACITY") is None:
        return DEFAULT_CAPACITY if kind == "bloom" else 0
    return reader.count("SEEN_BLOOM_CAPACITY", None, least=1 if kind == "bloom" else 0, most=10**11)


def _urls(path: Path | None, count: int) -> tuple[str, ...]:
    """The first ``count`` lines of a file of URLs."""
    if path is None:
        raise ValueError("SEEN_CACHE_POLICY='static': SEEN_CACHE_URLS must name a file with a URL per line")
    try:
        with path.open(encoding="utf-8") as lines:
            urls = tuple(islice(filter(None, map(str.strip, lines)), count))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"SEEN_CACHE_URLS={str(path)!r}: {error}") from error
    if count and not urls:
        raise ValueError(f"SEEN_CACHE_URLS={str(path)!r}: has no URL")
    return urls
