"""Servers that have never answered: they are admitted one by one, and cannot starve those that have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from crawlproject.frontier import BreadthFirst, Dispatcher, Entry, Frontier, Measurement, Politeness, QualityFirst
from crawlproject.frontier.frontier import MAX_NAME_FAILURES
from tests.frontier.invariants import check

if TYPE_CHECKING:
    from crawlproject.frontier.server import Session

NONE = Politeness(factor=0, min_delay=0, max_delay=0, min_backoff=1)


def new_frontier(max_failures: int = 10) -> Frontier:
    return Frontier(QualityFirst(), NONE, max_failures=max_failures, admits_newcomers=True)


def key(number: int) -> str:
    return f"http://{number}.example"


def push(frontier: Frontier, number: int, quality: float = 1.0, urls: int = 1) -> None:
    start = len(frontier)
    frontier.push(Entry(f"{key(number)}/{start + each}", quality) for each in range(urls))


def push_admitted(frontier: Frontier, number: int, quality: float = 1.0, urls: int = 1, now: float = 0.0) -> None:
    """Push URLs of a newcomer, which is then looked up and admitted."""
    push(frontier, number, quality, urls)
    frontier.ask_newcomer(now, 999)
    frontier.admit(key(number))


def answer(frontier: Frontier, server_key: str, now: float, *, failed: bool = False) -> None:
    frontier.record(Measurement(server_key, now, status=None if failed else 200, failed=failed))


def visit(frontier: Frontier, now: float, *, failed: bool = False) -> str:
    """Fetch one page in a session of the next server; returns the server's key."""
    session = frontier.open_session(now, 2)
    assert session is not None
    assert frontier.next_url(session, now) is not None
    answer(frontier, session.server.key, now, failed=failed)
    frontier.close_session(session, now)
    return session.server.key


def test_a_newcomer_gets_a_session_only_after_it_was_admitted() -> None:
    """It is asked for once, the best one first; from its first answer on it needs no admission."""
    frontier = new_frontier()
    push(frontier, 1, quality=1.0)
    push(frontier, 2, quality=5.0, urls=2)
    assert frontier.open_session(0.0) is None
    assert frontier.queue.first_due() is None
    assert [frontier.ask_newcomer(0.0, 9) for _ in range(3)] == [key(2), key(1), None]
    assert frontier.open_session(0.0) is None
    assert frontier.admit(key(2))
    assert not frontier.admit(key(2))
    check(frontier)
    assert visit(frontier, 0.0) == key(2)
    assert visit(frontier, 0.0) == key(2)
    assert frontier.counts()["ready"] == 1
    check(frontier)


def test_few_newcomers_wait_unless_they_rank_first() -> None:
    """So a better one that is found later does not wait behind them."""
    frontier = new_frontier()
    for number in range(5):
        push(frontier, number)
    assert [frontier.ask_newcomer(0.0, 2) for _ in range(3)] == [key(0), key(1), key(2)]  # nobody else has a session
    assert frontier.admit(key(0))
    assert frontier.ask_newcomer(0.0, 2) is None
    push(frontier, 7, quality=9.0)
    assert frontier.ask_newcomer(0.0, 2) == key(7)
    check(frontier)


def test_a_name_that_does_not_exist_costs_one_look_up() -> None:
    """Its URLs are dropped and counted, later ones, too; it is not asked for again."""
    frontier = new_frontier()
    push(frontier, 1, urls=3)
    assert frontier.ask_newcomer(0.0, 9) == key(1)
    assert frontier.name_failed(key(1), 0.0, "no such name", is_final=True)
    assert len(frontier.drops.take()) == 3
    push(frontier, 1)
    assert len(frontier.drops.take()) == 1
    assert (len(frontier), frontier.given_up) == (0, 1)
    assert frontier.ask_newcomer(9e9, 9) is None
    assert frontier.servers[key(1)].last_error == "no such name"
    check(frontier)


def test_failed_look_ups_are_repeated_after_a_rest() -> None:
    """At most ``MAX_NAME_FAILURES``, after names that were not tried yet."""
    frontier = new_frontier()
    now = 0.0
    push(frontier, 1, quality=9.0)
    for failures in range(1, MAX_NAME_FAILURES + 1):
        if failures > 1:
            push(frontier, 100 + failures)
            assert frontier.ask_newcomer(now, 9) == key(100 + failures)
        assert frontier.ask_newcomer(now, 9) == key(1)
        given_up = frontier.name_failed(key(1), now, "no answer", is_final=False)
        check(frontier)
        assert given_up == (failures == MAX_NAME_FAILURES)
        now = frontier.servers[key(1)].ready_at + 0.01
    assert len(frontier.drops.take()) == 1


def test_a_server_that_has_answered_survives_a_missing_name() -> None:
    """Rather the name servers are out of order: it rests and is tried again."""
    frontier = new_frontier()
    push_admitted(frontier, 1, urls=2)
    visit(frontier, 0.0)
    assert not frontier.name_failed(key(1), 1.0, "no such name", is_final=True)
    assert frontier.servers[key(1)].failures == 1
    assert len(frontier) == 1


def test_no_server_is_given_up_without_a_limit() -> None:
    """``FRONTIER_MAX_FAILURES = 0``."""
    frontier = new_frontier(max_failures=0)
    push(frontier, 1)
    frontier.ask_newcomer(0.0, 9)
    for _ in range(20):
        assert not frontier.name_failed(key(1), 0.0, "no such name", is_final=True)
    assert len(frontier) == 1


