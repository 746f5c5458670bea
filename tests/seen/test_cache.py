"""URL caches: one contract for all, a model and a hand-traced example for each policy."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.seen import ClockCache, LruCache, RandomCache, StaticCache, UrlCache

from .conftest import PROPERTY

CACHES: dict[str, Callable[[int], UrlCache]] = {
    "lru": LruCache,
    "clock": ClockCache,
    "random": RandomCache,
    "random, other seed": lambda size: RandomCache(size, seed=2**70 + 5),
    "static": lambda size: StaticCache(range(size)),
}
EVICTING = [name for name in CACHES if name != "static"]
REQUESTS = st.lists(st.integers(0, 15), max_size=120)
A, B, C, D, E = range(5)


def answers(cache: UrlCache, requests: list[int]) -> str:
    """+ for each hit, - for each miss."""
    return "".join("+" if cache.add(key) else "-" for key in requests)


@pytest.mark.parametrize("name", CACHES)
@PROPERTY
@given(requests=REQUESTS, size=st.integers(1, 9))
def test_hit_means_added_before(name: str, requests: list[int], size: int) -> None:
    """A hit is a cached key, and only added keys are cached; the size is bounded; hits are counted."""
    cache = CACHES[name](size)
    added: set[int] = set()
    hits = 0
    for key in requests:
        held = key in cache
        hit = cache.add(key)
        assert hit == held
        assert not hit or key in added
        hits += hit
        added.add(key)
        assert len(cache) == sum(key in cache for key in range(16)) <= size
    assert cache.hits == hits


@pytest.mark.parametrize("name", EVICTING)
@PROPERTY
@given(requests=REQUESTS, size=st.integers(1, 9))
def test_evicting_caches_are_full_and_hold_the_last(name: str, requests: list[int], size: int) -> None:
    """An added key is cached; nothing is evicted before the cache is full."""
    cache = CACHES[name](size)
    for number, key in enumerate(requests, 1):
        cache.add(key)
        assert key in cache
        assert len(cache) == min(size, len(set(requests[:number])))


@pytest.mark.parametrize("name", CACHES)
def test_clear_forgets_all(name: str) -> None:
    """Afterwards the cache is like new, except for its count of hits."""
    cache = CACHES[name](3)
    requests = [A, B, C, A, D, E, B, A]
    first = answers(cache, requests)
    hits = cache.hits
    cache.clear()
    assert len(cache) == 0
    assert not any(key in cache for key in range(5))
    if "random" not in name:
        assert answers(cache, requests) == first
        assert cache.hits == 2 * hits


@pytest.mark.parametrize("name", CACHES)
def test_size_must_be_positive(name: str) -> None:
    """A cache of size 0 is refused."""
    with pytest.raises(ValueError, match="size of at least 1, not 0"):
        CACHES[name](0)


@PROPERTY
@given(requests=REQUESTS, size=st.integers(1, 9))
def test_lru_behaves_like_a_list(requests: list[int], size: int) -> None:
    """It evicts the least recently used key."""
    cache = LruCache(size)
    recent: list[int] = []
    for key in requests:
        assert cache.add(key) == (key in recent)
        recent = [key, *(other for other in recent if other != key)][:size]


def test_lru_by_hand() -> None:
    """A is used again, so C evicts B, B evicts A, and A is a miss."""
    assert answers(LruCache(2), [A, B, A, C, B, A]) == "--+---"


@PROPERTY
@given(requests=REQUESTS, size=st.integers(1, 9))
def test_clock_behaves_like_a_circle(requests: list[int], size: int) -> None:
    """The paper's description, word for word: mark bits in a circle, and a hand."""
    cache = ClockCache(size)
    circle: list[int | None] = [None] * size
    marks = [False] * size
    hand = 0
    for key in requests:
        assert cache.add(key) == (key in circle)
        if key in circle:
            marks[circle.index(key)] = True
            continue
        while marks[hand]:
            marks[hand] = False
            hand = (hand + 1) % size
        circle[hand] = key
        hand = (hand + 1) % size


def test_clock_by_hand() -> None:
    """Three places ABC; A and B are used again and marked.

    D: the hand clears the marks of A and B and evicts C.  E: the hand is at A, now unmarked, and evicts it.
    A is a miss and evicts B; D is still cached, C is not.
    """
    assert answers(ClockCache(3), [A, B, C, A, B, D, E, A, D, C]) == "---++---+-"


def test_clock_with_all_marked_evicts_the_first() -> None:
    """The hand moves around once, back to its start."""
    cache = ClockCache(2)
    assert answers(cache, [A, B, A, B, C]) == "--++-"
    assert [key in cache for key in (A, B, C)] == [False, True, True]


def test_random_evicts_any_place() -> None:
    """Each of 4 places is evicted about as often: 4,000 draws of 4 are within 4 sigma (27) of 1,000."""
    cache = RandomCache(4)
    for key in range(4):
        cache.add(key)
    holders = list(range(4))
    evicted = [0] * 4
    for key in range(4, 4004):
        cache.add(key)
        (place,) = (place for place, holder in enumerate(holders) if holder not in cache)
        holders[place] = key
        evicted[place] += 1
    assert all(abs(count - 1000) < 110 for count in evicted)


def test_random_repeats_with_its_seed() -> None:
    """Runs are reproducible, and other seeds give other runs."""
    requests = [n * n % 31 for n in range(500)]
    runs = [answers(RandomCache(8, seed), requests) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_static_by_hand() -> None:
    """A and B are chosen: a hit from their second request on; C never is, and evicts nothing."""
    cache = StaticCache([A, B, A])
    assert cache.size == 2
    assert answers(cache, [C, A, C, A, B, C, B, A]) == "---+--++"
