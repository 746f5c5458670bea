"""The combined seen-set: exact with any parts before its store."""

from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.seen.bloom import BloomSeenSet
from crawlproject.seen.cache import ClockCache
from crawlproject.seen.seen_set import SeenSet

from .conftest import BATCHES, PROPERTY, hashed, model_answers
from .stores import ListStore


def caches() -> st.SearchStrategy[ClockCache | None]:
    """With very small sizes, or none."""
    return st.one_of(st.none(), st.builds(ClockCache, st.integers(1, 6)))


@PROPERTY
@given(batches=BATCHES, cache=caches())
def test_exact_whatever_stands_before_the_store(batches: list[list[int]], cache: ClockCache | None) -> None:
    """Never new twice, never seen at first; every test is counted once."""
    store = ListStore()
    seen = SeenSet(store, cache=cache)
    assert [seen.add_new(batch) for batch in batches] == model_answers(batches)
    keys = list(chain.from_iterable(batches))
    assert all(key in seen for key in keys)
    assert len(seen) == len(set(keys))
    counts = seen.counts()
    assert counts.pop("urls") == len(store)
    assert counts["store_lookups"] == len(store.asked)
    assert sum(counts.values()) == len(keys)


def test_the_cache_answers_for_the_store() -> None:
    """Recently seen: the cache. New, or seen long ago: the store."""
    store = ListStore()
    seen = SeenSet(store, cache=ClockCache(2))
    assert seen.add_new([1, 2, 2, 3]) == [True, True, False, True]
    assert (store.keys, store.asked) == ([1, 2, 3], [1, 2, 3])
    assert seen.add_new([3, 1]) == [False, False]
    assert store.asked == [1, 2, 3, 1]
    assert seen.counts() == {"urls": 3, "cache_hits": 2, "store_lookups": 4}


@PROPERTY
@given(batches=BATCHES, cache=caches())
def test_urls_are_answered_as_their_keys(batches: list[list[int]], cache: ClockCache | None) -> None:
    """Whichever of both is asked; two URLs with one key are one page, whether or not they are cached."""
    seen = SeenSet(ListStore(), cache=cache)
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

    seen = SeenSet(ListStore(), cache=ClockCache(9))
    assert seen.add_new_named(["1", "2", "1"], keys_of) == [True, True, False]
    assert seen.add_new_named(["2", "3"], keys_of) == [False, True]
    assert asked == ["1", "2", "3"]


def test_failing_store_makes_no_key_seen() -> None:
    """Keys that could not be stored are new the next time."""
    store = ListStore()
    seen = SeenSet(store, cache=ClockCache(100))
    seen.add_new([1])
    store.fails = True
    with pytest.raises(OSError, match="disk full"):
        seen.add_new([1, 2, 3])
    store.fails = False
    assert seen.add_new([1, 2, 3]) == [False, True, True]


@PROPERTY
@given(batches=BATCHES)
def test_bloom_alone_is_never_new_twice(batches: list[list[int]]) -> None:
    """It loses URLs but fetches none twice; a good one, as here, loses none."""
    for seen, is_exact in ((BloomSeenSet(2, 0.9), False), (BloomSeenSet(1_000, 1e-9), True)):
        answers = [seen.add_new(batch) for batch in batches]
        for answer, right in zip(chain(*answers), chain(*model_answers(batches)), strict=True):
            assert answer == right or (right and not is_exact)
        assert len(seen) == sum(map(sum, answers))
        assert all(key in seen for key in chain(*batches))


def test_bloom_alone_knows_how_many_it_loses() -> None:
    """20,000 URLs, each found three times, into a filter that loses one in 30: the estimate is within 15%."""
    seen = BloomSeenSet(5_000, 0.3)
    new = 0
    for start in range(0, 20_000, 50):
        page = [hashed(number) for number in range(start, start + 50)]
        new += sum(sum(seen.add_new(page)) for _ in range(3))
    lost = 20_000 - new
    assert lost > 400
    assert seen.lost == pytest.approx(lost, rel=0.15)
    assert seen.counts() == {"urls": new, "lost": seen.lost, "loss_rate": seen.lost / (new + seen.lost)}


def test_bloom_alone_knows_again_what_it_lost() -> None:
    """Filled in the order of the earlier run it has the same size and error rate."""
    first = BloomSeenSet(100, 0.5)
    keys = [hashed(number) for number in range(1_000)]
    found = [key for key in keys if first.add_new([key])[0]]
    again = BloomSeenSet(100, 0.5)
    again.add_new(found)
    assert len(again) == len(first) < 1_000
    assert not any(again.add_new(keys))
    assert BloomSeenSet(1, 0.5).counts() == {"urls": 0, "lost": 0.0, "loss_rate": 0.0}
