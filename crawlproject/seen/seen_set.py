"""Seen-sets: an exact store with a cache in front of it, or a Bloom filter alone, with losses.

There is no Bloom filter in front of a store: RocksDB's own cost a third of it (docs/research/stores.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crawlproject.seen.bloom import UrlBloom
    from crawlproject.seen.cache import UrlCache

T = TypeVar("T", int, str)


class ExactStore(Protocol):
    """The exact store of all keys, as a seen-set uses it. A batch costs about as much as its most expensive key.

    ``add_new(keys)``: add them; for each, True if it was neither stored nor earlier in ``keys``.
    ``add(keys)``: add them; the caller guarantees that they are new and distinct, so the store need not look them up.
    ``contains(keys)``: for each, whether it is stored.  ``len``: number of keys.  Iteration: all keys.

    A method that raises may have added none, some or all of its keys.
    """

    def add_new(self, keys: Sequence[int]) -> list[bool]: ...
    def add(self, keys: Sequence[int]) -> None: ...
    def contains(self, keys: Sequence[int]) -> list[bool]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[int]: ...


class SeenUrls(Protocol):
    """Any seen-set: ``SeenSet``, ``BloomSeenSet``."""

    def add_new(self, keys: Sequence[int]) -> list[bool]:
        """Add ``keys``; for each, True if it was neither known nor earlier in ``keys``."""

    def fill(self, keys: Sequence[int]) -> None:
        """Add ``keys`` of an earlier run; the counts of tests do not include them."""

    def loaded(self, keys: Iterable[int]) -> None:
        """Note that ``keys`` were added to the store in another way: a Bloom filter must know them. O(1) each."""

    def dropped(self) -> None:
        """Note that keys were removed from the store: a cache must not answer for them. O(cache).

        A Bloom filter keeps them: it takes them for seen.
        """

    def counts(self) -> dict[str, float]:
        """Counts so far, by name."""

    def __contains__(self, key: int) -> bool: ...
    def __len__(self) -> int: ...


class SeenSet:
    """Exact: ``store`` decides; an optional ``cache`` in front of it answers for most *seen* URLs.

    In front of ``MemorySeenSet`` it only adds cost: that is as fast as a cache (``scripts/bench_seen.py``).
    """

    def __init__(self, store: ExactStore, *, cache: UrlCache | None = None) -> None:
        self._store = store
        self._cache = cache
        self._lookups = 0

    def add_new(self, keys: Sequence[int]) -> list[bool]:
        """Add ``keys``; for each, True if it was neither known nor earlier in ``keys``.

        O(1) each, plus one ``add_new`` of the store.
        """
        return self._add_new(keys, list)

    def add_new_urls(self, urls: Sequence[str], keys_of: Callable[[Sequence[str]], list[int]]) -> list[bool]:
        """``add_new`` of the keys of canonical ``urls``; ``keys_of`` is asked only for those that are not cached."""
        return self._add_new(urls, keys_of)

    def _add_new(self, names: Sequence[T], keys_of: Callable[[Sequence[T]], list[int]]) -> list[bool]:
        """The cache knows ``names``: URLs, or keys.  A URL and its key may both be cached: each means "seen"."""
        if self._cache is None:
            return self._add_uncached(keys_of(names))
        missed = self._cache.missed(names)
        answers = [False] * len(names)
        if not missed:
            return answers
        try:
            new = self._add_uncached(keys_of([names[place] for place in missed]))
        except BaseException:
            self._cache.clear()  # it has the keys, the store may not
            raise
        for place, is_new in zip(missed, new, strict=True):
            answers[place] = is_new
        return answers

    def _add_uncached(self, keys: Sequence[int]) -> list[bool]:
        self._lookups += len(keys)
        return self._store.add_new(keys)

    def fill(self, keys: Sequence[int]) -> None:
        """Add ``keys`` of an earlier run. O(1) each, plus one ``add_new`` of the store."""
        self._store.add_new(keys)

    def loaded(self, keys: Iterable[int]) -> None:
        """See ``SeenUrls``."""

    def dropped(self) -> None:
        """See ``SeenUrls``."""
        if self._cache is not None:
            self._cache.clear()

    def counts(self) -> dict[str, float]:
        """Number of known ``urls``, and of tests answered by the cache (``cache_hits``: seen) and by the store
        (``store_lookups``)."""
        return {
            "urls": len(self),
            "cache_hits": 0 if self._cache is None else self._cache.hits,
            "store_lookups": self._lookups,
        }

    def __contains__(self, key: int) -> bool:
        return (self._cache is not None and key in self._cache) or self._store.contains((key,))[0]

    def __len__(self) -> int:
        """Number of known keys, including those of earlier runs."""
        return len(self._store)


class BloomSeenSet:
    """A Bloom filter alone: about 2.4 bytes per URL at an error rate of 0.001; loses new URLs at up to that rate."""

    def __init__(self, bloom: UrlBloom) -> None:
        self._bloom = bloom
        self._lost = 0.0

    def add_new(self, keys: Sequence[int]) -> list[bool]:
        """Add ``keys``; True for those that are certainly new; others may be new at the filter's error rate.

        A new URL is lost with probability f and reported with 1 - f: so f / (1 - f) were lost for each one reported.
        """
        answers = self._bloom.add_new(keys)
        new = sum(answers)
        if new:
            rate = self._bloom.false_positive_rate
            self._lost += new * rate / (1.0 - rate)
        return answers

    def fill(self, keys: Sequence[int]) -> None:
        """Add ``keys`` of an earlier run; in that run's order, its losses are counted again. O(1) each."""
        self.add_new(keys)

    def loaded(self, keys: Iterable[int]) -> None:
        """See ``SeenUrls``."""
        self.add_new(list(keys))

    def dropped(self) -> None:
        """See ``SeenUrls``."""

    @property
    def lost(self) -> float:
        """Expected number of new URLs that were taken for seen, and so never fetched."""
        return self._lost

    def counts(self) -> dict[str, float]:
        """Number of known ``urls``, expected number ``lost``, and the latter's share of both (``loss_rate``)."""
        met = len(self) + self._lost
        return {"urls": len(self), "lost": self._lost, "loss_rate": self._lost / met if met else 0.0}

    def __contains__(self, key: int) -> bool:
        return key in self._bloom

    def __len__(self) -> int:
        return len(self._bloom)
