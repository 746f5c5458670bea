"""A priority queue of objects whose priority changes: a heap whose stale items are skipped."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Generic, Protocol, TypeVar

#: (key, arrival): the smallest key comes first, ties in order of arrival.
HeapItem = tuple[float, int]


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

    Items hold numbers only, and a dict the objects: Python's garbage collector does not watch tuples of numbers. Those
    that hold an object it does, and each one that outlives its youngest generation brings the next walk through all
    URLs nearer.
    """

    __slots__ = ("_arrivals", "_heap", "_values")

    def __init__(self) -> None:
        self._heap: list[HeapItem] = []
        self._values: dict[int, T] = {}  # by arrival; those of stale items are not in it
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._values)

    def push(self, value: T, key: float) -> None:
        """Queue ``value``, which must not be queued anywhere."""
        self._arrivals = arrival = self._arrivals + 1  # unique, so that equal keys leave in the order they came
        value.heap_item = item = (key, arrival)
        self._values[arrival] = value
        heappush(self._heap, item)

    def rekey(self, value: T, key: float) -> None:
        """Move ``value``, which must be in this heap, to ``key``; an unchanged key keeps its place among equals."""
        item = value.heap_item
        assert item is not None
        if item[0] != key:
            del self._values[item[1]]
            self._arrivals = arrival = self._arrivals + 1
            value.heap_item = item = (key, arrival)
            self._values[arrival] = value
            heappush(self._heap, item)
            if len(self._heap) > 2 * len(self._values) + STALE_SLACK:
                self._sweep()

    def remove(self, value: T) -> None:
        """Take ``value``, which must be in this heap, out of it."""
        item = value.heap_item
        assert item is not None
        del self._values[item[1]]
        value.heap_item = None
        if len(self._heap) > 2 * len(self._values) + STALE_SLACK:
            self._sweep()

    def peek(self) -> T | None:
        """The value with the smallest key, or None."""
        heap, values = self._heap, self._values
        while heap:
            value = values.get(heap[0][1])
            if value is not None:
                return value
            heappop(heap)
        return None

    def first_key(self) -> float | None:
        """The smallest key, or None."""
        return self._heap[0][0] if self._heap and self.peek() is not None else None

    def pop(self) -> T | None:
        """Remove and return the value with the smallest key, or None."""
        value = self.peek()
        if value is not None:
            del self._values[heappop(self._heap)[1]]
            value.heap_item = None
        return value

    def pop_due(self, now: float) -> T | None:
        """``pop`` if the smallest key is not above ``now``, else None."""
        heap = self._heap
        if not heap or heap[0][0] > now:  # stale or not, no other has a smaller key
            return None
        return self.pop() if self.peek() is not None and heap[0][0] <= now else None

    def first(self, count: int) -> list[T]:
        """The ``count`` values with the smallest keys, in order. O(n log n) in those and the stale items among them."""
        heap = self._heap
        found: list[T] = []
        near = [(heap[0], 0)] if heap else []  # items whose parents have been seen
        while near and len(found) < count:
            item, at = heappop(near)
            value = self._values.get(item[1])
            if value is not None:
                found.append(value)
            for child in range(2 * at + 1, min(2 * at + 3, len(heap))):
                heappush(near, (heap[child], child))
        return found

    def values(self) -> list[T]:
        """The values in no order. O(n)."""
        return list(self._values.values())

    def about_first(self, count: int) -> list[T]:
        """``count`` values, or all: about those with the smallest keys, about in order. O(count), stale ones included.

        Those at the top of a heap: each has a smaller key than the two below it.
        """
        arrivals = (item[1] for item in self._heap if item[1] in self._values)
        return [self._values[arrival] for arrival in islice(arrivals, count)]

    def _sweep(self) -> None:
        self._heap = [item for item in self._heap if item[1] in self._values]
        heapify(self._heap)
