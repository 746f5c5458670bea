"""A cache of recent URLs in front of a slow seen-set (Broder, Najork & Wiener 2003, §3).

A crawl finds the same URLs many times: a small cache answers most tests without a look-up, and without a fingerprint if
it is asked for the URL itself.  The paper's other policies are in ``scripts/url_cache.py``.

Invariant: a cache never holds a key that was not added, so a hit always means "seen before".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


class ClockCache:
    """At most ``size`` keys, URLs or their fingerprints: approximates LRU by one mark bit per key (§3.4).

    A hit marks its key.  To make room, the hand moves around the circle, clears marks and evicts the first key without
    one.  Each step clears a mark that a hit had set, so a test is O(1) amortised: 0.5 us.  ``hits`` counts the tests
    that found their key.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a cache needs a size of at least 1, not {size}")
        self.size = size
        self.hits = 0
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
        """``add`` each of ``keys``; returns the places of those that were not cached. O(1) amortised each."""
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
