"""The URL cache: what holds for any cache, a model, a hand-traced example."""

from hypothesis import given
from hypothesis import strategies as st

from crawlproject.seen.cache import ClockCache

from .conftest import PROPERTY

REQUESTS = st.lists(st.integers(0, 15), max_size=120)
A, B, C, D, E = range(5)


def answers(cache: ClockCache, requests: list[int]) -> str:
    """+ for each hit, - for each miss."""
    return "".join("+" if cache.add(key) else "-" for key in requests)


@PROPERTY
@given(requests=REQUESTS, size=st.integers(1, 9))
def test_hit_means_added_before(requests: list[int], size: int) -> None:
    """A hit is a cached key, and only added keys are cached; the size is bounded; hits are counted."""
    cache = ClockCache(size)
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


@PROPERTY
@given(requests=REQUESTS, size=st.integers(1, 9))
def test_cache_is_full_and_holds_the_last(requests: list[int], size: int) -> None:
    """An added key is cached; nothing is evicted before the cache is full."""
    cache = ClockCache(size)
    for number, key in enumerate(requests, 1):
        cache.add(key)
        assert key in cache
        assert len(cache) == min(size, len(set(requests[:number])))


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
