"""A queued URL without its quality in one bytes object: its order, its depth, its path.

Packed URLs of equal quality sort in the order in which they are fetched.  One takes 43 bytes and the path; as a tuple
of numbers and text it took 150 to 180.  In a heap the quality is part of it.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from struct import Struct, error
from typing import Any

from crawlproject.frontier.queues.sort_key import MAX_PRIORITY, encode_quality, quality_in

#: Priority (higher first), arrival (40 bits), depth.
_head = Struct(">IBIB")
_HEAD = _head.size
_ORDER = _HEAD - 1
_QUALITY = 8
_UNUSUAL = 0xFF


#: Depth and payload of the URLs of a queue that have a payload, or an unusual depth, by their arrival numbers.
Extras = dict[int, tuple[int, Any]]


def packed(path: bytes, priority: int, arrival: int, depth: int, *, usual: bool) -> bytes:
    """The URL of this encoded ``path``; ``usual``: without extras (``is_usual``).

    Raises ValueError for a priority beyond ±(2³¹ - 1).  O(length).
    """
    depth = depth if usual else _UNUSUAL
    try:
        return _head.pack(MAX_PRIORITY - priority, arrival >> 32, arrival & 0xFFFFFFFF, depth) + path
    except error:
        raise ValueError(f"priority={priority}: must be within ±{MAX_PRIORITY}") from None


def is_usual(depth: int, payload: Any) -> bool:
    """Whether these fit into a packed URL; if not, they are in ``Extras``."""
    return payload is None and type(depth) is int and 0 <= depth < _UNUSUAL


def path_in(url: bytes) -> bytes:
    """The encoded path of a packed URL."""
    return url[_HEAD:]


def arrival_in(url: bytes) -> int:
    """The arrival number of a packed URL."""
    _, high, low, _ = _head.unpack_from(url)
    arrival: int = high << 32 | low
    return arrival


def read(url: bytes, extras: Extras, *, remove: bool) -> tuple[bytes, int, int, Any]:
    """Encoded path, priority, depth and payload of a packed URL; ``remove``: it leaves the queue."""
    inverted, high, low, depth = _head.unpack_from(url)
    payload = None
    if depth == _UNUSUAL:
        depth, payload = (extras.pop if remove else extras.__getitem__)(high << 32 | low)
    return url[_HEAD:], MAX_PRIORITY - inverted, depth, payload


def with_loss(url: bytes, loss: float, *, by_quality: bool) -> bytes:
    """The packed URL with its quality, ``-loss``; sorts by quality, then by order, or the other way round."""
    quality = encode_quality(-loss)
    return quality + url if by_quality else url[:_ORDER] + quality + url[_ORDER:]


def without_loss(item: bytes, *, by_quality: bool) -> tuple[bytes, float]:
    """Inverse of ``with_loss``."""
    if by_quality:
        return item[_QUALITY:], -quality_in(item, 0)
    return item[:_ORDER] + item[_ORDER + _QUALITY :], -quality_in(item, _ORDER)


#: Hashes of paths are cut to 60 bits: an int of Python is larger beyond that.
_HASH = (1 << 60) - 1


class ItemHeap:
    """Packed URLs with their quality (``with_loss``), best first; no two are equal.

    A removed item stays in the heap as a stale one; stale items are swept when half of the heap is stale.
    """

    __slots__ = ("_by_path", "_by_quality", "_heap", "_stale")

    def __init__(self, items: list[bytes], *, by_quality: bool) -> None:
        """Takes over the sorted ``items``."""
        self._by_quality = by_quality
        self._heap = items  # sorted, so a heap already
        self._stale: set[bytes] = set()  # items that are no longer valid
        self._by_path: dict[int, bytes] | None = None  # hash of path -> valid item, from the first ``find`` on

    def __len__(self) -> int:
        return len(self._heap) - len(self._stale)

    def push(self, item: bytes) -> None:
        """Add an item. O(log n)."""
        heappush(self._heap, item)
        if self._by_path is not None:
            self._by_path[self._key(item)] = item

    def extend(self, items: list[bytes]) -> None:
        """Add ``items``. O(log n) each, or O(n) in all if they are many."""
        if len(items) * 8 > len(self._heap):
            self._heap += items
            heapify(self._heap)
        else:
            for item in items:
                heappush(self._heap, item)
        if self._by_path is not None:
            self._by_path.update((self._key(item), item) for item in items)

    def pop(self) -> bytes:
        """Remove and return the smallest item. O(log n) amortised; raises IndexError if there is none."""
        item = heappop(self._heap)
        while self._stale and item in self._stale:
            self._stale.discard(item)
            item = heappop(self._heap)
        if self._by_path is not None:
            key = self._key(item)
            if self._by_path.get(key) is item:
                del self._by_path[key]
        return item

    def find(self, path: bytes) -> bytes | None:
        """The item of the encoded ``path``. O(1); the first call is O(n): an index of about 80 bytes per item.

        May find another path with the same hash, as ``UrlQueue`` may.
        """
        if self._by_path is None:
            self._by_path = {self._key(item): item for item in self._heap if item not in self._stale}
        return self._by_path.get(hash(path) & _HASH)

    def remove(self, item: bytes) -> None:
        """Remove an ``item`` that ``find`` returned. O(1) amortised."""
        if self._by_path is not None:
            del self._by_path[self._key(item)]
        self._stale.add(item)
        if len(self._stale) * 2 > len(self._heap):
            self._heap = [item for item in self._heap if item not in self._stale]
            heapify(self._heap)
            self._stale.clear()

    def some(self, start: int, end: int) -> list[bytes]:
        """Items by their present places, in no order; those that are no longer valid are missing. O(end - start)."""
        return [item for item in self._heap[start:end] if item not in self._stale]

    def _key(self, item: bytes) -> int:
        return hash(path_in(without_loss(item, by_quality=self._by_quality)[0])) & _HASH
