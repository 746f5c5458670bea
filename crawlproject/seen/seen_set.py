"""Combines the parts of the seen-set: cache -> Bloom filter -> exact store; or a Bloom filter alone, with losses.

Each part answers the tests that it can and passes on the rest: the cache knows most *seen* URLs, the Bloom filter most
*new* ones, the store all.  A false positive of the Bloom filter only costs a look-up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crawlproject.seen.bloom import UrlBloom
    from crawlproject.seen.cache import ClockCache

T = TypeVar("T", int, str)


class ExactStore(Protocol):
    """The exact store of all keys, as a seen-set uses it. A batch costs about as much as its most expensive key.

    ``add_new(keys)``: add them; for each, True if it was neither stored nor earlier in ``keys``.
    ``add(keys)``: add them; the caller guarantees that they are new and distinct, so the store need not look them up:
    it may buffer them if its other answers include them.
    ``contains(keys)``: for each, whether it is stored.  ``len``: number of keys.  Iteration: all keys, to fill a Bloom
    filter.

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

        A Bloom filter keeps them: in front of a store each costs a look-up, alone it takes them for seen.
        """

    def counts(self) -> dict[str, float]:
        """Counts so far, by name."""

    def __contains__(self, key: int) -> bool: ...
    def __len__(self) -> int: ...


class SeenSet:
    """``SeenUrls``, exact: ``store`` decides; optional ``cache`` and ``bloom`` in front of it save look-ups.

    In front of ``MemorySeenSet`` both only add cost: it is as fast as a cache (``1757b206:scripts/bench_seen.py``).
    """

    def __init__(self, store: ExactStore, *, cache: ClockCache | None = None, bloom: UrlBloom | None = None) -> None:
        self._store = store
        self._cache = cache
        self._bloom = bloom
        self._bloom_new = 0
        self._lookups = 0
        if bloom is not None and len(store):  # else it would report keys of an earlier run as new
            bloom.fill(store)

    def add_new(self, keys: Sequence[int]) -> list[bool]:
        """O(1) each, plus one ``add`` and one ``add_new`` of the store."""
        return self.add_new_named(keys, list)

    def add_new_named(self, names: Sequence[T], keys_of: Callable[[Sequence[T]], list[int]]) -> list[bool]:
        """``add_new`` of the keys of ``names``, such as canonical URLs; ``keys_of`` is asked only for those not cached.

        A URL and its key may both be cached: each means "seen".
        """
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
        if self._bloom is None:
            self._lookups += len(keys)
            return self._store.add_new(keys)
        answers = self._bloom.add_new(keys)
        certain = [key for key, is_new in zip(keys, answers, strict=True) if is_new]
        if certain:  # added first: the rest may repeat them
            self._store.add(certain)
            self._bloom_new += len(certain)
        doubtful = [place for place, is_new in enumerate(answers) if not is_new]
        if doubtful:
            self._lookups += len(doubtful)
            new = self._store.add_new([keys[place] for place in doubtful])
            for place, is_new in zip(doubtful, new, strict=True):
                answers[place] = is_new
        return answers

    def fill(self, keys: Sequence[int]) -> None:
        """Add ``keys`` of an earlier run. O(1) each, plus one ``add_new`` of the store."""
        self._store.add_new(keys)
        if self._bloom is not None:
            self._bloom.fill(keys)

    def loaded(self, keys: Iterable[int]) -> None:
        if self._bloom is not None:
            self._bloom.fill(keys)

    def dropped(self) -> None:
        if self._cache is not None:
            self._cache.clear()

    def counts(self) -> dict[str, float]:
        """Number of known ``urls``, and of tests answered by the cache (``cache_hits``: seen), by the Bloom filter
        (``bloom_new``: new) and by the store (``store_lookups``)."""
        return {
            "urls": len(self),
            "cache_hits": 0 if self._cache is None else self._cache.hits,
            "bloom_new": self._bloom_new,
            "store_lookups": self._lookups,
        }

    def __contains__(self, key: int) -> bool:
        return (self._cache is not None and key in self._cache) or self._store.contains((key,))[0]

    def __len__(self) -> int:
        """Number of known keys, including those of earlier runs."""
        return len(self._store)


class BloomSeenSet:
    """``SeenUrls``, a Bloom filter alone: 2.4 bytes per URL at an error rate of 0.001; loses up to that share."""

    def __init__(self, bloom: UrlBloom) -> None:
        self._bloom = bloom
        #: Expected number of new URLs that were taken for seen, and so never fetched.
        self.lost = 0.0

    def add_new(self, keys: Sequence[int]) -> list[bool]:
        """Add ``keys``; True for those that are certainly new; others may be new at the filter's error rate.

        A new URL is lost with probability f and reported with 1 - f: so f / (1 - f) were lost for each one reported.
        """
        answers = self._bloom.add_new(keys)
        new = sum(answers)
        if new:
            rate = self._bloom.false_positive_rate
            self.lost += new * rate / (1.0 - rate)
        return answers

    def fill(self, keys: Sequence[int]) -> None:
        """Add ``keys`` of an earlier run; in that run's order, its losses are counted again. O(1) each."""
        self.add_new(keys)

    def loaded(self, keys: Iterable[int]) -> None:
        self.add_new(list(keys))

    def dropped(self) -> None:
        pass

    def counts(self) -> dict[str, float]:
        """Number of known ``urls``, expected number ``lost``, and the latter's share of both (``loss_rate``)."""
        met = len(self) + self.lost
        return {"urls": len(self), "lost": self.lost, "loss_rate": self.lost / met if met else 0.0}

    def __contains__(self, key: int) -> bool:
        return key in self._bloom

    def __len__(self) -> int:
        return len(self._bloom)
