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
