"""The lower level of a durable frontier: a server's URLs in a store, of the best of them only their places in memory.

The head is the places of the best URLs, sorted, 17 bytes each; no URL outside it is better than any in it.  It covers
the window that policies add up, so that servers rank without reading the store.  A URL that has been handed out stays
in the store until it is acknowledged: after a restart it is queued again.
"""

from __future__ import annotations

from array import array
from math import isclose
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlproject.frontier.place import PLACE_BYTES as SIZE
from crawlproject.frontier.place import Place, Row, decode_place, decode_row, encode_place, encode_row, url_digest
from crawlproject.frontier.url_queue import Entry, best_rate, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlproject.frontier.server_urls import UrlRows

#: How many places the head keeps beyond the window when it is refilled, or cut because it has grown to twice that.
SPARE = 32


class QueueRows(NamedTuple):
    """The part of a store that belongs to one queue."""

    rows: UrlRows
    #: Its server, in the store.
    number: int
    by_quality: bool
    #: Whether URLs are found by their digest, as ``raise_quality`` needs.
    indexed: bool


class StoredUrlQueue:
    """``ServerUrls`` over a store; behaves as ``UrlQueue`` does.

    ``push`` and ``pop`` cost O(log n) of the store, and one read of ``SPARE`` places for as many pops.  A payload that
    is neither bytes nor None is kept in memory, and so its URL is not stored.
    """

    __slots__ = ("_head", "_leased", "_length", "_of", "_qualities", "_sum", "_volatile", "_window")

    def __init__(self, of: QueueRows, window: int = 1) -> None:
        self._of = of
        self._window = window
        self._head = bytearray()  # places, best first
        self._qualities = array("d")  # of the head
        self._sum = 0.0  # of the first `window` of them
        self._length = 0
        self._leased: set[bytes] = set()  # places handed out and not acknowledged
        self._volatile: dict[bytes, tuple[str, int, Any]] = {}  # URLs that cannot be stored: path, depth, payload

    def __len__(self) -> int:
        return self._length

    @property
    def number(self) -> int:
        """Of its server, in the store."""
        return self._of.number

    @property
    def window(self) -> int:
        """See ``ServerUrls``."""
        return self._window

    @property
    def window_sum(self) -> float:
        """See ``ServerUrls``. O(1)."""
        return self._sum

    @property
    def best_quality(self) -> float:
        """See ``ServerUrls``. O(1)."""
        return self._qualities[0] if self._qualities else 0.0

    def best_rate(self, setup: float, page_time: float, bonus: float) -> float:
        """See ``ServerUrls``. O(k)."""
        return best_rate(self._qualities[: self._window], setup, page_time, bonus)

    def set_window(self, window: int) -> None:
        """See ``ServerUrls``. O(window), and a read of the store where the window grows beyond the head."""
        if window != self._window:
            self._window = window
            self._cut()
            self._refill(self._last())
            self._sum = sum(self._qualities[:window])

    def push(self, entry: Entry, prefix: str, arrival: int) -> None:
        """See ``ServerUrls``."""
        of = self._of
        place = encode_place(Place(entry.quality, entry.priority, arrival), by_quality=of.by_quality)
        path = path_of(entry.url, prefix)
        if entry.payload is None or type(entry.payload) is bytes:
            of.rows.put(of.number, place, encode_row(Row(path, entry.depth, entry.payload)))
            if of.indexed:
                of.rows.put_place(of.number, url_digest(path), place)
        else:
            self._volatile[place] = (path, entry.depth, entry.payload)
        self._insert(place, entry.quality)
        self._length += 1

    def pop(self, prefix: str) -> Entry:
        """See ``ServerUrls``. Raises IndexError when the queue is empty, LookupError where the store lost the URL."""
        place = bytes(self._head[:SIZE])
        if not place:
            raise IndexError("pop from an empty queue")
        row = self._row(place)
        last = self._last()
        self._take_out(0)
        self._leased.add(place)
        self._length -= 1
        if len(self._qualities) < self._window:
            self._refill(last)
            self._sum = sum(self._qualities[: self._window])
        quality, priority, _ = decode_place(place, by_quality=self._of.by_quality)
        path, depth, payload = row
        return Entry(prefix + path if path.startswith("/") else path, quality, priority, depth, payload, place)

    def acknowledge(self, entry: Entry, prefix: str) -> None:
        """See ``ServerUrls``; an entry that has been acknowledged is left alone. O(1)."""
        place = entry.place
        if place is None or place not in self._leased:
            return
        self._leased.discard(place)
        if self._volatile.pop(place, None) is None:
            self._remove(place, path_of(entry.url, prefix))

    def raise_quality(self, url: str, prefix: str, gain: float) -> float | None:
        """See ``ServerUrls``; URLs that cannot be stored keep their quality, as do those of an index not kept."""
        of = self._of
        path = path_of(url, prefix)
        old = of.rows.get_place(of.number, url_digest(path)) if of.indexed else None
        row = of.rows.get(of.number, old) if old is not None and old not in self._leased else None
        if old is None or row is None or decode_row(row).path != path:
            return None
        quality, priority, arrival = decode_place(old, by_quality=of.by_quality)
        raised = quality + gain
        if raised <= quality:
            return raised
        place = encode_place(Place(raised, priority, arrival), by_quality=of.by_quality)
        of.rows.delete(of.number, old)
        of.rows.put(of.number, place, row)
        of.rows.put_place(of.number, url_digest(path), place)
        if old <= self._last():
            self._take_out(self._find(old))
            self._insert(place, raised, on_top=True)
        else:
            self._insert(place, raised)
        return raised

    def drain(self, prefix: str) -> list[Entry]:
        """See ``ServerUrls``. O(n)."""
        return [self.pop(prefix) for _ in range(self._length)]

    # For the store

    def saved(self) -> tuple[int, bytes]:
        """(stored URLs, places of the best of them), those handed out included: what ``restore`` needs."""
        if not self._leased and not self._volatile:
            return self._length, bytes(self._head)
        volatile = len(self._volatile) - sum(place in self._volatile for place in self._leased)
        leased = [place for place in self._leased if place not in self._volatile]
        head = [place for place in self._places() if place not in self._volatile]
        if self._length > len(self._qualities):  # what is leased behind the head is found when that is refilled
            end = self._last()
            head += [place for place in leased if place <= end]
        else:
            head += leased
        return self._length - volatile + len(leased), b"".join(sorted(head))

    def restore(self, length: int, head: bytes) -> None:
        """Be the queue that was ``saved``."""
        self._length = length
        self._head = bytearray(head)
        self._qualities = array("d", map(self._quality, self._places()))
        self._refill(self._last())
        self._sum = sum(self._qualities[: self._window])

    # Inside

    def _insert(self, place: bytes, quality: float, *, on_top: bool = False) -> None:
        """Put a place into the head, where it belongs there."""
        qualities, window = self._qualities, self._window
        if not on_top and self._length > len(qualities) and place > self._last():
            return
        at = self._find(place)
        self._head[at * SIZE : at * SIZE] = place
        qualities.insert(at, quality)
        if at < window:
            self._sum += quality
            if len(qualities) > window:
                self._sum -= qualities[window]
        self._cut()

    def _cut(self) -> None:
        """Keep the head short; what is cut off is in the store."""
        keep = self._window + SPARE
        if len(self._qualities) > keep + SPARE:
            del self._head[keep * SIZE :]
            del self._qualities[keep:]
            self._sum = sum(self._qualities[: self._window])

    def _take_out(self, at: int) -> None:
        qualities, window = self._qualities, self._window
        del self._head[at * SIZE : (at + 1) * SIZE]
        quality = qualities.pop(at)
        if not qualities:
            self._sum = 0.0
        elif at < window:
            self._sum -= quality
            if len(qualities) >= window:
                self._sum += qualities[window - 1]

    def _find(self, place: bytes) -> int:
        """How many places of the head are before ``place``. O(log head)."""
        head = self._head
        low, high = 0, len(self._qualities)
        while low < high:
            middle = (low + high) // 2
            if head[middle * SIZE : (middle + 1) * SIZE] < place:
                low = middle + 1
            else:
                high = middle
        return low

    def _refill(self, last: bytes) -> None:
        """Have the head cover the window again; ``last`` is where it ended."""
        missing = self._window + SPARE - len(self._qualities)
        if len(self._qualities) >= min(self._window, self._length):
            return
        asked = missing + len(self._leased)
        found = self._of.rows.after(self._of.number, last, asked)
        places = [place for place in found if place not in self._leased]
        if self._volatile:
            end = found[-1] if len(found) == asked else b"\xff" * SIZE
            places += [place for place in self._volatile if last < place <= end and place not in self._leased]
            places.sort()
        for place in places[:missing]:
            self._head += place
            self._qualities.append(self._quality(place))
        if len(self._qualities) < min(self._window, self._length):
            raise LookupError(f"the store has lost URLs of the server number {self._of.number}")

    def _last(self) -> bytes:
        return bytes(self._head[-SIZE:])

    def _places(self) -> Iterator[bytes]:
        return (bytes(self._head[at : at + SIZE]) for at in range(0, len(self._head), SIZE))

    def _quality(self, place: bytes) -> float:
        return decode_place(place, by_quality=self._of.by_quality).quality

    def _row(self, place: bytes) -> tuple[str, int, Any]:
        volatile = self._volatile.get(place)
        if volatile is not None:
            return volatile
        row = self._of.rows.get(self._of.number, place)
        if row is None:
            raise LookupError(f"the store has lost a URL of the server number {self._of.number}")
        return decode_row(row)

    def _remove(self, place: bytes, path: str) -> None:
        of = self._of
        of.rows.delete(of.number, place)
        if of.indexed:
            digest = url_digest(path)
            if of.rows.get_place(of.number, digest) == place:
                of.rows.delete_place(of.number, digest)

    def check(self) -> None:
        """Assert every invariant. O(head); for tests."""
        places = list(self._places())
        assert places == sorted(set(places))
        assert list(self._qualities) == [self._quality(place) for place in places]
        assert not self._leased & set(places)
        assert min(self._window, self._length) <= len(places) <= self._length
        expected = sum(self._qualities[: self._window])
        assert isclose(self._sum, expected, rel_tol=1e-9, abs_tol=1e-9), (self._sum, expected)
