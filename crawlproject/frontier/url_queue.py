"""The lower level of the frontier: one priority queue of discovered, unfetched URLs per server.

A policy wants more than the best URL: it wants the summed quality of the best P of them (Cao 2003, the
numerator of the capacity), after every push and pop.  So the queue keeps its best few items in a short
sorted list, where the P-th best is an index away, and the rest in a heap.  The qualities of the sorted ones lie beside
them, packed: with millions of URLs, what costs is the memory far away that every single item would be read from.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from heapq import heapify, heappop, heappush
from itertools import islice
from math import isclose
from typing import Any, NamedTuple

from crawlproject.frontier.best_rate import best_rate

#: How many of its best items a queue keeps sorted at least (more where the window is wider).
SORTED_ITEMS = 64

#: `order` = arrival number - priority * 2**PRIORITY_SHIFT: one int orders by priority, then by arrival.
PRIORITY_SHIFT = 40


class Entry(NamedTuple):
    """A discovered URL on its way into or out of the frontier."""

    url: str
    #: Worth of the page; any finite float >= 0, higher is better.
    quality: float = 1.0
    #: Orders URLs of equal quality within a server, higher first (Scrapy's ``Request.priority``).
    priority: int = 0
    #: Links followed from a seed to here.
    depth: int = 0
    #: Whatever the caller wants back with the URL; the frontier never looks at it.
    payload: Any = None
    #: Where it is stored, for ``acknowledge``; given by ``next_url``, None where it is not stored.
    place: bytes | None = None


#: An entry inside a queue: (first sort key, second sort key, path or URL, depth, payload).
Item = tuple[float, float, str, int, Any]


class UrlQueue:
    """Priority queue of one server's URLs, by quality or in order of arrival.

    ``push``, ``pop`` and ``raise_quality`` are O(log n) amortised (plus a memory move of at most a few hundred
    pointers); ``window_sum``, ``best_quality`` and ``len`` are O(1).  Ties go to the higher priority, then to the
    earlier arrival, so that equal runs give equal orders.  Items raised in the heap leave a stale one behind.
    """

    __slots__ = ("_by_path", "_by_quality", "_losses", "_rest", "_stale", "_sum", "_top", "_window")

    def __init__(self, *, by_quality: bool, window: int) -> None:
        self._by_quality = by_quality
        self._window = window
        self._top: list[Item] = []  # the best items, best first
        self._losses = array("d")  # their qualities, negated: ascending where they are sorted by quality
        self._rest: list[Item] | None = None  # a heap; no item in it is better than any in _top
        self._sum = 0.0  # quality of the first `window` items of _top
        self._by_path: dict[str, Item] | None = None  # the queued item of each path, from the first raise on
        self._stale: set[tuple[float, float]] | None = None  # sort keys of items in _rest that are no longer valid

    def __bool__(self) -> bool:
        return bool(self._top)

    def __len__(self) -> int:
        return len(self._top) + len(self._rest or ()) - len(self._stale or ())

    @property
    def window(self) -> int:
        """How many of the best URLs ``window_sum`` adds up."""
        return self._window

    @property
    def window_sum(self) -> float:
        """Summed quality of the best ``window`` URLs. O(1)."""
        return self._sum

    @property
    def best_quality(self) -> float:
        """Quality of the URL that ``pop`` would return; 0.0 when empty. O(1)."""
        return -self._losses[0] if self._losses else 0.0

    def best_rate(self, setup: float, page_time: float, bonus: float) -> float:
        """Most worth per second of any k ≤ window best URLs: max of Σ (quality + bonus) / (setup + k · page_time).

        O(k).
        """
        losses, window = self._losses, self._window
        return best_rate(losses if len(losses) <= window else islice(losses, window), setup, page_time, bonus)

    def set_window(self, window: int) -> None:
        """Change the number of URLs that ``window_sum`` adds up. O(window log n)."""
        if window != self._window:
            self._window = window
            self._refill()

    def push(self, entry: Entry, path: str, arrival: int) -> None:
        """Add ``entry``, number ``arrival`` in all (below 2**PRIORITY_SHIFT); ``path``: see ``path_of``. O(log n)."""
        _, quality, priority, depth, payload, _ = entry
        order = arrival - (priority << PRIORITY_SHIFT) if priority else arrival
        item: Item = (
            (-quality, order, path, depth, payload) if self._by_quality else (order, -quality, path, depth, payload)
        )
        if self._by_path is not None:
            self._by_path[path] = item
        self._insert(item, quality)

    def raise_quality(self, path: str, gain: float) -> float | None:
        """Add ``gain`` > 0 to the quality of the URL of ``path``; its new quality, None if not queued. O(log n).

        The first call is O(n) and makes the queue keep an index of its URLs, about 100 bytes each.
        """
        if self._by_path is None:
            self._by_path = {item[2]: item for item in (*self._top, *(self._rest or ()))}
        old = self._by_path.get(path)
        if old is None:
            return None
        first, second, path, depth, payload = old
        before = -first if self._by_quality else -second
        quality = before + gain
        if quality <= before:
            return quality
        item = (-quality, second, path, depth, payload) if self._by_quality else (first, -quality, path, depth, payload)
        self._by_path[path] = item
        if self._rest and self._top[-1] < old:
            self._stale = self._stale or set()
            self._stale.add(old[:2])
            if len(self._stale) * 2 > len(self._rest):
                self._sweep()
            self._insert(item, quality)
        else:
            self._move_up(self._place_of(old), item, gain)
        return quality

    def _move_up(self, place: int, item: Item, gain: float) -> None:
        """Have ``item`` stand for the sorted one at ``place``, which was worth ``gain`` less."""
        top, losses, window = self._top, self._losses, self._window
        loss = losses[place] - gain
        better = self._place_of(item)
        if place < window:
            self._sum += gain
        elif better < window:
            self._sum -= loss - losses[window - 1]
        if better == place:
            top[place], losses[place] = item, loss
        else:
            del top[place], losses[place]
            top.insert(better, item)
            losses.insert(better, loss)

    def _insert(self, item: Item, quality: float) -> None:
        top, losses, window = self._top, self._losses, self._window
        if self._rest and item > top[-1]:
            heappush(self._rest, item)
            return
        place = self._place_of(item)
        top.insert(place, item)
        losses.insert(place, -quality)
        if place < window:
            self._sum += quality
            if len(losses) > window:
                self._sum += losses[window]
        if len(losses) > 2 * SORTED_ITEMS and len(losses) > 2 * window:
            self._spill()

    def _place_of(self, item: Item) -> int:
        """Where ``item`` is, or would be, among the sorted ones. O(log n), most of it in packed memory."""
        if not self._by_quality:
            return bisect_left(self._top, item)
        losses, loss = self._losses, item[0]
        first = bisect_left(losses, loss)
        if first == len(losses) or losses[first] != loss:
            return first
        return bisect_left(self._top, item, first, bisect_right(losses, loss, first))

    def pop(self, prefix: str) -> Entry:
        """Remove and return the best entry, its URL starting with ``prefix``. O(log n) amortised.

        Raises IndexError when the queue is empty.
        """
        item = self._take_out(0)
        if len(self._top) < self._window and self._rest:
            self._refill()
        if self._by_path is not None and self._by_path.get(item[2]) is item:
            del self._by_path[item[2]]
        return self._entry(item, prefix)

    def best(self, prefix: str) -> Entry:
        """The entry that ``pop`` would return. O(1); raises IndexError when the queue is empty."""
        return self._entry(self._top[0], prefix)

    def _entry(self, item: Item, prefix: str) -> Entry:
        first, second, path, depth, payload = item
        quality, order = (-first, second) if self._by_quality else (-second, first)
        url = prefix + path if path.startswith("/") else path
        return Entry(url, quality, -(int(order) >> PRIORITY_SHIFT), depth, payload)

    def drain(self, prefix: str) -> list[Entry]:
        """Remove and return all entries, best first. O(n log n)."""
        return [self.pop(prefix) for _ in range(len(self))]

    def acknowledge(self, entry: Entry, prefix: str) -> None:
        """Nothing to do: what was popped is gone."""

    def _take_out(self, place: int) -> Item:
        """Remove the item at ``place`` of the sorted ones."""
        losses, window = self._losses, self._window
        loss = losses.pop(place)
        if not losses:
            self._sum = 0.0
        elif place < window:
            self._sum += loss
            if len(losses) >= window:
                self._sum -= losses[window - 1]
        return self._top.pop(place)

    def _quality(self, item: Item) -> float:
        return -item[0] if self._by_quality else -item[1]

    def _sum_up(self) -> None:
        """Add up afresh, also so that rounding errors do not pile up."""
        self._sum = -sum(self._losses[: self._window])

    def _spill(self) -> None:
        """Move the worse half of the sorted items into the heap."""
        keep = max(SORTED_ITEMS, self._window)
        worse = self._top[keep:]
        del self._top[keep:]
        del self._losses[keep:]
        if not self._rest:
            self._rest = worse  # sorted, so a heap already
        elif len(worse) * 8 > len(self._rest):
            self._rest += worse
            heapify(self._rest)
        else:
            for item in worse:
                heappush(self._rest, item)
        self._sum_up()

    def _refill(self) -> None:
        """Fetch the best of the heap, so that the window is covered again, and add up."""
        stale = self._stale
        while self._rest and len(self._top) < self._window + SORTED_ITEMS:
            item = heappop(self._rest)
            if stale and item[:2] in stale:
                stale.discard(item[:2])
            else:
                self._top.append(item)
                self._losses.append(-self._quality(item))
        self._sum_up()

    def _sweep(self) -> None:
        """Drop the stale items of the heap. O(n)."""
        stale = self._stale or ()
        self._rest = [item for item in self._rest or () if item[:2] not in stale]
        heapify(self._rest)
        self._stale = None

    def check(self) -> None:
        """Assert every invariant. O(n log n); for tests."""
        top = self._top
        rest = self._rest or []
        stale = self._stale or set()
        assert stale <= {item[:2] for item in rest}
        assert top == sorted(top)
        assert list(self._losses) == [-self._quality(item) for item in top]
        assert not rest or len(top) >= self._window, "the window must be covered"
        assert not rest or top[-1] < min(rest)
        assert all(rest[(i - 1) // 2] < rest[i] for i in range(1, len(rest))), "not a heap"
        if self._by_path is not None:
            valid = [*top, *(item for item in rest if item[:2] not in stale)]
            assert {id(item) for item in self._by_path.values()} <= {id(item) for item in valid}
            assert all(path == item[2] for path, item in self._by_path.items())
        expected = sum(map(self._quality, top[: self._window]))
        assert isclose(self._sum, expected, rel_tol=1e-9, abs_tol=1e-9), (self._sum, expected)


def path_of(url: str, prefix: str) -> str:
    """``url`` without the server key ``prefix`` where a path follows that; else as it is."""
    path = url.removeprefix(prefix)
    return path if path.startswith("/") else url
