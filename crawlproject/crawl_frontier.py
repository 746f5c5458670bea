"""The frontier at work in a crawl: what may be asked of it and told it from outside the scheduler.

Middlewares, the download handler, the monitor and spiders get it by ``frontier_of(crawler)``; the scheduler makes it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol, cast

from scrapy.core.scheduler import BaseScheduler

from crawlproject.clock import CLOCK
from crawlproject.engine import scheduler_of
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from crawlproject.frontier.dispatch import Dispatcher, Start
    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.measurement import Measurement
    from crawlproject.links import Links


class PageIntake(Protocol):
    """What takes in pages and their links (``discovery``)."""

    def push_links(self, links: Links) -> Iterator[None]:
        """Queue the new ones among a page's or sitemap's links, in steps of 0.1 s at most, and wake the engine."""

    def page_fetched(self, key: str) -> None:
        """A page of the server ``key`` has come: it counts against the limits."""

    def learn_content(self, key: str, url: str, *, copy: bool) -> None:
        """The page at ``url``, of the server ``key``, was read; ``copy``: its content was met before."""


class CrawlFrontier:
    """Frontier, sessions, and the requests that were handed out and are not over.

    ``by_ip``: servers on one address share their politeness.  ``take_dropped`` is called after whatever may make the
    frontier drop URLs.
    """

    #: Set by the scheduler, before the spider is opened.
    intake: PageIntake

    def __init__(self, dispatcher: Dispatcher, take_dropped: Callable[[], None], *, by_ip: bool) -> None:
        self.dispatcher = dispatcher
        self.frontier = dispatcher.frontier
        self.by_ip = by_ip
        #: Handed out, and under way.
        self.started: dict[Request, Start] = {}
        #: Will fail without being sent: no server in their URL, or one that is given up or full.
        self.unsent: deque[tuple[Request, Entry]] = deque()
        self._take_dropped = take_dropped

    def __len__(self) -> int:
        """How many requests are queued. O(1)."""
        return len(self.frontier) + len(self.unsent)

    @property
    def is_waiting(self) -> bool:
        """Whether something is queued and nothing is under way."""
        return not self.started and len(self) > 0

    # of requests

    def handed_out(self, request: Request) -> bool:
        """Whether the scheduler returned ``request``, and it is under way."""
        return request in self.started

    def may_start(self, request: Request) -> bool:
        """Whether the server of a request handed out may still be contacted (its robots.txt was not, meanwhile)."""
        start = self.started.get(request)
        return start is None or (not start.session.ending and CLOCK() >= start.session.ready_at)

    def polite_wait(self, request: Request) -> float:
        """Seconds until a request that bypassed the scheduler may be sent (one that was handed out: 0)."""
        server = self.frontier.server(server_key(request.url))
        if server is None or request in self.started:
            return 0.0
        return max(0.0, server.ready_at - CLOCK())

    def join_group(self, request: Request, group_key: str) -> bool:
        """Put the request's server into a politeness group; False if the group must be left alone now."""
        start = self.started.get(request)
        if start is None or self.frontier.join_group(start.session.server.key, group_key):
            return True
        self.dispatcher.end(start.session)
        return False

    # of servers, by their keys

    def has_session(self, key: str) -> bool:
        """Whether the server has an open session."""
        server = self.frontier.server(key)
        return server is not None and server.session is not None

    def end_session(self, key: str) -> None:
        """We are about to close its connection: no further request on it, nothing is learned from its end."""
        server = self.frontier.server(key)
        if server is not None and server.session is not None:
            self.dispatcher.end(server.session)

    def request_ended(self, key: str, now: float, fetch_time: float) -> None:
        """The last byte of a response has come: its server must be left alone from now on, recorded or not."""
        self.frontier.servers.rest(key, now, fetch_time)

    def record(self, measurement: Measurement) -> None:
        """Learn from a request that ended."""
        self.frontier.record(measurement)
        self._take_dropped()

    def page_fetched(self, key: str) -> None:
        """A page of the server has come: it counts against the limits."""
        self.intake.page_fetched(key)
        self._take_dropped()

    def back_off(self, key: str, failures: int, retry_after: float | None, error: str, *, give_up: bool) -> float:
        """Leave a server alone whose robots.txt is unavailable; returns when it may be asked again (``CLOCK``)."""
        if give_up:
            self.frontier.give_up(key)
        self._take_dropped()
        return self.frontier.servers.back_off(key, CLOCK(), failures, retry_after, error)


class CrawlFrontierScheduler(BaseScheduler):
    """A scheduler that has one."""

    crawl: CrawlFrontier


def frontier_of(crawler: Crawler) -> CrawlFrontier | None:
    """The frontier of the crawl; None before the spider is opened, and under another scheduler."""
    scheduler = scheduler_of(crawler)
    # not isinstance: by BaseScheduler's metaclass every scheduler is an instance of every other
    if CrawlFrontierScheduler not in type(scheduler).__mro__:
        return None
    return cast("CrawlFrontierScheduler", scheduler).crawl
