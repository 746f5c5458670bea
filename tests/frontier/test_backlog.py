"""The time to drain the queue, and servers with long polite waits."""

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier, Measurement, Politeness, Session
from crawlproject.frontier.learning.expectation import MEAN_TO_BEST, Backlog
from tests.frontier.invariants import check

LARGE, SMALL = "http://large.example", "http://small.example"
AWAY = Politeness(mode="request", factor=10.0, min_delay=0.0, max_delay=60.0)  # after each request, not connected


def test_the_time_is_what_is_queued_at_the_pace_of_late() -> None:
    """Independent of the clock's start; a pause is forgotten after some hundred URLs."""
    backlog = Backlog()
    assert backlog.urgency(10.0, 1000) == 1.0
    now = 1e6
    for _ in range(50):
        backlog.handed_out(now, 30)
        now += 2.0
    assert backlog.time == pytest.approx(60.0)
    assert backlog.urgency(10.0, 12) == pytest.approx(1.0 + MEAN_TO_BEST * 12 * 10 / 60)
    now += 86_400.0
    for _ in range(2000):
        backlog.handed_out(now, 30)
        now += 2.0
    assert backlog.time == pytest.approx(60.0, rel=0.01)


def test_the_time_is_no_shorter_than_one_wait() -> None:
    """If nothing waits, or no time passes."""
    backlog = Backlog()
    for waiting in (0, 0, 100):
        backlog.handed_out(5.0, waiting)
    assert backlog.time == 0.0
    assert backlog.urgency(4.0, 10) == 1.0 + MEAN_TO_BEST * 10


def test_what_is_given_back_was_not_handed_out() -> None:
    """As when robots.txt is fetched first: the pace counts only pages."""
    backlog, other = Backlog(), Backlog()
    for number in range(200):
        backlog.handed_out(2.0 * number, 100)
        other.handed_out(2.0 * number, 100)
        other.given_back(101)
        other.handed_out(2.0 * number, 100)
    assert other.time == pytest.approx(backlog.time, rel=0.02)


def fetch(frontier: Frontier, session: Session, now: float) -> None:
    """One request of half a second, on a connection of its own."""
    assert frontier.next_url(session, now - 0.5) is not None
    times = {"connect_time": 0.1, "response_time": 0.5, "fetch_time": 0.5}
    frontier.record(Measurement(session.server.key, now, status=200, server_closed=True, **times))
    frontier.close_session(session, now)


@pytest.mark.parametrize(
    ("politeness", "first"), [(AWAY, LARGE), (Politeness(mode="session", factor=10.0, min_delay=0.0), SMALL)]
)
def test_where_waits_are_long_the_server_that_needs_most_of_them_is_asked_first(
    politeness: Politeness, first: str
) -> None:
    """Although the other has the better URL; not if a session fetches many pages."""
    frontier = Frontier(BestPrefix(), politeness, max_batch=1 if politeness.mode == "session" else 100)
    frontier.push([Entry(f"{LARGE}/{number}") for number in range(200)])
    frontier.push([Entry(f"{SMALL}/{number}") for number in range(12)])
    now = 0.0
    for _ in range(10):
        sessions = [frontier.open_session(now), frontier.open_session(now)]
        for session in sessions:
            assert session is not None
            fetch(frontier, session, now + 0.5)
        now += 6.0
    frontier.push([Entry(f"{SMALL}/better", quality=1.2)])
    session = frontier.open_session(now)
    assert session is not None
    assert session.server.key == first
    check(frontier)


def test_a_server_never_asked_is_urgent_by_the_urls_it_has() -> None:
    """When URLs are pushed and when its Crawl-delay is known; the worth of a second does not depend on it."""
    frontier = Frontier(BestPrefix(), AWAY)
    frontier.push([Entry(f"{SMALL}/{number}") for number in range(30)])
    now = 0.0
    for _ in range(10):
        session = frontier.open_session(now)
        assert session is not None
        fetch(frontier, session, now + 0.5)
        now += 6.0
    frontier.push([Entry(f"{LARGE}/{number}") for number in range(2000)])
    large = frontier.server(LARGE)
    assert large is not None
    before = large.urgency
    assert before > 10.0
    frontier.servers.set_crawl_delay(LARGE, 30.0)
    assert large.urgency > 2 * before
    check(frontier)
    rank = frontier.policy.rank(large)
    session = frontier.open_session(now)
    assert session is not None
    assert session.server is large
    assert frontier.queue.last_rank == pytest.approx(rank / large.urgency)
