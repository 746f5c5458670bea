"""A server's URLs beyond the best: a heap, with an index if qualities rise."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

#: A URL in the heap: (first sort key, second sort key, path or URL, depth, payload).
Item = tuple[float, float, str, int, Any]


class ItemHeap:
    """Items, smallest first; no two have the same two sort keys.

    A removed item stays in the heap as a stale one; stale items are swept when half of the heap is stale.
    """

    __slots__ = ("_by_path", "_heap", "_stale")

    def __init__(self, items: list[Item]) -> None:
        """Takes over the sorted ``items``."""
        self._heap = items  # sorted, so a heap already
        self._stale: set[tuple[float, float]] = set()  # sort keys of items that are no longer valid
        self._by_path: dict[str, Item] | None = None  # the valid items, from the first ``find`` on

    def __len__(self) -> int:
        return len(self._heap) - len(self._stale)

    def push(self, item: Item) -> None:
        """Add an item. O(log n)."""
        heappush(self._heap, item)
        if self._by_path is not None:
            self._by_path[item[2]] = item

    def extend(self, items: list[Item]) -> None:
        """Add ``items``. O(log n) each, or O(n) in all if they are many."""
        if len(items) * 8 > len(self._heap):
            self._heap += items
            heapify(self._heap)
        else:
            for item in items:
                heappush(self._heap, item)
        if self._by_path is not None:
            self._by_path.update((item[2], item) for item in items)

    def pop(self) -> Item:
        """Remove and return the smallest item. O(log n) amortised; raises IndexError if there is none."""
        item = heappop(self._heap)
        while self._stale and item[:2] in self._stale:
            self._stale.discard(item[:2])
            item = heappop(self._heap)
        if self._by_path is not None and self._by_path.get(item[2]) is item:
            del self._by_path[item[2]]
        return item

    def find(self, path: str) -> Item | None:
        """The item of ``path``. O(1); the first call is O(n) and builds an index of about 100 bytes per item."""
        if self._by_path is None:
            self._by_path = {item[2]: item for item in self._heap if item[:2] not in self._stale}
        return self._by_path.get(path)

    def remove(self, item: Item) -> None:
        """Remove an ``item`` that ``find`` returned. O(1) amortised."""
        if self._by_path is not None:
            del self._by_path[item[2]]
        self._stale.add(item[:2])
        if len(self._stale) * 2 > len(self._heap):
            self._heap = [item for item in self._heap if item[:2] not in self._stale]
            heapify(self._heap)
            self._stale.clear()

    def check(self, before: Item) -> None:
        """Assert every invariant, and that all items come after ``before``. O(n); for tests."""
        heap = self._heap
        valid = [item for item in heap if item[:2] not in self._stale]
        assert len(valid) == len(self)
        assert all(before < item for item in valid)
        assert all(heap[(i - 1) // 2] < heap[i] for i in range(1, len(heap))), "not a heap"
        if self._by_path is not None:
            assert {id(item) for item in self._by_path.values()} <= {id(item) for item in valid}
            assert all(path == item[2] for path, item in self._by_path.items())
