"""The exact seen-set: a cache in front of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crawlproject.seen.cache import ClockCache

T = TypeVar("T", int, str)


class ExactStore(Protocol):
    """The exact store of all keys, as a seen-set uses it. A batch costs about as much as its most expensive key.

    ``add_new(keys)``: add them; for each, True if it was neither stored nor earlier in ``keys``.
    ``add(keys)``: the same for keys that are new and distinct, which need not be looked up.
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

    def loaded(self, keys: Iterable[int]) -> None:
        """Note that ``keys`` were added to the store in another way. O(1) each."""

    def dropped(self) -> None:
        """Note that keys were removed from the store. O(cache). A Bloom filter takes them for seen from then on."""

    def counts(self) -> dict[str, float]:
        """Counts so far, by name."""

    def __contains__(self, key: int) -> bool: ...
    def __len__(self) -> int: ...


class SeenSet:
    """``SeenUrls``, exact: ``store`` decides; a ``cache`` in front of it saves look-ups.

    ``MemorySeenSet`` needs none: it is as fast as a cache (``1757b206:scripts/bench_seen.py``).
    """

    def __init__(self, store: ExactStore, cache: ClockCache | None = None) -> None:
        self._store = store
        self._cache = cache
        self._lookups = 0

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
        self._lookups += len(keys)
        return self._store.add_new(keys)

    def loaded(self, keys: Iterable[int]) -> None:
        pass

    def dropped(self) -> None:
        if self._cache is not None:
            self._cache.clear()

    def counts(self) -> dict[str, float]:
        """Number of known ``urls``, and of tests answered by the cache (``cache_hits``) and by the store
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
