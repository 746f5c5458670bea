"""The mode ``slots``: the rules of a project, several requests to a server at once."""

from __future__ import annotations

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier, Measurement, Politeness
from crawlproject.frontier.dispatch import Dispatcher, Start

KEY = "http://a.example"


def dispatcher(pages: int = 20, max_sessions: int = 10, *keys: str, **rules: object) -> Dispatcher:
    """A crawl of servers that have answered once, by ``rules``."""
    frontier = Frontier(BestPrefix(), Politeness(mode="slots", **rules))  # type: ignore[arg-type]
    for key in keys or (KEY,):
        frontier.push([Entry(f"{key}/{number}") for number in range(pages)])
        frontier.record(Measurement(key, 0.0, status=200))
    return Dispatcher(frontier, max_sessions)


def started(dispatcher: Dispatcher, now: float) -> list[Start]:
    """All requests that may start now."""
    starts = []
    while (start := dispatcher.next(now)) is not None:
        starts.append(start)
    return starts


def end(dispatcher: Dispatcher, start: Start, now: float, fetch_time: float = 1.0, **measured: object) -> None:
    key = start.session.server.key
    result = {"status": 200, **measured}
    dispatcher.frontier.record(Measurement(key, now, fetch_time=fetch_time, response_time=fetch_time, **result))  # type: ignore[arg-type]
    dispatcher.ended(start.session)


def test_as_many_requests_at_once_as_the_project_allows() -> None:
    """Another starts when one has ended; all pages are fetched."""
    crawl = dispatcher(connections=3)
    under_way = started(crawl, 1.0)
    assert len(under_way) == 3
    count, now = 3, 1.0
    while under_way:
        now += 1.0
        end(crawl, under_way.pop(0), now)
        new = started(crawl, now)
        under_way += new
        count += len(new)
        assert len(under_way) <= 3
    assert count == 20
    assert crawl.open_sessions == 0 or crawl.wake_at() is not None  # it lingers for links


def test_requests_start_a_delay_apart_whatever_they_take() -> None:
    """From start to start, as in Scrapy's slots; ``wake_at`` says when."""
    crawl = dispatcher(connections=2, request_delay=2.0)
    [first] = started(crawl, 2.0)
    assert started(crawl, 3.9) == []
    assert crawl.wake_at() == 4.0
    [second] = started(crawl, 4.0)
    assert started(crawl, 6.0) == []  # two are under way
    end(crawl, first, 6.5, fetch_time=4.5)
    [third] = started(crawl, 6.5)
    end(crawl, second, 6.6, fetch_time=2.6)
    end(crawl, third, 6.7, fetch_time=0.2)
    assert started(crawl, 8.4) == []
    assert len(started(crawl, 8.5)) == 1


@pytest.mark.parametrize("reason", ["crawl delay", "failure", "no answer"])
def test_one_request_at_a_time_where_more_may_do_harm(reason: str) -> None:
    """Until a server has answered, with a Crawl-delay, and after a failure."""
    crawl = dispatcher(connections=3)
    if reason == "no answer":
        crawl = Dispatcher(Frontier(BestPrefix(), Politeness(mode="slots", connections=3)), 10)
        crawl.frontier.push([Entry(f"{KEY}/{number}") for number in range(5)])
    elif reason == "failure":
        crawl.frontier.record(Measurement(KEY, 1.0, status=503))
    else:
        crawl.frontier.servers.set_crawl_delay(KEY, 1.0)
    assert len(started(crawl, 100.0)) == 1


def test_requests_beyond_the_first_take_places_of_sessions() -> None:
    """Which servers without a session get first."""
    keys = [f"http://{name}.example" for name in "abcd"]
    crawl = dispatcher(20, 6, *keys, connections=4)
    under_way = started(crawl, 1.0)
    assert len(under_way) == 6
    assert {start.session.server.key for start in under_way} == set(keys)


def test_an_abandoned_session_ends_with_all_its_requests() -> None:
    """Their ends are still reported; then others have their places."""
    crawl = dispatcher(20, 3, connections=3)
    under_way = started(crawl, 1.0)
    crawl.abandon(under_way[0].session, 1.5)
    for start in under_way:
        crawl.ended(start.session)
    assert crawl.open_sessions == 0
    assert len(started(crawl, 100.0)) == 3


def test_several_connections_tell_nothing_about_one() -> None:
    """A new one does not mean that the server closed another, and one that closes does not end the session."""
    crawl = dispatcher(connections=2)
    first, second = started(crawl, 1.0)
    before = first.session.server.estimates.requests_per_connection
    end(crawl, first, 2.0, connect_time=0.1)
    end(crawl, second, 2.0, connect_time=0.1, connection_requests=1)
    crawl.frontier.servers.connection_lost(KEY, 2.1)
    assert first.session.server.estimates.requests_per_connection == before
    assert len(started(crawl, 2.2)) == 2


def test_a_host_may_have_rules_of_its_own() -> None:
    """Several requests at once, without rests, where all others rest."""
    rules = Politeness(host_delays={"api.example": 0.0}, host_connections={"api.example": 4, "b.example": 2})
    frontier = Frontier(BestPrefix(), rules)
    for host in ("api", "b", "other"):
        frontier.push([Entry(f"http://{host}.example/{number}") for number in range(9)])
        frontier.record(Measurement(f"http://{host}.example", 0.0, status=200))
    hosts = [start.session.server.key for start in started(Dispatcher(frontier, 64), 1.0)]
    assert {key: hosts.count(key) for key in hosts} == {
        "http://api.example": 4,
        "http://b.example": 2,
        "http://other.example": 1,
    }