@pytest.mark.parametrize("most_fail", [True, False])
def test_newcomers_hold_half_of_the_sessions_while_most_of_them_fail(most_fail: bool) -> None:
    """All of them while most answer."""
    frontier = new_frontier()
    for number in range(200):
        push_admitted(frontier, number)
    for number in range(100):
        visit(frontier, 0.0, failed=most_fail or number % 4 == 0)
    assert frontier.queue.newcomers_fail is most_fail
    dispatcher = Dispatcher(frontier, max_sessions=8)
    started = 0
    while dispatcher.next(0.5) is not None:
        started += 1
    assert started == (4 if most_fail else 8)
    check(frontier)
    wake = dispatcher.wake_at()
    assert wake is None or wake > 0.5, "the caller would spin"


def test_known_servers_come_first_after_failures_of_newcomers() -> None:
    """A newcomer that failed ranks below every server that has answered, whatever its pages are worth."""
    frontier = new_frontier()
    push_admitted(frontier, 1, urls=3)
    visit(frontier, 0.0)
    push_admitted(frontier, 2, quality=99.0)
    assert visit(frontier, 0.0, failed=True) == key(2)
    push_admitted(frontier, 2, quality=99.0, now=5.0)
    check(frontier)
    assert visit(frontier, 5.0) == key(1)


def test_a_server_that_leaves_while_its_name_is_looked_up() -> None:
    """The late answer changes nothing."""
    frontier = new_frontier()
    push(frontier, 1)
    push(frontier, 2)
    assert frontier.ask_newcomer(0.0, 9) == key(1)
    frontier.remove(key(1))
    assert not frontier.admit(key(1))
    assert frontier.ask_newcomer(0.0, 9) == key(2)
    frontier.give_up(key(2))
    assert not frontier.admit(key(2))
    check(frontier)


def silent_session(dispatcher: Dispatcher, now: float) -> Session:
    """The session of the next server, whose first request is in flight."""
    start = dispatcher.next(now)
    assert start is not None
    return start.session


def test_a_silent_newcomer_gives_its_place_to_one_that_waits() -> None:
    """It has one failure more; its URL is queued again by the caller; it comes back behind those without failures."""
    frontier = new_frontier()
    dispatcher = Dispatcher(frontier, max_sessions=1)
    push_admitted(frontier, 1, quality=9.0)
    silent = silent_session(dispatcher, 0.0)
    assert not dispatcher.put_off(silent, 5.0), "nobody waits"
    push_admitted(frontier, 2, now=5.0)
    assert dispatcher.put_off(silent, 6.0)
    assert dispatcher.take_closed() == [silent]
    check(frontier)
    assert silent_session(dispatcher, 6.0).server.key == key(2)
    server = frontier.servers[key(1)]
    assert (server.failures, server.last_error) == (1, "no answer within 6 s")
    assert server.ready_at > 6.0
    check(frontier)


@pytest.mark.parametrize("waiting", ["failed", "resting", "known"])
def test_nobody_gives_way_to_servers_that_rank_last(waiting: str) -> None:
    """Not to one that has failed; a known one, or one whose rest is over, counts."""
    frontier = new_frontier()
    dispatcher = Dispatcher(frontier, max_sessions=1)
    push_admitted(frontier, 2, urls=3)
    visit(frontier, 0.0, failed=waiting == "failed")
    if waiting == "failed":
        push_admitted(frontier, 2, now=1.0)
    if waiting == "resting":
        frontier.servers.robots_failed(key(2), 1.0)
    push_admitted(frontier, 1, quality=9.0, now=1.0)
    silent = silent_session(dispatcher, 1.0)
    assert silent.server.key == key(1)
    assert dispatcher.put_off(silent, 1.5) is (waiting == "known")
    if waiting == "resting":
        assert dispatcher.put_off(silent, 9.0)


@pytest.mark.parametrize(("max_failures", "times"), [(0, 5), (1, 0), (3, 2)])
def test_no_server_is_given_up_because_others_wait(max_failures: int, times: int) -> None:
    """The last failure, for which it would be given up, is one of the usual time-outs."""
    frontier = new_frontier(max_failures)
    dispatcher = Dispatcher(frontier, max_sessions=1)
    now, given_way = 0.0, 0
    for number in range(2, 7):
        push_admitted(frontier, 1, quality=9.0, now=now)
        silent = silent_session(dispatcher, now)
        assert silent.server.key == key(1)
        push_admitted(frontier, number, now=now)
        if dispatcher.put_off(silent, now):
            given_way += 1
            other = silent_session(dispatcher, now)
            answer(frontier, other.server.key, now)
            dispatcher.ended(other)
            assert dispatcher.next(now) is None
        else:
            break
        now = frontier.servers[key(1)].ready_at
    assert given_way == times
    assert not frontier.servers[key(1)].given_up


def test_of_equal_ranks_the_server_that_waits_longest_is_first_newcomer_or_not() -> None:
    """Servers that answer must not keep newcomers of the same rank waiting: breadth-first visits all in turn.

    An admitted newcomer has waited since its URLs were found, not since its look-up.
    """
    frontier = Frontier(BreadthFirst(), NONE, admits_newcomers=True)
    push_admitted(frontier, 1, urls=3)
    visit(frontier, 0.0)
    push(frontier, 2, urls=2)
    push(frontier, 3)
    assert visit(frontier, 0.0) == key(1)  # the others are not admitted
    for _ in range(2):
        frontier.admit(frontier.ask_newcomer(0.0, 9) or "")
    check(frontier)
    assert [visit(frontier, 0.0) for _ in range(4)] == [key(2), key(3), key(1), key(2)]
