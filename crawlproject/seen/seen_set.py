"""The seen-set, put together: cache -> bloom -> exact store; or a bloom alone, for those who accept its loss.

Each part answers the tests that it can and passes on the rest: the cache knows most URLs that were *seen*, the bloom
knows most that are *new*, the store knows.  A false positive of the bloom only costs a look-up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawlproject.seen.bloom import UrlBloom
    from crawlproject.seen.cache import UrlCache


class ExactStore(Protocol):
    """What a seen-set needs of the place that remembers all keys. A batch costs about as much as its worst key.

    ``add_new(keys)``: add them; for each, True if it had not been there, nor before it in ``keys``.
    ``add(keys)``: add them; the caller knows that they are new and distinct, so the store need not look: it may
    buffer them, as long as its other answers heed them.
    ``contains(keys)``: for each, whether it is there.  ``len``: how many.  Iteration: all of them, to fill a bloom.

    A method that raises has added nothing, or may have added any of its keys: the caller counts on neither.
    """

    def add_new(self, keys: Sequence[int]) -> list[bool]: ...
    def add(self, keys: Sequence[int]) -> None: ...
    def contains(self, keys: Sequence[int]) -> list[bool]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[int]: ...


class SeenUrls(Protocol):
    """Any seen-set: ``SeenSet``, ``BloomSeenSet``."""

    def add_new(self, keys: Sequence[int]) -> list[bool]:
        """Add ``keys``; for each, True if it had not been met, nor before it in ``keys``."""

    def fill(self, keys: Sequence[int]) -> None:
        """Add ``keys`` that an earlier run has met; the counts of what was tested leave them out."""

    def counts(self) -> dict[str, float]:
        """What it has done so far, by name."""

    def __contains__(self, key: int) -> bool: ...
    def __len__(self) -> int: ...


class SeenSet:
    """Exact: ``store`` decides; ``cache`` and ``bloom`` in front of it, where given, save it look-ups.

    In front of ``MemorySeenSet`` both only cost: it answers in the time of a cache (``scripts/bench_seen.py``).
    """

    def __init__(self, store: ExactStore, *, cache: UrlCache | None = None, bloom: UrlBloom | None = None) -> None:
        self._store = store
        self._cache = cache
        self._bloom = bloom
        self._bloom_new = 0
        self._lookups = 0
        if bloom is not None and len(store):  # else it would take for new what an earlier run has stored
            bloom.fill(store)

    def add_new(self, keys: Sequence[int]) -> list[bool]:
        """Add ``keys``; for each, True if it had not been met, nor before it in ``keys``.

        O(1) each, besides one ``add`` and one ``add_new`` of the store.
        """
        if self._cache is None:
            return self._add_uncached(keys)
        add = self._cache.add
        missed = [place for place, key in enumerate(keys) if not add(key)]
        answers = [False] * len(keys)
        try:
            new = self._add_uncached([keys[place] for place in missed])
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
        if certain:  # first, as the rest may hold them again
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
        """Add ``keys`` that an earlier run has met. O(1) each, besides one ``add_new`` of the store."""
        self._store.add_new(keys)
        if self._bloom is not None:
            self._bloom.fill(keys)

    def counts(self) -> dict[str, float]:
        """``urls`` met; tests answered by the cache (``cache_hits``: seen), by the bloom (``bloom_new``: new) and
        by the store (``store_lookups``)."""
        return {
            "urls": len(self),
            "cache_hits": 0 if self._cache is None else self._cache.hits,
            "bloom_new": self._bloom_new,
            "store_lookups": self._lookups,
        }

    def __contains__(self, key: int) -> bool:
        return (self._cache is not None and key in self._cache) or self._store.contains((key,))[0]

    def __len__(self) -> int:
        """How many keys were met, those of earlier runs included."""
        return len(self._store)


class BloomSeenSet:
    """A bloom alone: about 2.4 bytes per URL at an error rate of 0.001, and new URLs lost at up to that rate."""

    def __init__(self, bloom: UrlBloom) -> None:
        self._bloom = bloom
        self._lost = 0.0

    def add_new(self, keys: Sequence[int]) -> list[bool]:
        """Add ``keys``; True for those that were surely not there: a new one is lost at the bloom's rate.

        A new URL is lost with chance f and found new with 1 - f; so for each found new, f / (1 - f) were lost.
        """
        answers = self._bloom.add_new(keys)
        new = sum(answers)
        if new:
            rate = self._bloom.false_positive_rate
            self._lost += new * rate / (1.0 - rate)
        return answers

    def fill(self, keys: Sequence[int]) -> None:
        """Add ``keys`` that an earlier run has met; given in its order, what it lost is counted again. O(1) each."""
        self.add_new(keys)

    @property
    def lost(self) -> float:
        """How many URLs have been taken for seen, and never fetched: expected number."""
        return self._lost

    def counts(self) -> dict[str, float]:
        """``urls`` met and not lost; how many were ``lost``, as far as is known, and their share (``loss_rate``)."""
        met = len(self) + self._lost
        return {"urls": len(self), "lost": self._lost, "loss_rate": self._lost / met if met else 0.0}

    def __contains__(self, key: int) -> bool:
        return key in self._bloom

    def __len__(self) -> int:
        return len(self._bloom)
