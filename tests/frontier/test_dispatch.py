"""Requests that may start: the limit of sessions, polite holds, waits for links."""

import pytest

from crawlproject.frontier import BestPrefix, Dispatcher, Entry, Frontier, Measurement, Politeness, QualityFirst
from tests.frontier.invariants import check

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


def test_links_that_come_in_time_keep_the_session() -> None:
    """The queue was empty, the page's links fill it: the same session continues at once."""
    dispatcher = dispatcher_of()
    push(dispatcher, f"{A}/1")
    first = dispatcher.next(0.0)
    answer(dispatcher, first, 0.1)
    assert dispatcher.next(0.11) is None
    assert dispatcher.wake_at() == pytest.approx(0.2)
    push(dispatcher, f"{A}/2")
    assert dispatcher.next(0.12).session is first.session


def test_short_polite_wait_is_held_and_a_long_one_released() -> None:
    """Reconnecting costs 2 x 0.1 s: a wait of 0.15 s is held, one of 1 s is not."""
    for delay, held in ((0.15, True), (1.0, False)):
        dispatcher = dispatcher_of(politeness=Politeness(request_delay=delay, factor=0, min_delay=0))
        push(dispatcher, f"{A}/1", f"{A}/2")
        answer(dispatcher, dispatcher.next(0.0), 0.1)
        assert dispatcher.next(0.1) is None
        assert (dispatcher.open_sessions == 1) is held
        assert dispatcher.wake_at() == pytest.approx(0.1 + delay)
        assert dispatcher.next(0.1 + delay + 1e-9) is not None


def test_request_given_back_waits_for_its_server() -> None:
    """A robots.txt fetched meanwhile asks for 5 s: the page starts 5 s later."""
    dispatcher = dispatcher_of()
    push(dispatcher, f"{A}/1")
    start = dispatcher.next(0.0)
    dispatcher.frontier.record(Measurement(A, 0.1, status=200, fetch_time=0.1))  # robots.txt
    dispatcher.frontier.servers.set_crawl_delay(A, 5.0)
    dispatcher.give_back(start)
    dispatcher.ended(start.session)
    assert dispatcher.next(0.1) is None
    assert dispatcher.wake_at() == pytest.approx(5.1)
    assert dispatcher.next(5.2).entry == start.entry


@pytest.mark.parametrize(
    ("politeness", "rest"),
    [
        (Politeness(factor=5, min_delay=0.5, max_delay=60), 20.0),  # the session was busy for 4 s
        (Politeness(factor=5, min_delay=30, max_delay=60), 30.0),
        (Politeness(mode="request", factor=5, min_delay=0.5), 15.0),  # its second request took 3 s
        (Politeness(factor=0, min_delay=0, request_delay=7.0), 7.0),
    ],
)
@pytest.mark.parametrize("how", ["abandon", "close_all"])
def test_a_server_rests_after_a_request_that_is_cut_off(politeness: Politeness, rest: float, how: str) -> None:
    """Like after an answer at that moment: it was contacted, whatever became of the request."""
    dispatcher = dispatcher_of(politeness=politeness)
    push(dispatcher, f"{A}/1", f"{A}/2", f"{A}/3")
    start = dispatcher.next(0.0)
    if politeness.mode == "request":
        answer(dispatcher, start, 1.0)
        start = dispatcher.next(cut_at := 100.0)
    else:
        cut_at = 1.0
    cut_at += 3.0
    if not politeness.request_delay and politeness.mode == "session":
        answer(dispatcher, start, 0.5)
        start = dispatcher.next(0.5)
    assert start is not None
    if how == "abandon":
        dispatcher.abandon(start.session, cut_at)
    else:
        dispatcher.close_all(cut_at)
    dispatcher.ended(start.session)
    assert dispatcher.next(cut_at + rest - 0.01) is None
    assert dispatcher.next(cut_at + rest) is not None
    check(dispatcher.frontier)


