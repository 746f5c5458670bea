"""Servers that may not be requested now: rests, sessions that end, URLs that wait or are dropped."""

import pytest

from crawlproject.frontier import Dispatcher, Entry, Frontier, Measurement, Politeness, QualityFirst
from tests.frontier.invariants import check

A, B = "http://a.example", "http://b.example"
RULES = Politeness(factor=0, min_delay=0, max_delay=0, min_backoff=5, max_backoff=300)


def dispatcher_of(*urls: str, max_sessions: int = 8) -> Dispatcher:
    dispatcher = Dispatcher(Frontier(QualityFirst(), RULES), max_sessions)
    dispatcher.frontier.push(Entry(url) for url in urls)
    return dispatcher


def test_url_handed_out_comes_back_first_after_the_rest() -> None:
    """A's robots.txt is unavailable: its session closes, and the same URL is next, 5 s later."""
    dispatcher = dispatcher_of(f"{A}/1", f"{A}/2")
    frontier = dispatcher.frontier
    start = dispatcher.next(0.0)
    assert frontier.servers.robots_failed(A, 1.0).ready_at == 6.0
    dispatcher.give_back(start)
    dispatcher.ended(start.session)
    assert dispatcher.next(1.0) is None
    check(frontier)
    assert [session.server.key for session in dispatcher.take_closed()] == [A]
    assert dispatcher.wake_at() == 6.0
    again = dispatcher.next(6.0)
    assert again.entry.url == start.entry.url
    assert len(frontier) == 1


@pytest.mark.parametrize(
    ("failures", "retry_after", "rest"), [(1, None, 5), (3, None, 20), (9, None, 300), (1, 60, 60)]
)
def test_rest_grows_with_failures(failures: int, retry_after: float | None, rest: float) -> None:
    """It doubles each time, up to the maximum; a longer Retry-After applies."""
    frontier = dispatcher_of(f"{A}/1").frontier
    for _ in range(failures - 1):
        frontier.servers.robots_failed(A, -1e9)
    assert frontier.servers.robots_failed(A, 0.0, retry_after).ready_at == rest
    check(frontier)
    assert frontier.counts()["resting"] == 1


def test_pages_failures_are_counted_apart() -> None:
    """Any answer, even 500 to a request for robots.txt, resets them; only a robots.txt resets its own failures."""
    frontier = dispatcher_of(f"{A}/1").frontier
    for _ in range(2):
        frontier.servers.robots_failed(A, 0.0)
    frontier.record(Measurement(A, 0.0, status=500))
    assert frontier.server(A).failures == 0
    assert frontier.server(A).ready_at == 10.0
    assert frontier.server(A).robots_failures == 2
    frontier.servers.robots_read(A)
    assert frontier.server(A).robots_failures == 0


def test_fewer_sessions_are_allowed_while_more_are_open() -> None:
    """Surplus sessions close when their request ends; the rest of their URLs stays queued."""
    dispatcher = dispatcher_of(*(f"http://{name}.example/{number}" for name in "abcd" for number in range(3)))
    starts = [dispatcher.next(0.0) for _ in range(4)]
    dispatcher.max_sessions = 2
    for start in starts:
        key = start.session.server.key
        dispatcher.frontier.record(Measurement(key, 0.1, status=200, connection_requests=1, fetch_time=0.1))
        dispatcher.ended(start.session)
    going_on = [dispatcher.next(0.1), dispatcher.next(0.1)]
    assert dispatcher.next(0.1) is None
    assert dispatcher.open_sessions == 2
    assert len(dispatcher.take_closed()) == 2
    assert all(start.session.requests == 2 for start in going_on)
    dispatcher.max_sessions = 4
    assert dispatcher.next(0.1).session.requests == 1
    check(dispatcher.frontier)
