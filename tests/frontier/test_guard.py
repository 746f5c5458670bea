"""What the guard delays, and what it drops."""

from __future__ import annotations

import json
from collections.abc import Callable

from crawlproject.frontier.guard.far import UP, End
from crawlproject.frontier.guard.patterns import GuardLimits, Pattern
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
