"""Orders of the operator: blocked servers and delays."""

from collections import deque
from itertools import pairwise

import pytest

from crawlproject.frontier import BestPrefix, Dispatcher, Entry, Frontier, Measurement, Politeness
from crawlproject.frontier.orders import MAX_NAMES, ServerNames
from crawlproject.urls.server_key import covers, server_name
from tests.frontier.invariants import check

A, B = "http://a.example", "http://www.b.example"


def do(steps: object) -> None:
    deque(steps, maxlen=0)  # type: ignore[call-overload]


def new_frontier(*urls: str) -> Frontier:
    frontier = Frontier(BestPrefix(), Politeness(factor=0, min_delay=0))
    frontier.push([Entry(url, 1.0) for url in urls])
    return frontier


def test_a_blocked_server_keeps_its_urls_and_gets_no_request() -> None:
    """They no longer count as queued, so that a crawl can end; unblocked, they are fetched."""
    frontier = new_frontier(f"{A}/1", f"{A}/2", f"{B}/1")
    do(frontier.block("a.example", blocked=True))
    check(frontier)
    assert len(frontier) == 1
    frontier.push([Entry(f"{A}/3", 1.0)])
    dispatcher = Dispatcher(frontier, 10)
    first = dispatcher.next(1.0)
    assert first is not None
    assert first.entry.url == f"{B}/1"
    assert dispatcher.next(1.0) is None
    do(frontier.block("a.example", blocked=False))
    check(frontier)
    assert len(frontier) == 3
    found = dispatcher.next(1.0)
    assert found is not None
    assert found.entry.url.startswith(A)


def test_an_order_for_a_domain_changes_few_servers_at_a_time() -> None:
    """Between the steps the crawl goes on: a delay costs 10 µs a server."""
    frontier = new_frontier(*(f"http://s{number}.a.example/" for number in range(1000)))
    orders = {
        "blocked": (frontier.block("a.example", blocked=True), lambda server: server.blocked),
        "delayed": (frontier.servers.set_delay("a.example", 30.0, 0.0), lambda server: server.ready_at > 0),
    }
    for name, (steps, is_changed) in orders.items():
        counts = [0] + [sum(map(is_changed, frontier.servers)) for _ in steps] + [1000]
        assert sum(map(is_changed, frontier.servers)) == 1000, name
        assert max(after - before for before, after in pairwise(counts)) <= 200, name
    check(frontier)


def test_a_domain_covers_servers_found_later_and_names_add_up() -> None:
    """A server blocked by two names stays blocked when one goes."""
    frontier = new_frontier(f"{A}/")
    do(frontier.block("b.example", blocked=True))
    do(frontier.block(B, blocked=True))
    frontier.push([Entry(f"{B}/", 1.0)])
    assert frontier.servers[B].blocked
    do(frontier.block("b.example", blocked=False))
    assert frontier.servers[B].blocked
    do(frontier.block(B, blocked=False))
    assert not frontier.servers[B].blocked
    assert len(frontier) == 2
    check(frontier)


def test_a_session_ends_when_its_server_is_blocked() -> None:
    """The request in flight ends first; a request given back waits."""
    frontier = new_frontier(f"{A}/1", f"{A}/2", f"{A}/3")
    dispatcher = Dispatcher(frontier, 10)
    start = dispatcher.next(1.0)
    assert start is not None
    do(frontier.block(A, blocked=True))
    dispatcher.give_back(start)
    dispatcher.ended(start.session)
    assert dispatcher.next(2.0) is None
    assert dispatcher.open_sessions == 0
    assert len(frontier) == 0
    check(frontier)
    do(frontier.block(A, blocked=False))
    assert len(frontier) == 3


def test_a_blocked_server_that_is_given_up_or_removed_is_counted_once() -> None:
    """The number of queued URLs stays right."""
    frontier = new_frontier(f"{A}/1", f"{B}/1")
    do(frontier.block(A, blocked=True))
    do(frontier.block(B, blocked=True))
    frontier.give_up(A)
    frontier.remove(B)
    assert len(frontier) == 0
    check(frontier)
    do(frontier.block(A, blocked=False))
    assert len(frontier) == 0


def test_a_delay_holds_between_requests_and_at_once() -> None:
    """Known servers wait from their last answer on, new ones are asked at once."""
    frontier = new_frontier(f"{A}/1", f"{A}/2", f"{B}/1")
    dispatcher = Dispatcher(frontier, 1)
    do(frontier.servers.set_delay("a.example", 30.0, 1.0))
    start = dispatcher.next(1.0)
    assert start is not None
    assert start.entry.url == f"{B}/1"
    assert frontier.servers[A].ready_at == 31.0  # its last answer is unknown: it may be of an earlier run
    dispatcher.ended(start.session)
    first = dispatcher.next(31.0)
    assert first is not None
    frontier.record(Measurement(A, 32.0, status=200, response_time=1.0, fetch_time=1.0))
    dispatcher.ended(first.session)
    assert dispatcher.next(61.0) is None
    assert dispatcher.next(62.0) is not None
    check(frontier)
    do(frontier.servers.set_delay("a.example", 0, 62.0))
    assert frontier.servers.politeness_of(frontier.servers[A]).request_delay == 0


def test_the_most_specific_name_counts() -> None:
    """Server before host before domain."""
    names: ServerNames[float] = ServerNames()
    for value, name in enumerate(("example", "b.example", B)):
        names.set(name, value)
    assert names.find(B) == (B, 2)
    assert names.find("https://www.b.example:8080") == ("b.example", 1)
    assert names.find("http://c.example") == ("example", 0)
    assert names.find("http://other.test") is None
    assert covers("b.example", B)
    assert not covers("b.example", "http://xb.example")
    assert not covers(A, f"{A}:8080")


NO_NAMES = [
    "",
    ".",
    "*.",
    "a b",
    "http://",
    "a.example/x",
    "a.example:",
    "a.example:99999",
    "ftp://x/",
    "x" * 301,
    "a@b",
]


@pytest.mark.parametrize("text", NO_NAMES)
def test_what_is_no_name_is_refused(text: str) -> None:
    """With one line."""
    with pytest.raises(ValueError, match=r"^not a server"):
        server_name(text)


def test_names_are_limited() -> None:
    """Memory is."""
    names: ServerNames[bool] = ServerNames()
    for number in range(MAX_NAMES):
        names.set(f"h{number}.example", True)
    with pytest.raises(ValueError, match="at most"):
        names.set("one.more", True)
    names.set("h1.example", False)
