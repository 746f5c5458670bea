"""A priority queue of objects whose priority changes: a heap whose stale items are skipped."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Generic, Protocol, TypeVar

#: (key, arrival, object): the smallest key comes first, ties in order of arrival.
HeapItem = tuple[float, int, object]


class HasHeapItem(Protocol):
    """What can be queued: it remembers its current item, which makes all its older ones stale."""

    heap_item: HeapItem | None


T = TypeVar("T", bound=HasHeapItem)

#: Rebuild once stale items outnumber the others by this many.
STALE_SLACK = 64


class LazyHeap(Generic[T]):
    """Objects by key, smallest first.

    An object is in one heap at a time.  ``push``, ``pop``, ``peek`` and ``remove`` are O(log n) amortised:
    a removed or moved object leaves a stale item behind, skipped when it comes to the top and swept
    away when half of the heap is stale.
    """

    __slots__ = ("_arrivals", "_heap", "_live")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, T]] = []
        self._live = 0
        self._arrivals = 0

    def __len__(self) -> int:
        return self._live

    def push(self, value: T, key: float) -> None:
        """Queue ``value``, which must not be queued anywhere."""
        self._insert(value, key)
        self._live += 1

    def rekey(self, value: T, key: float) -> None:
        """Move ``value``, which must be in this heap, to ``key``; an unchanged key keeps its place among equals."""
        item = value.heap_item
        assert item is not None
        if item[0] != key:
            self._insert(value, key)
            if len(self._heap) > 2 * self._live + STALE_SLACK:
                self._sweep()

    def remove(self, value: T) -> None:
        """Take ``value``, which must be in this heap, out of it."""
        value.heap_item = None
        self._live -= 1
        if len(self._heap) > 2 * self._live + STALE_SLACK:
            self._sweep()

    def peek(self) -> T | None:
        """The value with the smallest key, or None."""
        heap = self._heap
        while heap:
            if heap[0][2].heap_item is heap[0]:
                return heap[0][2]
            heappop(heap)
        return None

    def first_key(self) -> float | None:
        """The smallest key, or None."""
        return None if self.peek() is None else self._heap[0][0]

    def pop(self) -> T | None:
        """Remove and return the value with the smallest key, or None."""
        value = self.peek()
        if value is not None:
            heappop(self._heap)
            value.heap_item = None
            self._live -= 1
        return value

    def pop_due(self, now: float) -> T | None:
        """``pop`` if the smallest key is not above ``now``, else None."""
        key = self.first_key()
        return self.pop() if key is not None and key <= now else None

    def first(self, count: int) -> list[T]:
        """The ``count`` values with the smallest keys, in order. O(n log n) in those and the stale items among them."""
        heap = self._heap
        found: list[T] = []
        near = [(heap[0], 0)] if heap else []  # items whose parents have been seen
        while near and len(found) < count:
            item, at = heappop(near)
            if item[2].heap_item is item:
                found.append(item[2])
            for child in range(2 * at + 1, min(2 * at + 3, len(heap))):
                heappush(near, (heap[child], child))
        return found

    def _insert(self, value: T, key: float) -> None:
        self._arrivals += 1  # unique, so that values are never compared
        item = (key, self._arrivals, value)
        value.heap_item = item
        heappush(self._heap, item)

    def _sweep(self) -> None:
        self._heap = [item for item in self._heap if item[2].heap_item is item]
        heapify(self._heap)

    def values(self) -> list[T]:
        """The values in no order. O(n); for reports and tests."""
        return [item[2] for item in self._heap if item[2].heap_item is item]
