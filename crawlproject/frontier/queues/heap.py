"""A priority queue of objects whose priorities change: a heap that skips stale items."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count, islice
from typing import Generic, Protocol, TypeVar

#: (key, arrival, slot): the smallest key comes first, ties in order of arrival; the slot holds the queued object.
HeapItem = tuple[float, int, int]

#: The next arrival; one counter for all heaps, so that objects of two heaps can be compared.
_next_arrival = count(1).__next__


class HasHeapItem(Protocol):
    """A queueable object: it remembers its current item; all its older items are stale."""

    heap_item: HeapItem | None


T = TypeVar("T", bound=HasHeapItem)

#: Sweep when stale items outnumber the others by this many.
STALE_SLACK = 64


class LazyHeap(Generic[T]):
    """Objects by key, smallest first.

    An object is in one heap at a time.  ``push``, ``pop``, ``peek`` and ``remove`` are O(log n) amortised: a removed or
    moved object leaves a stale item, which is skipped at the top.  When half of the heap is stale, it is swept.

    Items hold only numbers, slots hold the objects.  Python's garbage collector does not track tuples of numbers; each
    surviving tuple that holds an object would bring its next full pass over all URLs nearer.
    """

    __slots__ = ("_free", "_heap", "_slots")

    def __init__(self) -> None:
        self._heap: list[HeapItem] = []
        self._slots: list[T | None] = []
        self._free: list[int] = []  # slots

    def __len__(self) -> int:
        return len(self._slots) - len(self._free)

    def push(self, value: T, key: float, arrival: int | None = None) -> None:
        """Queue ``value``, which must not be queued anywhere; with an earlier ``arrival``, as if it had come then."""
        if self._free:
            slot = self._free.pop()
            self._slots[slot] = value
        else:
            slot = len(self._slots)
            self._slots.append(value)
        self._push(value, key, slot, arrival)

    def rekey(self, value: T, key: float) -> None:
        """Move ``value``, which must be in this heap, to ``key``; an unchanged key keeps its place among equals."""
        item = value.heap_item
        assert item is not None
        if item[0] != key:
            self._push(value, key, item[2])

    def remove(self, value: T) -> None:
        """Remove ``value``, which must be in this heap."""
        item = value.heap_item
        assert item is not None
        self._vacate(item[2])

    def peek(self) -> T | None:
        """The value with the smallest key, or None."""
        heap, slots = self._heap, self._slots
        while heap:
            item = heap[0]
            value = slots[item[2]]
            if value is not None and value.heap_item is item:
                return value
            heappop(heap)
        return None

    def first_key(self) -> float | None:
        """The smallest key, or None."""
        value = self.peek()
        return None if value is None or value.heap_item is None else value.heap_item[0]

    def pop(self) -> T | None:
        """Remove and return the value with the smallest key, or None."""
        value = self.peek()
        if value is not None:
            self._vacate(heappop(self._heap)[2])
        return value

    def pop_due(self, now: float) -> T | None:
        """``pop`` if the smallest key is at most ``now``, else None."""
        if not self._heap or self._heap[0][0] > now:
            return None  # even if this item is stale, no other has a smaller key
        key = self.first_key()
        return self.pop() if key is not None and key <= now else None

    def values(self) -> list[T]:
        """The values in no order. O(largest size so far)."""
        return [value for value in self._slots if value is not None]

    def about_first(self, count: int) -> list[T]:
        """The value with the smallest key, then roughly the next ones, ``count`` in all. O(count), with stale items.

        They are the top of the heap: each key is smaller than the two below it.
        """
        self.peek()  # removes stale items from the top
        values = map(self._value, self._heap)
        return list(islice((value for value in values if value is not None), count))

    def _push(self, value: T, key: float, slot: int, arrival: int | None = None) -> None:
        value.heap_item = item = (key, _next_arrival() if arrival is None else arrival, slot)
        heappush(self._heap, item)
        if len(self._heap) > 2 * len(self) + STALE_SLACK:
            self._heap = [item for item in self._heap if self._value(item) is not None]
            heapify(self._heap)

    def _value(self, item: HeapItem) -> T | None:
        value = self._slots[item[2]]
        return value if value is not None and value.heap_item is item else None

    def _vacate(self, slot: int) -> None:
        value = self._slots[slot]
        assert value is not None
        value.heap_item = None
        self._slots[slot] = None
        self._free.append(slot)
