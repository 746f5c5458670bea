"""The lower level of a durable frontier: a server's URLs in a store; memory holds only the sort keys of the best.

The head is the ordered sequence of these sort keys, 17 bytes each: no URL outside it is better than any in it.  It
covers the window that policies add up, so ranking a server does not read the store.  A URL that was handed out stays in
the store until it is acknowledged; after a restart it is queued again.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from operator import neg
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlproject.frontier.entry import Entry, path_of, url_of
from crawlproject.frontier.queues.sort_key import SORT_KEY_BYTES as SIZE
from crawlproject.frontier.queues.sort_key import (
    best_rate,
    decode_row,
    decode_sort_key,
    encode_path,
    encode_row,
    encode_sort_key,
    gain_of,
    is_row_of,
    path_digest,
    qualities,
    quality_of,
    url_digest,
    with_quality,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from crawlproject.frontier.queues.protocols import UrlRows

#: Sort keys beyond the window after a refill or a cut; the head is cut when twice as many are beyond it.
SPARE = 16

#: Sort keys that ``abandon`` reads at once: a few ms.
READ_AT_ONCE = 1000

# Shared by queues without such URLs, so that most queues need no set and no dict of their own.  Never modified.
_NONE_LEASED: set[bytes] = set()
_NONE_VOLATILE: dict[bytes, tuple[str, int, Any]] = {}


class QueueRows(NamedTuple):
    """A store, and the options that all its queues share."""

    rows: UrlRows
    by_quality: bool
    #: Whether URLs can be found by digest; ``raise_quality`` needs that.
    indexed: bool


class StoredUrlQueue:
    """``ServerUrls`` over a store, where ``number`` identifies the server; behaves like ``UrlQueue``.

    ``push`` and ``pop`` cost O(log n) in the store; one read of ``SPARE`` sort keys serves as many pops.  A URL whose
    payload is neither bytes nor None stays in memory and is not stored.
    Memory: about 150 bytes, and at most ``window + 2 * SPARE`` sort keys.
    """

    __slots__ = ("_abandoned", "_head", "_judged", "_leased", "_length", "_of", "_volatile", "_window", "number")

    def __init__(self, of: QueueRows, number: int, window: int = 1) -> None:
        self.number = number
        self._of = of
        self._window = window
        self._head = b""  # sort keys, best first
        self._length = 0
        self._abandoned: int | None = None  # stored URLs that left the queue by ``abandon``; None: it was not called
        self._judged = b""  # where ``rewrite`` is: sort key of the last URL judged
        self._leased = _NONE_LEASED  # sort keys of URLs handed out and not acknowledged
        self._volatile = _NONE_VOLATILE  # URLs that cannot be stored: sort key -> path, depth, payload

    def __len__(self) -> int:
        return self._length

    @property
    def window_sum(self) -> float:
        return sum(qualities(self._head[: self._window * SIZE], by_quality=self._of.by_quality))

    @property
    def best_quality(self) -> float:
        return next(qualities(self._head[:SIZE], by_quality=self._of.by_quality), 0.0)

    def best_rate(self, setup: float, page_time: float, bonus: float) -> float:
        found = qualities(self._head[: self._window * SIZE], by_quality=self._of.by_quality)
        return best_rate(map(neg, found), setup, page_time, bonus)

    def set_window(self, window: int) -> None:
        """See ``ServerUrls``. O(window), and a read of the store if the window grows beyond the head."""
        if window != self._window:
            self._window = window
            self._cut()
            self._refill(self._head[-SIZE:])

    def push(self, entry: Entry, path: str, arrival: int) -> None:
        """See ``ServerUrls``. O(head)."""
        rows, by_quality, indexed = self._of
        _, quality, priority, depth, payload, _ = entry
        sort_key = encode_sort_key(quality, priority, arrival, by_quality=by_quality)
        if payload is None or type(payload) is bytes:
            data = encode_path(path)
            rows.put(self.number, sort_key, encode_row(data, depth, payload), path_digest(data) if indexed else None)
        else:
            self._volatile = self._volatile or {}
            self._volatile[sort_key] = (path, depth, payload)
        self._insert(sort_key)
        self._length += 1

    def pop(self, prefix: str) -> Entry:
        """See ``ServerUrls``. O(head), a read of the store, and of more sort keys once per ``SPARE`` URLs.

        Raises IndexError if the queue is empty, LookupError if the store has lost the URL.
        """
        head = self._head
        sort_key = head[:SIZE]
        if not sort_key:
            raise IndexError("the queue is empty")
        entry = self._entry(sort_key, prefix, sort_key)
        self._head = head[SIZE:]
        self._leased = self._leased or set()
        self._leased.add(sort_key)
        self._length -= 1
        self._refill(head[-SIZE:])
        return entry

    def first(self, prefix: str, count: int) -> list[Entry]:
        """See ``ServerUrls``. Reads a row of the store for each. Raises LookupError if the store has lost one."""
        ends = range(SIZE, min(len(self._head), count * SIZE) + 1, SIZE)
        return [self._entry(self._head[end - SIZE : end], prefix) for end in ends]

    def acknowledge(self, entry: Entry, prefix: str) -> None:
        """See ``ServerUrls``; does nothing for an entry already acknowledged. O(1)."""
        sort_key = entry.place
        if sort_key in self._leased:
            self._leased.discard(sort_key)
            self._leased = self._leased or _NONE_LEASED
        elif sort_key is not None and self._abandoned and self._of.rows.get(self.number, sort_key) is not None:
            self._abandoned -= 1
        else:
            return
        self._delete(sort_key, entry.url, prefix)

    def raise_quality(self, path: str, gain: float) -> float | None:
        """See ``ServerUrls``; does nothing without an index, or for a URL that cannot be stored. O(head), a read."""
        of = self._of
        digest = _digest(path)
        found = of.rows.find(self.number, digest) if of.indexed and self._abandoned is None else None
        if found is None or found[0] in self._leased or not is_row_of(found[1], path):
            return None
        old, row = found
        quality = quality_of(old, by_quality=of.by_quality)
        raised = quality + gain_of(old, gain, by_quality=of.by_quality)
        if raised <= quality:
            return raised
        sort_key = with_quality(old, raised, by_quality=of.by_quality)
        if sort_key <= self._judged < old:  # it would not be judged
            return None
        of.rows.move(self.number, digest, old, sort_key, row)
        head = self._head
        if old <= head[-SIZE:]:
            end = self._find(old, len(head) // SIZE)
            at = self._find(sort_key, end) * SIZE
            end *= SIZE
            self._head = b"".join((head[:at], sort_key, head[at:end], head[end + SIZE :]))
        else:
            self._insert(sort_key)
        return raised

    def rewrite(
        self, prefix: str, judge: Callable[[Entry], Entry | None], count: int
    ) -> Generator[list[tuple[Entry, Entry | None]], None, None]:
        """See ``ServerUrls``. O(log n) for each entry, in place: writes and keeps in memory only what changes.

        Raises LookupError if the store has lost an entry.
        """
        last = b""
        try:
            while self._abandoned is None:
                found = self._of.rows.after(self.number, last, count)
                kept_here = (sort_key for sort_key in self._volatile if sort_key > last)
                sort_keys = sorted({*found, *kept_here})[:count]
                self._judged = last = sort_keys[-1] if sort_keys else last
                yield self._replace(sort_keys, prefix, judge)
                if len(sort_keys) < count:  # the end, even if further URLs are pushed there after each step
                    return
        finally:
            self._judged = b""

    def abandon(self, prefix: str) -> Iterator[Entry]:
        """See ``ServerUrls``. The iterator raises LookupError if the store has lost URLs."""
        in_memory = sorted(self._volatile.keys() - self._leased)
        stored = self._length - len(in_memory)
        self._abandoned = (self._abandoned or 0) + stored
        self._head, self._length = b"", 0
        self._leased = self._leased.union(in_memory) if in_memory else self._leased
        entries = (self._entry(sort_key, prefix, sort_key) for sort_key in in_memory)
        return chain(entries, self._leaving(prefix, stored))

    # For the store

    def name_of(self, path: str) -> tuple[int, bytes]:
        """(number of the server, digest of ``path``): how the store finds a URL. O(length)."""
        return self.number, _digest(path)

    @property
    def stored(self) -> int:
        """Number of stored URLs, including those handed out; the argument of ``restore``. O(leased)."""
        length = self._length + (self._abandoned or 0)
        if not self._volatile:
            return length + len(self._leased)
        queued = len(self._volatile) - sum(sort_key in self._volatile for sort_key in self._leased)
        return length - queued + sum(sort_key not in self._volatile for sort_key in self._leased)

    def restore(self, length: int) -> None:
        """Start with ``length`` URLs that are ``stored``; ``set_window`` then reads the best of them."""
        self._length = length
        self._window = 0

    # Internal

    def _replace(
        self, sort_keys: list[bytes], prefix: str, judge: Callable[[Entry], Entry | None]
    ) -> list[tuple[Entry, Entry | None]]:
        """A step of ``rewrite``."""
        changed = []
        for sort_key in sort_keys:
            if sort_key in self._leased:
                continue
            entry = self._entry(sort_key, prefix, sort_key)
            judged = judge(entry)
            if judged is entry:
                continue
            changed.append((entry, judged))
            self._remove(sort_key)
            self._delete(sort_key, entry.url, prefix)
            if judged is not None:
                arrival = decode_sort_key(sort_key, by_quality=self._of.by_quality).arrival
                self.push(judged, path_of(judged.url, prefix), arrival)
        self._refill(self._head[-SIZE:])
        return changed

    def _remove(self, sort_key: bytes) -> None:
        head = self._head
        if sort_key <= head[-SIZE:]:
            at = self._find(sort_key, len(head) // SIZE) * SIZE
            self._head = head[:at] + head[at + SIZE :]
        self._length -= 1

    def _delete(self, sort_key: bytes, url: str, prefix: str) -> None:
        if sort_key in self._volatile:
            del self._volatile[sort_key]
        else:
            digest = url_digest(path_of(url, prefix)) if self._of.indexed else None
            self._of.rows.delete(self.number, sort_key, digest)

    def _leaving(self, prefix: str, count: int) -> Iterator[Entry]:
        """The ``count`` stored URLs of an abandoned queue: all that are not handed out when they are read."""
        last = b""
        while count:
            found = self._of.rows.after(self.number, last, READ_AT_ONCE)
            if not found:
                raise LookupError(f"the store has lost URLs of the server number {self.number}")
            last = found[-1]
            for sort_key in [each for each in found if each not in self._leased]:
                count -= 1
                yield self._entry(sort_key, prefix, sort_key)

    def _insert(self, sort_key: bytes) -> None:
        """Insert a sort key into the head, if it belongs there."""
        head = self._head
        if head[-SIZE:] < sort_key:  # most often: a new URL is rarely better than those that wait
            if self._length * SIZE > len(head):
                return
            head += sort_key
        else:
            at = self._find(sort_key, len(head) // SIZE) * SIZE
            head = head[:at] + sort_key + head[at:]
        self._head = head
        if len(head) > (self._window + 2 * SPARE) * SIZE:
            self._cut()

    def _cut(self) -> None:
        if len(self._head) > (self._window + 2 * SPARE) * SIZE:
            self._head = self._head[: (self._window + SPARE) * SIZE]

    def _find(self, sort_key: bytes, high: int) -> int:
        """Number of sort keys among the head's first ``high`` that precede ``sort_key``. O(log head).

        A loop, because ``bisect_left`` with a ``key`` takes twice as long here.
        """
        head, low = self._head, 0
        while low < high:
            middle = (low + high) // 2
            if head[middle * SIZE : (middle + 1) * SIZE] < sort_key:
                low = middle + 1
            else:
                high = middle
        return low

    def _refill(self, last: bytes) -> None:
        """Read more sort keys after ``last``, the end of the head, if the head does not cover the window."""
        covered = min(self._window, self._length) * SIZE
        if len(self._head) >= covered:
            return
        missing = self._window + SPARE - len(self._head) // SIZE
        asked = missing + len(self._leased)
        found = self._of.rows.after(self.number, last, asked)
        sort_keys = [sort_key for sort_key in found if sort_key not in self._leased]
        if self._volatile:
            end = found[-1] if len(found) == asked else b"\xff" * SIZE
            sort_keys += [
                sort_key for sort_key in self._volatile if last < sort_key <= end and sort_key not in self._leased
            ]
            sort_keys.sort()
        self._head += b"".join(sort_keys[:missing])
        if len(self._head) < covered:
            raise LookupError(f"the store has lost URLs of the server number {self.number}")

    def _entry(self, sort_key: bytes, prefix: str, place: bytes | None = None) -> Entry:
        path, depth, payload = self._row(sort_key)
        quality, priority, _ = decode_sort_key(sort_key, by_quality=self._of.by_quality)
        return Entry(url_of(path, prefix), quality, priority, depth, payload, place)

    def _row(self, sort_key: bytes) -> tuple[str, int, Any]:
        volatile = self._volatile.get(sort_key)
        if volatile is not None:
            return volatile
        row = self._of.rows.get(self.number, sort_key)
        if row is None:
            raise LookupError(f"the store has lost a URL of the server number {self.number}")
        return decode_row(row)


#: Cached because both ``read_ahead`` and ``raise_quality`` need a URL's digest.
_digest = lru_cache(maxsize=256)(url_digest)
