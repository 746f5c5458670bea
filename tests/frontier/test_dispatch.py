"""Which request may start: sessions within their limit, polite holds, waiting for links."""

import pytest

from crawlproject.frontier import Dispatcher, Entry, Frontier, Measurement, Politeness, QualityFirst

A, B, C = "http://a.example", "http://b.example", "http://c.example"


def dispatcher_of(max_sessions: int = 2, politeness: Politeness | None = None, **kwargs: object) -> Dispatcher:
    rules = politeness or Politeness(mode="session", factor=0, min_delay=0, max_delay=0)
    return Dispatcher(Frontier(QualityFirst(), rules, **kwargs), max_sessions)


def push(dispatcher: Dispatcher, *urls: str) -> None:
    dispatcher.frontier.push(Entry(url) for url in urls)


def answer(dispatcher: Dispatcher, start: object, now: float, **measured: object) -> None:
    """The request of ``start`` ends at ``now`` after 0.1 s."""
    values = {"status": 200, "response_time": 0.1, "fetch_time": 0.1} | measured
    dispatcher.frontier.record(Measurement(start.session.server.key, now, **values))
    dispatcher.ended(start.session)


def test_no_more_sessions_than_allowed_and_one_request_each() -> None:
    """Three servers, two sessions: the third waits until a session is closed."""
    dispatcher = dispatcher_of(max_sessions=2)
    push(dispatcher, f"{A}/1", f"{B}/1", f"{C}/1")
    first, second = dispatcher.next(0.0), dispatcher.next(0.0)
    assert dispatcher.next(0.0) is None
    assert dispatcher.wake_at() is None
    answer(dispatcher, first, 0.1)
    assert dispatcher.next(0.1) is None  # it lingers for the page's links
    third = dispatcher.next(0.3)
    assert {s.session.server.key for s in (first, second, third)} == {A, B, C}
    assert [s.server.key for s in dispatcher.take_closed()] == [first.session.server.key]


def test_session_takes_its_urls_one_after_another() -> None:
    """The next request of a session starts when the last has ended, on the same session."""
    dispatcher = dispatcher_of()
    push(dispatcher, f"{A}/1", f"{A}/2")
    first = dispatcher.next(0.0)
    assert dispatcher.next(0.05) is None
    answer(dispatcher, first, 0.1)
    second = dispatcher.next(0.1)
    assert second.session is first.session
    assert second.session.requests == 2


def test_links_that_come_in_time_keep_the_session() -> None:
    """The queue was empty, the page's links fill it: the same session goes on, at once."""
    dispatcher = dispatcher_of()
    push(dispatcher, f"{A}/1")
    first = dispatcher.next(0.0)
    answer(dispatcher, first, 0.1)
    assert dispatcher.next(0.11) is None
    assert dispatcher.wake_at() == pytest.approx(0.2)
    push(dispatcher, f"{A}/2")
    assert dispatcher.next(0.12).session is first.session


def test_session_without_links_is_closed_after_lingering() -> None:
    """Nothing came within 0.1 s: its connection is to be closed."""
    dispatcher = dispatcher_of()
    push(dispatcher, f"{A}/1")
    answer(dispatcher, dispatcher.next(0.0), 0.1)
    assert dispatcher.next(0.1) is None
    assert dispatcher.next(0.2) is None
    assert dispatcher.open_sessions == 0
    assert len(dispatcher.take_closed()) == 1
    assert dispatcher.take_closed() == []


def test_last_request_of_a_batch_is_known_to_be_the_last() -> None:
    """So that it can ask the server to close the connection."""
    dispatcher = dispatcher_of(max_batch=2)
    push(dispatcher, f"{A}/1", f"{A}/2", f"{A}/3")
    first = dispatcher.next(0.0)
    answer(dispatcher, first, 0.1)
    second = dispatcher.next(0.1)
    assert (first.is_last, second.is_last) == (False, True)


def test_short_polite_wait_is_held_and_a_long_one_released() -> None:
    """Reconnecting costs 2 x 0.1 s: 0.15 s is waited on the connection, 1 s is not."""
    for delay, held in ((0.15, True), (1.0, False)):
        dispatcher = dispatcher_of(politeness=Politeness(request_delay=delay, factor=0, min_delay=0))
        push(dispatcher, f"{A}/1", f"{A}/2")
        answer(dispatcher, dispatcher.next(0.0), 0.1)
        assert dispatcher.next(0.1) is None
        assert (dispatcher.open_sessions == 1) is held
        assert dispatcher.wake_at() == pytest.approx(0.1 + delay)
        assert dispatcher.next(0.1 + delay + 1e-9) is not None


def test_request_given_back_waits_for_its_server() -> None:
    """robots.txt was fetched meanwhile and asks for 5 s: the page starts 5 s later, not sooner."""
    dispatcher = dispatcher_of()
    push(dispatcher, f"{A}/1")
    start = dispatcher.next(0.0)
    dispatcher.frontier.record(Measurement(A, 0.1, status=200, fetch_time=0.1))  # robots.txt
    dispatcher.frontier.set_crawl_delay(A, 5.0)
    dispatcher.give_back(start)
    dispatcher.ended(start.session)
    assert dispatcher.next(0.1) is None
    assert dispatcher.wake_at() == pytest.approx(5.1)
    assert dispatcher.next(5.2).entry == start.entry


def test_failed_server_frees_its_session() -> None:
    """A refused connection closes the session; another server gets the place."""
    dispatcher = dispatcher_of(max_sessions=1)
    push(dispatcher, f"{A}/1", f"{A}/2", f"{B}/1")
    start = dispatcher.next(0.0)
    answer(dispatcher, start, 0.1, status=None, failed=True)
    assert dispatcher.next(0.1).session.server.key == B


def test_close_all_closes_everything() -> None:
    """At the end of a crawl, with requests under way."""
    dispatcher = dispatcher_of()
    push(dispatcher, f"{A}/1", f"{A}/2", f"{B}/1")
    start = dispatcher.next(0.0)
    dispatcher.next(0.0)
    dispatcher.close_all(0.1)
    dispatcher.ended(start.session)
    dispatcher.frontier.check()
    assert dispatcher.open_sessions == 0
    assert len(dispatcher.take_closed()) == 2
