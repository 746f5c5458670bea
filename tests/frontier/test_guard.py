"""What the guard delays, and what it drops."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from crawlproject.frontier.guard.far import DOWN, UP, End
from crawlproject.frontier.guard.patterns import MAX_PATTERNS, GuardLimits, Pattern
from crawlproject.frontier.guard.server_guard import ServerGuard
from crawlproject.frontier.state import StateReader
from tests.frontier.guard_walk import Shown, Walk

SITE = "http://a.example"
LIMITS = GuardLimits()


def chain(
    length: int | None,
    text: Callable[[int], str] = lambda _: "nothing here",
    far: Callable[[int], bool] = lambda _: True,
) -> Callable[[str], Shown | None]:
    """A chain of pages ``/p/N``, without end if ``length`` is None; ``far``: whether a page beyond a million exists."""

    def page_of(url: str) -> Shown | None:
        path = url.removeprefix(SITE)
        if path == "/":
            return Shown([SITE + "/p/1"], text="welcome to all of you, this is the start")
        number = int(path.rpartition("/")[2])
        if (length is not None and number > length) or (number > 10**6 and not far(number)):
            return None
        return Shown([f"{SITE}/p/{number + 1}"], text=text(number))

    return page_of


def walk(page_of: Callable[[str], Shown | None], limits: GuardLimits = LIMITS, most: int = 1500) -> Walk:
    """A walk from the start."""
    return Walk([SITE + "/"], page_of, limits, most=most)


#: Without the rule for a server that shows nothing new on many waiting pages.
PATIENT = GuardLimits(max_waiting=0)


def test_equal_pages_with_an_end_are_fetched_whole() -> None:
    """With the default limits."""
    assert len(walk(chain(600)).fetched) == 601


def test_sameness_alone_drops_nothing() -> None:
    """A finite chain of equal pages is fetched whole."""
    done = walk(chain(600), PATIENT)
    assert len(done.fetched) == 601
    assert done.dropped == []
    assert done.asked


def test_a_chain_without_end_is_dropped() -> None:
    """Once the server was shown to lead on from a far address, and pages show nothing new."""
    done = walk(chain(None))
    assert len(done.fetched) <= LIMITS.max_same + 5
    assert done.dropped


def test_news_begins_the_count_again() -> None:
    """A gap shorter than ``max_same`` loses nothing, however long the chain is."""
    gap = LIMITS.max_same - 10

    def text(number: int) -> str:
        letter = "abcdefghijklmnopqrst"[(number + number // gap) % 20]
        names = " ".join(letter * length for length in range(4, 12))
        return f"event about {names}" * (number % gap == 0 or number in (1, 2))

    assert len(walk(chain(None, text), most=10 * gap).fetched) > 9 * gap


def test_without_probes_nothing_is_dropped() -> None:
    """The pages wait instead."""
    done = walk(chain(None), GuardLimits(asks=False, max_waiting=0))
    assert (done.asked, done.dropped) == ([], [])
    assert done.requests == 1500


def test_a_server_without_far_pages_has_an_end() -> None:
    """Each far address is asked for once."""
    done = walk(chain(700, far=lambda _: False), PATIENT)
    assert len(done.fetched) == 701
    assert len(done.asked) == len(set(done.asked)) <= 4


def test_a_question_on_its_way_is_asked_again_after_a_restart() -> None:
    """Its answer is lost with the process."""
    pattern = Pattern("/p/#", dry=3, same=3, end=End.ASKED, asked=UP)
    back = Pattern.from_state(json.loads(json.dumps(pattern.to_state())))
    assert (back.end, back.asked) == (End.UNKNOWN, 0)
    assert back.wants_far(grows=False)


@pytest.mark.parametrize("end", [End.UNKNOWN, End.FINITE, End.ENDLESS, End.OPEN])
def test_a_doubt_outlives_the_process(end: End) -> None:
    """With all that was counted, and the marks."""
    pattern = Pattern("/p/#", 1, 2, 3, 4, 5, 6, 7, 8, end)
    pattern.asked, pattern.asked_again, pattern.grown, pattern.noise = DOWN, True, 3, frozenset({5, 2**32 - 1})
    pattern.difference(frozenset(range(50)))
    pattern.difference(frozenset(range(20, 80)))
    guard = ServerGuard()
    guard.patterns["/p/#"] = pattern
    state = json.loads(json.dumps(guard.to_state()))
    back = ServerGuard.from_state(StateReader("guard", state))
    assert back.patterns == guard.patterns
    assert back.to_state() == guard.to_state()


BAD = [None, {}, [], "", "x", -1, 1.5, [[]], [None], {"a": 1}, ["AAA"], 10**30]


@pytest.mark.parametrize("place", range(len(Pattern("/p/#").to_state())))
def test_a_damaged_pattern_is_a_value_error(place: int) -> None:
    """And nothing else."""
    for bad in BAD:
        row = Pattern("/p/#").to_state()
        row[place] = bad
        try:
            Pattern.from_state(row)
        except ValueError:
            continue


def test_memory_of_a_damaged_store_is_bounded() -> None:
    """By the limits of a running guard."""
    rows = [Pattern(f"/p{number}/#").to_state() for number in range(500)]
    names = [f"/{number}" for number in range(500)]
    state = {"patterns": rows, "dropped": names, "closed": [[name, 1] for name in names]}
    guard = ServerGuard.from_state(StateReader("guard", state))
    assert len(guard.patterns) == len(guard.spent) == len(guard.closed) == MAX_PATTERNS
