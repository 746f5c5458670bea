"""One contract for all exact stores. Add a new store to ``stores.STORES``."""

from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import given, settings

from crawlproject.seen.seen_set import ExactStore

from .conftest import BATCHES, PROPERTY, hashed, model_answers
from .stores import STORES

FEWER = settings(PROPERTY, max_examples=20)  # to open a database takes time
ON_DISK = [name for name in STORES if name.startswith("disk")]


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[ExactStore]:
    with STORES[request.param]() as store:
        yield store


@pytest.mark.parametrize("name", sorted(STORES.keys() - set(ON_DISK)))
@PROPERTY
@given(batches=BATCHES)
def test_batches_are_answered_as_by_a_set(name: str, batches: list[list[int]]) -> None:
    """In order; within a batch, the first of equal keys is new."""
    with STORES[name]() as store:
        answers_as_a_set(store, batches)


@pytest.mark.parametrize("name", ON_DISK)
@FEWER
@given(batches=BATCHES)
def test_batches_are_answered_as_by_a_set_from_disk(name: str, batches: list[list[int]]) -> None:
    """The same, tried with fewer examples."""
    with STORES[name]() as store:
        answers_as_a_set(store, batches)


def answers_as_a_set(store: ExactStore, batches: list[list[int]]) -> None:
    """Assert that the empty ``store`` answers like a set."""
    assert [store.add_new(batch) for batch in batches] == model_answers(batches)
    keys = list(chain.from_iterable(batches))
    assert store.contains(keys) == [True] * len(keys)
    assert len(store) == len(set(keys))
    assert sorted(store) == sorted(set(keys))


def test_empty_store_contains_nothing(store: ExactStore) -> None:
    """Not even 0."""
    assert store.contains([0, 1, 2**64 - 1]) == [False] * 3
    assert len(store) == 0
    assert list(store) == []
    assert store.add_new([]) == []


def test_known_new_keys_are_there_when_added(store: ExactStore) -> None:
    """``add`` returns no answers, but later answers include its keys."""
    store.add([0, 5])
    assert store.contains([5, 6, 0]) == [True, False, True]
    assert store.add_new([0, 6, 5]) == [False, True, False]
    assert len(store) == 3


def test_asking_adds_nothing(store: ExactStore) -> None:
    """``contains`` changes nothing."""
    store.contains([7])
    assert store.add_new([7]) == [True]


def test_many_keys(store: ExactStore) -> None:
    """Enough keys to make it grow."""
    keys = [hashed(number) for number in range(2_000)]
    for start in range(0, len(keys), 60):
        assert all(store.add_new(keys[start : start + 60]))
    assert not any(store.add_new(keys))
    assert not any(store.contains([hashed(number) for number in range(2_000, 3_000)]))
