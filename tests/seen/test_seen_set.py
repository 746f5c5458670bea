"""The seen-set: exact with or without a cache before its store."""

from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.seen import ClockCache, SeenSet

from .conftest import BATCHES, PROPERTY, model_answers
from .stores import ListStore


def caches() -> st.SearchStrategy[ClockCache | None]:
    """With very small sizes, or none."""
    return st.one_of(st.none(), st.builds(ClockCache, st.integers(1, 6)))


@PROPERTY
@given(batches=BATCHES, cache=caches())
def test_exact_whatever_stands_before_the_store(batches: list[list[int]], cache: ClockCache | None) -> None:
    """Never new twice, never seen at first; every test is counted once."""
    store = ListStore()
    seen = SeenSet(store, cache)
    assert [seen.add_new(batch) for batch in batches] == model_answers(batches)
    keys = list(chain.from_iterable(batches))
    assert all(key in seen for key in keys)
    assert len(seen) == len(set(keys))
    counts = seen.counts()
    assert counts.pop("urls") == len(store)
    assert counts["store_lookups"] == len(store.asked)
    assert sum(counts.values()) == len(keys)


def test_each_part_answers_for_the_next() -> None:
    """Recently seen: the cache. New, or seen long ago: the store."""
    store = ListStore()
    seen = SeenSet(store, ClockCache(2))
    assert seen.add_new([1, 2, 2, 3]) == [True, True, False, True]
    assert store.asked == [1, 2, 3]
    assert seen.add_new([3, 1]) == [False, False]
    assert store.asked == [1, 2, 3, 1]
    assert seen.counts() == {"urls": 3, "cache_hits": 2, "store_lookups": 4}


def test_asking_adds_nothing() -> None:
    """``in`` reports added keys only."""
    seen = SeenSet(ListStore(), ClockCache(2))
    assert 5 not in seen
    assert seen.add_new([5]) == [True]
    assert 5 in seen


def test_store_of_an_earlier_run() -> None:
    """Its keys are not new, although the cache starts empty."""
    for cache in (None, ClockCache(9)):
        seen = SeenSet(ListStore([1, 2]), cache)
        assert seen.add_new([2, 3, 1]) == [False, True, False]


@PROPERTY
@given(batches=BATCHES, cache=caches())
def test_urls_are_answered_as_their_keys(batches: list[list[int]], cache: ClockCache | None) -> None:
    """Whichever of both is asked; two URLs with one key are one page, whether or not they are cached."""
    seen = SeenSet(ListStore(), cache)
    answers = []
    for number, batch in enumerate(batches):
        spelled = [f"{key}{'/' * (place % 2)}" for place, key in enumerate(batch)]
        answers.append(seen.add_new_named(spelled, numbers) if number % 3 else seen.add_new(batch))
    assert answers == model_answers(batches)


def numbers(urls: Sequence[str]) -> list[int]:
    """The keys of URLs that are numbers."""
    return [int(url.rstrip("/")) for url in urls]


def test_only_urls_that_are_not_cached_need_a_key() -> None:
    """A fingerprint costs more than a look-up in the cache."""
    asked: list[str] = []

    def keys_of(urls: Sequence[str]) -> list[int]:
        asked.extend(urls)
        return numbers(urls)

    seen = SeenSet(ListStore(), ClockCache(9))
    assert seen.add_new_named(["1", "2", "1"], keys_of) == [True, True, False]
    assert seen.add_new_named(["2", "3"], keys_of) == [False, True]
    assert asked == ["1", "2", "3"]


def test_failing_store_makes_no_key_seen() -> None:
    """Keys that could not be stored are new the next time."""
    store = ListStore()
    seen = SeenSet(store, ClockCache(100))
    seen.add_new([1])
    store.fails = True
    with pytest.raises(OSError, match="disk full"):
        seen.add_new([1, 2, 3])
    store.fails = False
    assert seen.add_new([1, 2, 3]) == [False, True, True]
