"""The seen-set in memory: its answers, its tables and its memory. For that on disk see ``storage/test_seen.py``."""

import sys
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.seen.exact import TABLES, MemorySeenSet, room_in

from .conftest import BATCHES, PROPERTY, hashed, model_answers


def size_of(seen: MemorySeenSet) -> int:
    lists = sys.getsizeof(seen._tables) + sys.getsizeof(seen._room)
    return sys.getsizeof(seen) + lists + sum(map(sys.getsizeof, seen._tables))


#: Bytes of a set before its first key: 256 tables of 16 slots and their heads.
EMPTY = size_of(MemorySeenSet())


def check(seen: MemorySeenSet) -> None:
    """Assert the invariants: keys in their tables, loads within bounds, counts right."""
    total = int(seen._has_zero)
    for number, table in enumerate(seen._tables):
        keys = [key for key in table if key]
        assert all(key % TABLES == number for key in keys)
        assert len(set(keys)) == len(keys)
        assert seen._room[number] == room_in(len(table)) - len(keys) > 0
        total += len(keys)
    assert total == seen._length


@PROPERTY
@given(batches=BATCHES)
def test_batches_are_answered_as_by_a_set(batches: list[list[int]]) -> None:
    """In order; within a batch, the first of equal keys is new. Every key is in its table, counts are right."""
    seen = MemorySeenSet()
    for batch, right in zip(batches, model_answers(batches), strict=True):
        assert seen.add_new(batch) == right
        check(seen)
    keys = list(chain.from_iterable(batches))
    assert seen.contains(keys) == [True] * len(keys)
    assert len(seen) == len(set(keys))
    assert sorted(seen) == sorted(set(keys))


def test_keys_added_as_new_are_there_and_asking_adds_none() -> None:
    """Not even 0, in an empty set."""
    seen = MemorySeenSet()
    assert seen.contains([0, 1, 2**64 - 1]) == [False] * 3
    assert (list(seen), seen.add_new([])) == ([], [])
    seen.add([0, 5])
    assert seen.add_new([0, 6, 5, 1]) == [False, True, False, True]


@PROPERTY
@given(st.lists(st.integers(0, 200), max_size=200), st.sampled_from([0, 2**64 - TABLES * 201]))
def test_keys_that_all_want_one_place(numbers: list[int], start: int) -> None:
    """Keys of one table with equal high bits: slow but correct, also at the wrap-around."""
    seen = MemorySeenSet()
    keys = [start + TABLES * number for number in numbers]
    assert [seen.add_new([key])[0] for key in keys] == [key not in keys[:place] for place, key in enumerate(keys)]
    check(seen)


@pytest.mark.parametrize("key", [-1, 2**64])
def test_only_64_bits(key: int) -> None:
    """Any other key is refused, and the set is unchanged."""
    seen = MemorySeenSet()
    with pytest.raises((OverflowError, IndexError)):
        seen.add_new([key])
    assert len(seen) == 0
    check(seen)


def test_bytes_per_key_at_every_size() -> None:
    """At most 8 bytes / (4/5 / (4/3)) = 13.34 per key, plus the size of an empty set."""
    seen = MemorySeenSet()
    for number in range(40_000):
        seen.add_new((hashed(number),))
        if number % 101 == 0:
            assert size_of(seen) - EMPTY <= 13.34 * len(seen)
    check(seen)
