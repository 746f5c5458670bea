"""The time of a page in the browser does not count as time in which its server was busy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from scrapy import Request

from crawlproject.clock import CLOCK
from crawlproject.crawl_frontier import CrawlFrontier
from crawlproject.frontier.server import Session
from tests.crawl_ports import unconnected


def session_of(last_end: float, busy_since: float) -> Session:
    """A session whose last response ended then."""
    return Session(cast("Any", None), last_end, limit=10, busy_since=busy_since)


def frontier_with(request: Request, session: Session) -> CrawlFrontier:
    """A frontier that has handed out ``request``."""
    frontier = unconnected()
    frontier.started[request] = cast("Any", SimpleNamespace(session=session))
    return frontier


def test_session_was_busy_without_it() -> None:
    """Of ten seconds seven passed in the browser: the rest is by three."""
    request, now = Request("http://a.test/"), CLOCK()
    session = session_of(now - 8.0, busy_since=now - 10.0)
    frontier_with(request, session).server_was_idle(request, 7.0)
    assert session.busy_since is not None
    assert 3.0 <= session.last_end - session.busy_since < 4.0
    assert session.last_end >= now  # it rests from now on


def test_never_less_than_nothing() -> None:
    """Clocks of two sources may differ a little; nothing is learned of a request that was not handed out."""
    request, now = Request("http://a.test/"), CLOCK()
    session = session_of(now, busy_since=now - 1.0)
    frontier = frontier_with(request, session)
    frontier.server_was_idle(request, 2.0)
    assert session.busy_since is not None
    assert session.busy_since <= session.last_end
    before = session.last_end
    frontier.server_was_idle(Request("http://a.test/"), 2.0)
    session.busy_since = None  # a cache answered
    frontier.server_was_idle(request, 2.0)
    assert (session.busy_since, session.last_end) == (None, before)
