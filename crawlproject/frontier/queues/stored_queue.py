"""The lower level of a durable frontier: a server's URLs in a store, of the best of them only their places in memory.

The head is the places of the best URLs, sorted, 17 bytes each; no URL outside it is better than any in it.  It covers
the window that policies add up, so that servers rank without reading the store.  A URL that has been handed out stays
in the store until it is acknowledged: after a restart it is queued again.
"""

from __future__ import annotations

from functools import lru_cache
from operator import neg
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlproject.frontier.entry import Entry, path_of, url_of
from crawlproject.frontier.queues.best_rate import best_rate
from crawlproject.frontier.queues.sort_key import PLACE_BYTES as SIZE
from crawlproject.frontier.queues.sort_key import (
    Place,
    Row,
    decode_place,
    decode_row,
    encode_place,
    encode_row,
    is_row_of,
    qualities,
    quality_of,
    url_digest,
    with_quality,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlproject.frontier.queues.protocols import UrlRows

#: How many places the head keeps beyond the window when it is refilled, or cut because twice as many are beyond it.
SPARE = 16

# What most servers have none of: not a set and a dict for each.  Never added to.
_NONE_LEASED: set[bytes] = set()
_NONE_VOLATILE: dict[bytes, tuple[str, int, Any]] = {}


class QueueRows(NamedTuple):
    """A store, and what holds for all queues over it."""

    rows: UrlRows
    by_quality: bool
    #: Whether URLs are found by their digest, as ``raise_quality`` needs.
    indexed: bool


class StoredUrlQueue:
    """``ServerUrls`` over a store, in which its server goes by ``number``; behaves as ``UrlQueue`` does.

    ``push`` and ``pop`` cost O(log n) of the store, and one read of ``SPARE`` places for as many pops.  A payload that
    is neither bytes nor None is kept in memory, and so its URL is not stored.
    Memory: some 150 bytes, and at most ``window + 2 * SPARE`` places.
    """

    __slots__ = ("_head", "_leased", "_length", "_of", "_volatile", "_window", "number")

    def __init__(self, of: QueueRows, number: int, window: int = 1) -> None:
        self.number = number
        self._of = of
        self._window = window
        self._head = b""  # places, best first
        self._length = 0
        self._leased = _NONE_LEASED  # places handed out and not acknowledged
        self._volatile = _NONE_VOLATILE  # URLs that cannot be stored: path, depth, payload

    def __len__(self) -> int:
        return self._length

    @property
    def window(self) -> int:
        """See ``ServerUrls``."""
        return self._window

    @property
    def window_sum(self) -> float:
        """See ``ServerUrls``. O(window)."""
        return sum(qualities(self._head[: self._window * SIZE], by_quality=self._of.by_quality))

    @property
    def best_quality(self) -> float:
        """See ``ServerUrls``. O(1)."""
        return next(qualities(self._head[:SIZE], by_quality=self._of.by_quality), 0.0)

    def best_rate(self, setup: float, page_time: float, bonus: float) -> float:
        """See ``ServerUrls``. O(k)."""
        found = qualities(self._head[: self._window * SIZE], by_quality=self._of.by_quality)
        return best_rate(map(neg, found), setup, page_time, bonus)

    def set_window(self, window: int) -> None:
        """See ``ServerUrls``. O(window), and a read of the store where the window grows beyond the head."""
        if window != self._window:
            self._window = window
            self._cut()
            self._refill(self._head[-SIZE:])

    def push(self, entry: Entry, path: str, arrival: int) -> None:
        """See ``ServerUrls``."""
        of = self._of
        place = encode_place(Place(entry.quality, entry.priority, arrival), by_quality=of.by_quality)
        if entry.payload is None or type(entry.payload) is bytes:
            digest = url_digest(path) if of.indexed else None
            of.rows.put(self.number, place, encode_row(Row(path, entry.depth, entry.payload)), digest)
        else:
            if self._volatile is _NONE_VOLATILE:
                self._volatile = {}
            self._volatile[place] = (path, entry.depth, entry.payload)
        self._insert(place)
        self._length += 1

    def pop(self, prefix: str) -> Entry:
        """See ``ServerUrls``. Raises IndexError when the queue is empty, LookupError where the store lost the URL."""
        entry = self.best(prefix)
        place, last = self._head[:SIZE], self._head[-SIZE:]
        self._head = self._head[SIZE:]
        if self._leased is _NONE_LEASED:
            self._leased = set()
        self._leased.add(place)
        self._length -= 1
        self._refill(last)
        return entry._replace(place=place)

    def best(self, prefix: str) -> Entry:
        """See ``ServerUrls``. Raises as ``pop``."""
        place = self._head[:SIZE]
        if not place:
            raise IndexError("the queue is empty")
        return self._entry(place, prefix)

    def acknowledge(self, entry: Entry, prefix: str) -> None:
        """See ``ServerUrls``; an entry that has been acknowledged is left alone. O(1)."""
        place = entry.place
        if place is None or place not in self._leased:
            return
        self._leased.discard(place)
        if not self._leased:
            self._leased = _NONE_LEASED
        if place in self._volatile:
            del self._volatile[place]
        else:
            digest = url_digest(path_of(entry.url, prefix)) if self._of.indexed else None
            self._of.rows.delete(self.number, place, digest)

    def raise_quality(self, path: str, gain: float) -> float | None:
        """See ``ServerUrls``; URLs that cannot be stored keep their quality, as do those of an index not kept."""
        of = self._of
        digest = _digest(path)
        found = of.rows.find(self.number, digest) if of.indexed else None
        if found is None or found[0] in self._leased or not is_row_of(found[1], path):
            return None
        old, row = found
        quality = quality_of(old, by_quality=of.by_quality)
        raised = quality + gain
        if raised <= quality:
            return raised
        place = with_quality(old, raised, by_quality=of.by_quality)
        of.rows.move(self.number, digest, old, place, row)
        head = self._head
        if old <= head[-SIZE:]:
            end = self._find(old, len(head) // SIZE)
            at = self._find(place, end) * SIZE
            end *= SIZE
            self._head = b"".join((head[:at], place, head[at:end], head[end + SIZE :]))
        else:
            self._insert(place)
        return raised

    def drain(self, prefix: str) -> Iterator[Entry]:
        """See ``ServerUrls``. O(n log n): all places are read at once, not a few for each ``pop``; a row with its
        entry. A row that the store lost raises LookupError then."""
        found = self._of.rows.after(self.number, b"", self._length + len(self._leased))
        places = sorted(place for place in (*found, *self._volatile) if place not in self._leased)
        if len(places) != self._length:
            raise LookupError(f"the store has lost URLs of the server number {self.number}")
        self._head, self._length = b"", 0
        self._leased = self._leased.union(places) if places else self._leased
        return (self._entry(place, prefix)._replace(place=place) for place in places)

    # For the store

    def name_of(self, path: str) -> tuple[int, bytes]:
        """(number of the server, digest of ``path``): by what the store finds a URL. O(length)."""
        return self.number, _digest(path)

    @property
    def stored(self) -> int:
        """How many URLs are stored, those handed out included: what ``restore`` needs. O(leased)."""
        if not self._volatile:
            return self._length + len(self._leased)
        queued = len(self._volatile) - sum(place in self._volatile for place in self._leased)
        return self._length - queued + sum(place not in self._volatile for place in self._leased)

    def restore(self, length: int) -> None:
        """Be the queue of which so many URLs were ``stored``; the best are read when its window is set."""
        self._length = length
        self._window = 0

    # Inside

    def _insert(self, place: bytes) -> None:
        """Put a place into the head, if it belongs there."""
        if self._length * SIZE <= len(self._head) or place < self._head[-SIZE:]:
            head, at = self._head, self._find(place, len(self._head) // SIZE) * SIZE
            self._head = head[:at] + place + head[at:]
            self._cut()

    def _cut(self) -> None:
        """Keep the head short; what is cut off is in the store."""
        if len(self._head) > (self._window + 2 * SPARE) * SIZE:
            self._head = self._head[: (self._window + SPARE) * SIZE]

    def _find(self, place: bytes, high: int) -> int:
        """How many places of the head are before ``place``, which is no further than behind ``high`` of them.

        O(log head).
        """
        head, low = self._head, 0
        while low < high:
            middle = (low + high) // 2
            if head[middle * SIZE : (middle + 1) * SIZE] < place:
                low = middle + 1
            else:
                high = middle
        return low

    def _refill(self, last: bytes) -> None:
        """Have the head cover the window; ``last`` is where it ended."""
        covered = min(self._window, self._length) * SIZE
        if len(self._head) >= covered:
            return
        missing = self._window + SPARE - len(self._head) // SIZE
        asked = missing + len(self._leased)
        found = self._of.rows.after(self.number, last, asked)
        places = [place for place in found if place not in self._leased]
        if self._volatile:
            end = found[-1] if len(found) == asked else b"\xff" * SIZE
            places += [place for place in self._volatile if last < place <= end and place not in self._leased]
            places.sort()
        self._head += b"".join(places[:missing])
        if len(self._head) < covered:
            raise LookupError(f"the store has lost URLs of the server number {self.number}")

    def _entry(self, place: bytes, prefix: str) -> Entry:
        path, depth, payload = self._row(place)
        quality, priority, _ = decode_place(place, by_quality=self._of.by_quality)
        return Entry(url_of(path, prefix), quality, priority, depth, payload)

    def _row(self, place: bytes) -> tuple[str, int, Any]:
        volatile = self._volatile.get(place)
        if volatile is not None:
            return volatile
        row = self._of.rows.get(self.number, place)
        if row is None:
            raise LookupError(f"the store has lost a URL of the server number {self.number}")
        return decode_row(row)

    def check(self) -> None:
        """Assert every invariant. O(head); for tests."""
        head = self._head
        places = [head[at : at + SIZE] for at in range(0, len(head), SIZE)]
        assert places == sorted(set(places))
        assert not self._leased & set(places)
        assert min(self._window, self._length) <= len(places) <= min(self._length, self._window + 2 * SPARE)


#: Asked for twice, to read a URL ahead and to raise it.
_digest = lru_cache(maxsize=256)(url_digest)
