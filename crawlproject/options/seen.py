"""The settings ``SEEN_*``: read here and nowhere else, checked once, passed on as values (docs/settings.md)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from crawlproject.options.values import SettingValues
from crawlproject.seen import (
    BloomSeenSet,
    ClockCache,
    LruCache,
    MemorySeenSet,
    RandomCache,
    SeenSet,
    StaticCache,
    UrlBloom,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

    from crawlproject.seen import ExactStore, SeenUrls, UrlCache

Kind = Literal["exact", "bloom"]
CachePolicy = Literal["clock", "lru", "random", "static"]

DEFAULTS: dict[str, Any] = {
    "SEEN_SET": "exact",
    # LRU's hit rate by a mark bit (Broder 2003, figures 2 and 3; docs/url-cache.md).
    "SEEN_CACHE_POLICY": "clock",
    # 2^16: above the paper's critical point of about 50,000, where a larger cache brings little more.
    "SEEN_CACHE_SIZE": 65_536,
    "SEEN_CACHE_URLS": None,
    # One new URL in a thousand lost, or looked up in vain; at 10 million URLs the filter has 24 MB.
    "SEEN_BLOOM_ERROR": 0.001,
    # None in front of an exact store: RocksDB has Bloom filters of its own, which cost less
    # (docs/stores.md).
    "SEEN_BLOOM_CAPACITY": None,
}
#: For a Bloom filter alone.
DEFAULT_CAPACITY = 10_000_000


@dataclass(frozen=True)
class SeenOptions:
    """How URLs met are remembered, checked."""

    kind: Kind = "exact"
    cache_policy: CachePolicy = "clock"
    #: Keys in the cache; 0 = none.
    cache_size: int = 65_536
    #: For the policy ``static``: canonical URLs or not, the most popular first.
    cache_urls: tuple[str, ...] = ()
    bloom_error: float = 0.001
    #: URLs that the bloom is made for at first; 0 = none in front of an exact store.
    bloom_capacity: int = 0
    #: Where Scrapy's own scheduler keeps its requests, and we the keys; None: nothing is kept.
    directory: Path | None = None

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> SeenOptions:
        """Read and check; raises ValueError naming setting, value and choices."""
        values = SettingValues(settings, DEFAULTS)
        kind = cast("Kind", values.choice("SEEN_SET", get_args(Kind)))
        policy = cast("CachePolicy", values.choice("SEEN_CACHE_POLICY", get_args(CachePolicy)))
        error = values.number("SEEN_BLOOM_ERROR")
        if not 0 < error < 1:
            raise ValueError(f"SEEN_BLOOM_ERROR={values.value('SEEN_BLOOM_ERROR')!r}: must be above 0 and below 1")
        size = values.count("SEEN_CACHE_SIZE", least=0)
        directory = settings["JOBDIR"]
        return cls(
            kind=kind,
            cache_policy=policy,
            cache_size=size,
            cache_urls=_urls(values.value("SEEN_CACHE_URLS"), size) if policy == "static" else (),
            bloom_error=error,
            bloom_capacity=_capacity(values, kind),
            directory=Path(directory) if directory else None,
        )

    def in_memory(self) -> SeenUrls:
        """A seen-set without a store. The exact one needs neither cache nor bloom: it is as fast as they are."""
        if self.kind == "bloom":
            return BloomSeenSet(UrlBloom(self.bloom_capacity, self.bloom_error))
        return SeenSet(MemorySeenSet())

    def over(self, store: ExactStore, key: Callable[[str], int]) -> SeenSet:
        """An exact seen-set over ``store``, with its cache and bloom; ``key`` gives the key of a URL.

        A store that has keys already goes without: to fill a bloom with them takes 5 to 9 s per million.
        """
        bloom = UrlBloom(self.bloom_capacity, self.bloom_error) if self.bloom_capacity and not len(store) else None
        return SeenSet(store, cache=self.cache(key), bloom=bloom)

    def cache(self, key: Callable[[str], int]) -> UrlCache | None:
        """The cache, if any; ``key`` gives the key of a URL."""
        if not self.cache_size:
            return None
        if self.cache_policy == "static":
            return StaticCache(map(key, self.cache_urls))
        return {"clock": ClockCache, "lru": LruCache, "random": RandomCache}[self.cache_policy](self.cache_size)


def _capacity(values: SettingValues, kind: Kind) -> int:
    if values.value("SEEN_BLOOM_CAPACITY") is None:
        return DEFAULT_CAPACITY if kind == "bloom" else 0
    return values.count("SEEN_BLOOM_CAPACITY", least=1 if kind == "bloom" else 0)


def _urls(path: str | None, count: int) -> tuple[str, ...]:
    """The first ``count`` lines of a file of URLs."""
    if not path:
        raise ValueError("SEEN_CACHE_POLICY='static': SEEN_CACHE_URLS must name a file with a URL per line")
    try:
        with Path(path).open(encoding="utf-8") as lines:
            urls = tuple(islice(filter(None, map(str.strip, lines)), count))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"SEEN_CACHE_URLS={path!r}: {error}") from error
    if count and not urls:
        raise ValueError(f"SEEN_CACHE_URLS={path!r}: has no URL")
    return urls
