"""Caches of recent URLs in front of a slow seen-set (Broder, Najork & Wiener 2003, §3).

A crawl finds the same URLs many times: a small cache answers most tests without a look-up, and without a fingerprint if
it is asked for the URL itself.  One class per policy, with the paper's names.  MIN and INFINITE, which a crawl cannot
implement, are in ``scripts/url_cache.py``.

Invariant: a cache never holds a key that was not added, so a hit always means "seen before".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

_MASK = 2**64 - 1


class UrlCache(ABC):
    """At most ``size`` keys, URLs or their fingerprints; ``hits`` counts the tests that found their key."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a cache needs a size of at least 1, not {size}")
        self.size = size
        self.hits = 0

    @abstractmethod
    def add(self, key: Hashable) -> bool:
        """Whether ``key`` was cached; it is cached from now on if the policy admits it. O(1) amortised."""

    def missed(self, keys: Sequence[Hashable]) -> list[int]:
        """``add`` each of ``keys``; returns the places of those that were not cached. O(1) amortised each."""
        add = self.add
        return [place for place, key in enumerate(keys) if not add(key)]

    @abstractmethod
    def __contains__(self, key: Hashable) -> bool: ...

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def clear(self) -> None:
        """Forget all keys. O(size)."""


class LruCache(UrlCache):
    """Evicts the least recently used key (§3.3). 0.5 us per test."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._keys: OrderedDict[Hashable, None] = OrderedDict()  # the least recently used first

    def add(self, key: Hashable) -> bool:
        """Whether ``key`` was cached; it is now the most recently used. O(1)."""
        keys = self._keys
        if key in keys:
            keys.move_to_end(key)
            self.hits += 1
            return True
        if len(keys) == self.size:
            keys.popitem(last=False)
        keys[key] = None
        return False

    def __contains__(self, key: Hashable) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def clear(self) -> None:
        self._keys.clear()


class ClockCache(UrlCache):
    """Approximates LRU by one mark bit per key (§3.4).

    A hit marks its key.  To make room, the hand moves around the circle, clears marks and evicts the first key without
    one.  Each step clears a mark that a hit had set, so a test is O(1) amortised: 0.5 us.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._places: dict[Hashable, int] = {}  # key -> its place on the circle
        self._circle: list[Hashable] = []
        self._marks = bytearray(size)
        self._hand = 0

    def add(self, key: Hashable) -> bool:
        """Whether ``key`` was cached; marks it if so. O(1) amortised."""
        place = self._places.get(key)
        if place is not None:
            self._marks[place] = 1
            self.hits += 1
            return True
        self._insert(key)
        return False

    def missed(self, keys: Sequence[Hashable]) -> list[int]:
        """See ``UrlCache``; without a call for each key."""
        places, marks = self._places, self._marks
        missed = []
        for number, key in enumerate(keys):
            place = places.get(key)
            if place is None:
                self._insert(key)
                missed.append(number)
            else:
                marks[place] = 1
        self.hits += len(keys) - len(missed)
        return missed

    def _insert(self, key: Hashable) -> None:
        """Cache a new key. O(1) amortised."""
        if len(self._circle) < self.size:
            self._places[key] = len(self._circle)
            self._circle.append(key)
        else:
            place = self._unmarked()
            del self._places[self._circle[place]]
            self._circle[place] = key
            self._places[key] = place

    def _unmarked(self) -> int:
        """The next place without a mark; the hand moves past it."""
        marks, size, place = self._marks, self.size, self._hand
        while marks[place]:
            marks[place] = 0
            place += 1
            if place == size:
                place = 0
        self._hand = place + 1 if place + 1 < size else 0
        return place

    def __contains__(self, key: Hashable) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._circle)

    def clear(self) -> None:
        self._places.clear()
        self._circle.clear()
        self._marks = bytearray(self.size)
        self._hand = 0


class RandomCache(UrlCache):
    """Evicts a random key (§3.5); equal seeds give equal evictions. 0.5 us per test."""

    def __init__(self, size: int, seed: int = 1) -> None:
        super().__init__(size)
        self._held: set[Hashable] = set()
        self._places: list[Hashable] = []  # the same keys, to draw from
        self._state = seed & _MASK

    def add(self, key: Hashable) -> bool:
        held, places = self._held, self._places
        if key in held:
            self.hits += 1
            return True
        held.add(key)
        if len(places) < self.size:
            places.append(key)
        else:
            # Linear congruential generator with the constants of Knuth's MMIX; only its high bits are good.
            self._state = (self._state * 6364136223846793005 + 1442695040888963407) & _MASK
            place = (self._state >> 32) * self.size >> 32
            held.remove(places[place])
            places[place] = key
        return False

    def __contains__(self, key: Hashable) -> bool:
        return key in self._held

    def __len__(self) -> int:
        return len(self._places)

    def clear(self) -> None:
        self._held.clear()
        self._places.clear()


class StaticCache(UrlCache):
    """Holds only keys chosen beforehand, such as the most popular ones of an earlier crawl (§3.6).

    A chosen key is cached from its first ``add`` on and never evicted.  (The paper's simulation caches all of them from
    the start; a crawl that did so would take them for seen and never fetch them.)
    """

    def __init__(self, keys: Iterable[Hashable]) -> None:
        self._met = dict.fromkeys(keys, False)
        super().__init__(len(self._met))

    def add(self, key: Hashable) -> bool:
        """Whether ``key`` is a chosen key that was added before. O(1)."""
        met = self._met.get(key)
        if met:
            self.hits += 1
            return True
        if met is False:
            self._met[key] = True
        return False

    def __contains__(self, key: Hashable) -> bool:
        return self._met.get(key, False)

    def __len__(self) -> int:
        return sum(self._met.values())

    def clear(self) -> None:
        """Forget which keys were added. O(size)."""
        self._met = dict.fromkeys(self._met, False)
