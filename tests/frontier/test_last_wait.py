"""The end of a crawl that waits for nothing but servers that have never answered."""

import pytest

from crawlproject.frontier import Dispatcher, Entry, Frontier, Measurement, Politeness, QualityFirst
from crawlproject.frontier.dispatch import LAST_WAIT, LastWait
from crawlproject.frontier.server import Awaited
from tests.frontier.invariants import check

A, B = "http://a.example", "http://b.example"
RULES = Politeness(factor=0, min_delay=0, max_delay=0, min_backoff=5, max_backoff=300)


def dispatcher_of(*keys: str, max_failures: int = 10) -> Dispatcher:
    dispatcher = Dispatcher(Frontier(QualityFirst(), RULES, max_failures=max_failures), 8)
    dispatcher.frontier.push(Entry(f"{key}/") for key in keys)
    return dispatcher


def fail(dispatcher: Dispatcher, now: float, seconds: float = 0.0) -> set[str]:
    """All requests that may start now; they fail after ``seconds``. Their servers."""
    starts = list(iter(lambda: dispatcher.next(now), None))
    end = now + seconds
    for start in starts:
        key = start.session.server.key
        dispatcher.frontier.record(Measurement(key, end, failed=True, fetch_time=seconds, error="refused"))
        dispatcher.give_back(start)
        dispatcher.ended(start.session)
    assert starts
    assert dispatcher.next(end) is None
    return {start.session.server.key for start in starts}


def end_of(dispatcher: Dispatcher, seconds: float, limit: int = 20) -> tuple[int, float]:
    """Let all requests fail after ``seconds`` each until the wait is over; (number of requests, time)."""
    wait, now = LastWait(dispatcher), 0.0
    for tries in range(limit):
        if tries and wait.is_over(now):
            return tries, now
        due = dispatcher.wake_at()
        assert due is not None
        now = max(now, due)
        fail(dispatcher, now, seconds)
        now += seconds
        check(dispatcher.frontier)
    raise AssertionError("never over")


@pytest.mark.parametrize(("seconds", "tries", "end"), [(0.0, 4, 35.0), (10.0, 3, 45.0), (30.0, 2, 65.0)])
def test_a_failing_server_alone_is_tried_for_less_than_a_minute(seconds: float, tries: int, end: float) -> None:
    """0 + 5 + 10 + 20 s for one that refuses connections; counted from the first failure for one that is silent."""
    assert end_of(dispatcher_of(A), seconds) == (tries, end)
    assert end - seconds < 60


def test_what_is_left_gets_no_request_and_its_urls_are_dropped() -> None:
    """Those queued, and those found later."""
    dispatcher = dispatcher_of(A, B)
    frontier = dispatcher.frontier
    assert fail(dispatcher, 0.0) == {A, B}
    wait = LastWait(dispatcher)
    assert not wait.is_over(0.0)
    assert wait.is_over(LAST_WAIT)
    assert wait.leave_some(LAST_WAIT) == (2, [])
    frontier.push([Entry(f"{A}/later")])
    check(frontier)
    assert (len(frontier), dispatcher.next(1000.0)) == (0, None)
    assert {entry.url for entry in frontier.drops.take()} == {f"{A}/", f"{B}/", f"{A}/later"}
    assert not frontier.only_failing
    assert not frontier.server(A).given_up


def test_a_request_in_flight_is_cut_at_the_end() -> None:
    """It may take as long as the wait; its URL is dropped, too, when it comes back."""
    dispatcher = dispatcher_of(A)
    wait = LastWait(dispatcher)
    fail(dispatcher, 0.0)
    assert not wait.is_over(0.0)
    start = dispatcher.next(5.0)
    assert not wait.is_over(LAST_WAIT - 1.0)
    assert wait.is_over(LAST_WAIT)
    assert wait.leave_some(LAST_WAIT) == (1, [A])
    assert [session.server.key for session in dispatcher.take_closed()] == [A, A]
    dispatcher.give_back(start)
    dispatcher.ended(start.session)
    check(dispatcher.frontier)
    assert [entry.url for entry in dispatcher.frontier.drops.take()] == [f"{A}/"]


def test_many_servers_are_left_in_steps() -> None:
    """None is left out, among others that have nothing to fetch."""
    keys = [f"http://{number}.example" for number in range(5_000)]
    dispatcher = dispatcher_of(*keys)
    frontier = dispatcher.frontier
    for key in keys[1::2]:
        frontier.fill(key)
    for key in keys[::2]:
        frontier.record(Measurement(key, 0.0, failed=True, error="refused"))
    wait, steps = LastWait(dispatcher), []
    assert not wait.is_over(0.0)
    while frontier.only_failing:
        assert wait.is_over(LAST_WAIT)
        steps.append(wait.leave_some(LAST_WAIT)[0])
    assert sum(steps) == 2_500
    assert max(steps) <= 200


@pytest.mark.parametrize("other", ["new", "answered", "failing after an answer"])
def test_nothing_is_left_while_another_server_may_answer(other: str) -> None:
    dispatcher = dispatcher_of(A, B)
    frontier = dispatcher.frontier
    frontier.record(Measurement(A, 0.0, failed=True, error="refused"))
    if other != "new":
        frontier.record(Measurement(B, 0.0, status=200))
    if other == "failing after an answer":
        frontier.record(Measurement(B, 1.0, failed=True, error="refused"))
    check(frontier)
    assert not frontier.only_failing
    frontier.fill(B)
    assert frontier.only_failing
    assert frontier.server(A).awaited is Awaited.VAINLY
