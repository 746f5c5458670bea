"""When an outage is suspected, who is asked, and how many files a process may open."""

import subprocess
import sys
from itertools import islice

import pytest

from crawlproject.download.outages import ASKED, FEW, MAX_ASKED, OTHERS, REMEMBERED, Route


async def probe(key: str, address: str | None) -> bool:
    raise NotImplementedError


def route(known: int, least: int = 3) -> Route:
    """A way out by which ``known`` servers have answered, in order."""
    made = Route("no server can be reached", least, probe)
    for number in range(known):
        made.answered(f"known{number}", f"10.0.0.{number}")
    return made


def test_an_outage_is_suspected_after_failures_in_a_row() -> None:
    """Also of one server, if no other is left; an answer sets the count back."""
    tried = route(known=ASKED)
    assert [tried.failed() for _ in range(3)] == [False, False, True]
    tried.answered("known0", "10.0.0.0")
    assert [tried.failed() for _ in range(2)] == [False, False]


def test_nothing_is_suspected_while_too_few_have_answered() -> None:
    """There would be nobody to ask."""
    tried = route(known=ASKED - 1)
    assert not any(tried.failed() for _ in range(100))


def test_after_a_false_alarm_twice_as_many_must_fail() -> None:
    """Until one answers."""
    tried = route(known=ASKED)
    assert [tried.failed() for _ in range(3)][-1]
    tried.refuted()
    assert [tried.failed() for _ in range(6)] == [False] * 5 + [True]
    tried.answered("known0", "10.0.0.0")
    assert [tried.failed() for _ in range(3)][-1]


@pytest.mark.parametrize("known", [ASKED, ASKED + 1, 100, REMEMBERED + 5])
def test_those_that_answered_last_are_asked_first_then_any(known: int) -> None:
    """Of those remembered, none twice in one round."""
    rounds = [[key for key, _ in asked] for asked in islice(route(known).rounds(), 1000)]
    assert rounds[0] == [f"known{known - 1 - number}" for number in range(ASKED)]
    assert all(len(set(asked)) == len(asked) <= MAX_ASKED for asked in rounds)
    assert {key for asked in rounds for key in asked} == {f"known{n}" for n in range(known)[-REMEMBERED:]}


@pytest.mark.parametrize(
    ("soft", "hard", "sessions", "affordable", "limit"),
    [
        (64 + OTHERS, 2000, 64, 64, 64 + OTHERS),
        (256, 2000, 64, 64, 64 + OTHERS),
        (256, 2000, 1000, 1000, 1000 + OTHERS),
        (256, 1000, 1000, (1000 - FEW) // 2, 1000),
        (40, 40, 64, 1, 40),
    ],
)
def test_the_limit_on_open_files_is_raised_and_else_respected(
    soft: int, hard: int, sessions: int, affordable: int, limit: int
) -> None:
    """In a process with these limits."""
    code = (
        f"import resource as r; r.setrlimit(r.RLIMIT_NOFILE, ({soft}, {hard}))\n"
        f"from crawlproject.download.outages import affordable_sessions as a\n"
        f"print(a({sessions}), r.getrlimit(r.RLIMIT_NOFILE)[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(affordable), str(limit)]