def test_a_held_server_gets_no_request() -> None:
    """Its session ends after the request in flight; its URLs stay queued, and there is nothing to wait for."""
    dispatcher = dispatcher_of()
    push(dispatcher, f"{A}/1", f"{A}/2", f"{B}/1")
    dispatcher.hold(B, 0.0)
    start = dispatcher.next(0.0)
    dispatcher.hold(A, 0.0)
    assert dispatcher.connected([A, B, C]) == [A]
    assert [server.key for server in dispatcher.served()] == [A]
    answer(dispatcher, start, 0.1)
    push(dispatcher, f"{A}/3")
    assert dispatcher.next(0.1) is None
    assert dispatcher.next(100.0) is None
    assert dispatcher.wake_at() is None
    assert dispatcher.take_closed() == [start.session]
    assert dispatcher.connected([A, B, C]) == []
    assert len(dispatcher.frontier) == 3
    check(dispatcher.frontier)


def test_a_removed_server_is_forgotten_whatever_is_reported_later() -> None:
    """A request given back, an acknowledgement: no error, and no URL returns."""
    dispatcher = dispatcher_of()
    push(dispatcher, f"{A}/1", f"{A}/2")
    start = dispatcher.next(0.0)
    dispatcher.abandon(start.session, 0.0)
    dispatcher.frontier.remove(A)
    assert len(dispatcher.frontier) == 0
    dispatcher.give_back(start)
    dispatcher.frontier.acknowledge(start.entry)
    dispatcher.ended(start.session)
    assert dispatcher.next(1.0) is None
    assert dispatcher.frontier.counts()["servers"] == 0
    check(dispatcher.frontier)


def shows(dispatcher, key: str, *urls: str) -> None:
    """A page of the server ``key`` has been read: these are its new links."""
    dispatcher.frontier.push([Entry(url) for url in urls], key)


def test_session_whose_last_page_shows_no_links_of_its_server_is_closed_at_once() -> None:
    """It lingers only until its page has been read."""
    dispatcher = dispatcher_of()
    push(dispatcher, f"{A}/1")
    answer(dispatcher, dispatcher.next(0.0), 0.1)
    assert dispatcher.next(0.11) is None
    assert dispatcher.open_sessions == 1
    shows(dispatcher, A, f"{B}/1")
    assert dispatcher.next(0.12).session.server.key == B
    assert dispatcher.next(0.12) is None
    assert [session.server.key for session in dispatcher.take_closed()] == [A]


def test_several_sessions_that_are_free_at_once_are_compared_with_the_servers_that_wait() -> None:
    """Both answers came while the process was busy; the server of the first closed its connection.

    Its place is for the best server, not for the next free session.
    """
    dispatcher = Dispatcher(Frontier(BestPrefix(), Politeness(factor=0, min_delay=0, max_delay=0)), 2)
    for key in (A, B):
        dispatcher.frontier.push([Entry(f"{key}/1", 1.0), Entry(f"{key}/2", 1e-6)])
    first, second = dispatcher.next(0.0), dispatcher.next(0.0)
    dispatcher.frontier.push([Entry(f"http://{name}.example/", 1.0) for name in "cd"])
    answer(dispatcher, first, 0.1, server_closed=True)
    answer(dispatcher, second, 0.1)
    served = [dispatcher.next(0.1).session.server.key for _ in range(2)]
    assert sorted(served) == ["http://c.example", "http://d.example"]


def test_session_does_not_linger_for_links_that_are_known() -> None:
    """Its page was read before the request counted as ended, as in the fast lane."""
    dispatcher = dispatcher_of()
    push(dispatcher, f"{A}/1")
    start = dispatcher.next(0.0)
    dispatcher.frontier.record(Measurement(A, 0.1))
    shows(dispatcher, A)
    dispatcher.ended(start.session)
    assert dispatcher.next(0.1) is None
    assert dispatcher.open_sessions == 0


def test_session_lingers_for_its_last_page_even_if_an_earlier_one_was_read_late() -> None:
    """The links of the first page come while the second is in flight."""
    dispatcher = dispatcher_of()
    push(dispatcher, f"{A}/1", f"{A}/2")
    answer(dispatcher, dispatcher.next(0.0), 0.1)
    second = dispatcher.next(0.1)
    shows(dispatcher, A)
    answer(dispatcher, second, 0.2)
    assert dispatcher.next(0.2) is None
    assert dispatcher.open_sessions == 1
    shows(dispatcher, A, f"{A}/3")
    assert dispatcher.next(0.25).session is second.session
