"""A server's URLs beyond the best: a heap, with an index if qualities rise."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from crawlproject.frontier.queues.packed_url import path_in, without_loss

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
