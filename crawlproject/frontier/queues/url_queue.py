"""The lower level of the frontier: one priority queue of discovered, unfetched URLs per server.

A policy needs more than the best URL: it needs the qualities of the best P URLs (Cao 2003: their sum is the numerator
of the capacity) after every push and pop.  So the queue keeps its best items in a short sorted list and the rest in a
heap.  The qualities of the sorted items are only in a packed array beside them: with millions of URLs, reading each
item from distant memory would dominate the cost.  If qualities rise, the hashes that find a URL among the sorted items
are packed, too: Python's garbage collector would traverse a dict of items after each change.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING

from crawlproject.frontier.entry import Entry, path_of, url_of
from crawlproject.frontier.queues.packed_url import (
    Extras,
    ItemHeap,
    arrival_in,
    is_usual,
    packed,
    path_in,
    read,
    with_loss,
    without_loss,
)
from crawlproject.frontier.queues.sort_key import best_rate, encode_path, gain_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

#: Minimum number of items that a queue keeps sorted; more if the window is wider.
SORTED_ITEMS = 64

#: Bytes of a path's hash (``_mark``).
MARK_BYTES = 8
_pack = Struct("q").pack


#: Shared by all queues without payloads; never modified.
_NONE: Extras = {}


class UrlQueue:
    """``ServerUrls`` in memory, by quality or in order of arrival.

    ``push``, ``pop`` and ``raise_quality`` are O(log n) amortised (plus a memory move of at most a few hundred
    pointers); ``best_quality`` and ``len`` are O(1), ``window_sum`` and ``best_rate`` O(window).  Ties go to the higher
    priority, then to the earlier arrival, so the order is reproducible.  Raising an item of the heap leaves a stale
    item there.
    """

    __slots__ = ("_by_quality", "_extras", "_losses", "_marks", "_rest", "_top", "_window")

    def __init__(self, *, by_quality: bool, window: int) -> None:
        self._by_quality = by_quality
        self._window = window
        self._top: list[bytes] = []  # the best items, best first: packed URLs
        self._losses = array("d")  # their qualities, negated: ascending if sorted by quality
        self._extras = _NONE  # of items with a payload
        self._rest: ItemHeap | None = None  # no item in it is better than any in _top
        self._marks: bytearray | None = None  # hashes of the paths in _top, from the first raise_quality on

    def __bool__(self) -> bool:
        return bool(self._top)

    def __len__(self) -> int:
        return len(self._top) + (0 if self._rest is None else len(self._rest))

    @property
    def window_sum(self) -> float:
        return -sum(self._losses[: self._window])

    @property
    def best_quality(self) -> float:
        return -self._losses[0] if self._losses else 0.0

    def best_rate(self, setup: float, page_time: float, bonus: float) -> float:
        losses, window = self._losses, self._window
        return best_rate(losses if len(losses) <= window else islice(losses, window), setup, page_time, bonus)

    def set_window(self, window: int) -> None:
        """Change the number of URLs that ``window_sum`` adds up. O(1), or O(window log n) if it grows."""
        self._window = window
        if len(self._losses) < window and self._rest:
            self._refill()

    def push(self, entry: Entry, path: str, arrival: int) -> None:
        """Add ``entry`` with its ``arrival`` number (below 2**40, no other of this queue has it). O(log n).

        ``path``: see ``entry.path_of``.  Raises ValueError for a priority beyond ±(2³¹ - 1).
        """
        data, depth, usual = encode_path(path), entry.depth, is_usual(entry.depth, entry.payload)
        item = packed(data, entry.priority, arrival, depth, usual=usual)
        if not usual:
            self._extras = {} if self._extras is _NONE else self._extras
            self._extras[arrival] = (depth, entry.payload)
        self._insert(item, -entry.quality, data)

    def raise_quality(self, path: str, gain: float) -> float | None:
        """Add ``gain`` > 0 to the quality of the URL of ``path``; returns the new quality, None if not queued.

        O(log n).  The first call is O(n): it builds an index, 8 bytes per sorted URL and about 80 per other URL.
        """
        if not self._top:  # most links of a page lead to servers of which all known pages were fetched
            return None
        data = encode_path(path)
        place = self._find(data)
        if place >= 0:
            before = self._losses[place]
            loss = before - gain_of(self._top[place], gain)
            if loss < before:
                self._move_up(place, loss)
            return -loss
        worse = self._rest.find(data) if self._rest else None
        if worse is None or self._rest is None:
            return None
        item, before = without_loss(worse, by_quality=self._by_quality)
        loss = before - gain_of(item, gain)
        if loss < before:
            self._rest.remove(worse)
            self._insert(item, loss, data)
        return -loss

    def _find(self, path: bytes) -> int:
        """Index of the item of ``path`` among the sorted items, -1 if it is not there. O(sorted items), 8 bytes each.

        May find another path of the server with the same hash: one pair in 2**64.
        """
        marks = self._marks
        if marks is None:
            marks = self._marks = bytearray(b"".join(_mark(path_in(item)) for item in self._top))
        mark = _mark(path)
        at = marks.find(mark)
        while at % MARK_BYTES and at >= 0:
            at = marks.find(mark, at + 1)
        return at // MARK_BYTES

    def _move_up(self, place: int, loss: float) -> None:
        """Lower the loss of the sorted item at ``place`` to ``loss``."""
        top, losses, marks = self._top, self._losses, self._marks
        better = self._place_of(loss, top[place]) if self._by_quality else place
        if better == place:
            losses[place] = loss
        else:
            del losses[place]
            losses.insert(better, loss)
            top.insert(better, top.pop(place))
            if marks is not None:
                first, last = better * MARK_BYTES, place * MARK_BYTES
                marks[first : last + MARK_BYTES] = marks[last : last + MARK_BYTES] + marks[first:last]

    def _insert(self, item: bytes, loss: float, path: bytes) -> None:
        top, losses = self._top, self._losses
        place = self._place_of(loss, item)
        if place == len(losses) and self._rest:
            self._rest.push(self._with_loss(item, loss))
            return
        top.insert(place, item)
        if self._marks is not None:
            self._marks[place * MARK_BYTES : place * MARK_BYTES] = _mark(path)
        losses.insert(place, loss)
        if len(losses) > 2 * SORTED_ITEMS and len(losses) > 2 * self._window:
            self._spill()

    def _place_of(self, loss: float, item: bytes) -> int:
        """Index of ``item`` among the sorted items, or its insertion point. O(log n), mostly in packed memory."""
        if not self._by_quality:
            return bisect_left(self._top, item)
        losses = self._losses
        first = bisect_left(losses, loss)
        if first == len(losses) or losses[first] != loss:
            return first
        return bisect_left(self._top, item, first, bisect_right(losses, loss, first))

    def pop(self, prefix: str) -> Entry:
        """Raises IndexError when the queue is empty. O(log n) amortised."""
        entry = self._entry(0, prefix, remove=True)
        self._remove_first()
        return entry

    def _remove_first(self) -> None:
        del self._top[0], self._losses[0]
        if self._marks is not None:
            del self._marks[:MARK_BYTES]
        if len(self._losses) < self._window and self._rest:
            self._refill()

    def first(self, prefix: str, count: int) -> list[Entry]:
        return [self._entry(place, prefix) for place in range(min(count, len(self._top)))]

    def some(self, prefix: str, start: int, end: int) -> list[Entry]:
        """Entries by their present places from ``start`` on, which change with each push; nothing after ``len``. The
        best are first. O(end - start)."""
        top = len(self._top)
        found = [self._entry(place, prefix) for place in range(start, min(end, top))]
        for item in () if self._rest is None or end <= top else self._rest.some(max(0, start - top), end - top):
            packed_url, loss = without_loss(item, by_quality=self._by_quality)
            data, priority, depth, payload = read(packed_url, self._extras, remove=False)
            url = url_of(data.decode("utf-8", "surrogatepass"), prefix)
            found.append(Entry(url, -loss, priority, depth, payload))
        return found

    def _entry(self, place: int, prefix: str, *, remove: bool = False) -> Entry:
        data, priority, depth, payload = read(self._top[place], self._extras, remove=remove)
        path = data.decode("utf-8", "surrogatepass")
        return Entry(url_of(path, prefix), -self._losses[place], priority, depth, payload)

    def rewrite(
        self, prefix: str, judge: Callable[[Entry], Entry | None], count: int
    ) -> Generator[list[tuple[Entry, Entry | None]], None, None]:
        """See ``ServerUrls``. O(log n) for each entry; those not judged yet are missing."""
        left = self._take_all()
        try:
            while left:
                yield [
                    changed
                    for _ in range(min(count, len(left)))
                    if (changed := self._take_judged(left, prefix, judge)) is not None
                ]
        finally:
            while left:
                self._take_judged(left, prefix, lambda entry: entry)

    def _take_judged(
        self, left: UrlQueue, prefix: str, judge: Callable[[Entry], Entry | None]
    ) -> tuple[Entry, Entry | None] | None:
        """Move the first entry of ``left`` here, as ``judge`` would have it; returns what ``rewrite`` yields."""
        item, loss, entry = left._top[0], left._losses[0], left._entry(0, prefix)
        judged = judge(entry)
        left._remove_first()
        if judged is entry:
            self._insert(item, loss, path_in(item))
            return None
        read(item, self._extras, remove=True)
        if judged is not None:
            self.push(judged, path_of(judged.url, prefix), arrival_in(item))
        return entry, judged

    def _take_all(self) -> UrlQueue:
        """Empty this queue into a new one, which shares its extras. O(1)."""
        taken = UrlQueue(by_quality=self._by_quality, window=self._window)
        taken._top, taken._losses, taken._rest, taken._extras = self._top, self._losses, self._rest, self._extras
        self._top, self._losses, self._rest, self._marks = [], array("d"), None, None
        return taken

    def abandon(self, prefix: str) -> Iterator[Entry]:
        """See ``ServerUrls``. Best first; O(log n) for each entry."""
        left = self._take_all()
        self._extras = _NONE
        return (left.pop(prefix) for _ in range(len(left)))

    def acknowledge(self, entry: Entry, prefix: str) -> None:
        """Does nothing: ``pop`` has removed the entry."""

    def _with_loss(self, item: bytes, loss: float) -> bytes:
        return with_loss(item, loss, by_quality=self._by_quality)

    def _spill(self) -> None:
        """Move the worse half of the sorted items into the heap."""
        keep = max(SORTED_ITEMS, self._window)
        worse = list(map(self._with_loss, self._top[keep:], self._losses[keep:]))
        del self._top[keep:]
        del self._losses[keep:]
        if self._marks is not None:
            del self._marks[keep * MARK_BYTES :]
        if self._rest is None:
            self._rest = ItemHeap(worse, by_quality=self._by_quality)
        else:
            self._rest.extend(worse)

    def _refill(self) -> None:
        while self._rest and len(self._top) < self._window + SORTED_ITEMS:
            item, loss = without_loss(self._rest.pop(), by_quality=self._by_quality)
            self._top.append(item)
            self._losses.append(loss)
            if self._marks is not None:
                self._marks += _mark(path_in(item))


def _mark(path: bytes) -> bytes:
    return _pack(hash(path))
