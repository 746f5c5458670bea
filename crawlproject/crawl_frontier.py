"""The interface of the running frontier to middlewares, the download handler, the monitor and spiders.

They get it from ``frontier_of(crawler)``; the scheduler creates it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

from scrapy.exceptions import IgnoreRequest

from crawlproject.clock import CLOCK
from crawlproject.engine import scheduler_of
from crawlproject.frontier.observed_times import ObservedTimes
from crawlproject.requests.meta import ROBOTS_RECEIVED
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlproject.frontier.dispatch import Dispatcher, Start
    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.live_limits import LiveLimits
    from crawlproject.frontier.measurement import Measurement
    from crawlproject.frontier.orders import SharedOrders
    from crawlproject.frontier.server import Server, Session
    from crawlproject.links import Links
    from crawlproject.urls.fates import Ending, Fates
    from crawlproject.urls.url_rows import UrlTable


#: Seconds that a request waits for the record of another one that did not pass through Scrapy's downloader.
RECORDED_WITHIN = 2.0


class PageIntake(Protocol):
    """Receives fetched pages and their links (``discovery``)."""

    def push_links(self, links: Links) -> Iterator[None]:
        """Queue the new links of a page or sitemap, in steps of at most 0.1 s, and wake the engine."""

    def canonical(self, links: Links) -> Sequence[str | None]:
        """The URL under which each of ``links`` would be queued; None for an invalid one. O(length)."""

    def links_counted(self, name: str) -> int:
        """See ``Discovery``."""

    def page_fetched(self, key: str, quality: float) -> None:
        """Count a fetched page of the server ``key``, and against the limits; ``quality``: of its entry."""

    def learn_content(self, key: str, *, copy: bool) -> None:
        """Learn from the page at ``url`` of the server ``key``; ``copy``: its content was seen before."""

    def has_names(self, key: str, hosts: Sequence[str]) -> None:
        """Fetch the front page of the server ``key`` first if its host is an alias of one of ``hosts`` that is crawled:
        it shows whether the two are one."""

    def merge(self, key: str, main: str) -> None:
        """The server ``key`` is another name of ``main``: its host has a CNAME record, the same address and front page.
        O(aliases)."""

    def limits_changed(self) -> None:
        """Obey new page limits. O(servers)."""

    def rewrite(self, server: Server) -> Iterator[int]:
        """Apply the operator's patterns to the queued URLs of ``server``; yields the number dropped in each step."""

    def release(self, name: str) -> None:
        """Stop judging the servers that ``name`` (``frontier.orders``) covers. O(1)."""


class Store(Protocol):
    """What the crawl's parts may ask of its backend; see ``backends.protocol.Backend``."""

    #: Where the operator's orders are kept with the frontier; None: it is not on disk.
    @property
    def directory(self) -> Path | None: ...
    #: The orders that all workers of the crawl share; None: there is one process.
    @property
    def orders(self) -> SharedOrders | None: ...
    #: All URLs that are known here by name.
    @property
    def urls(self) -> UrlTable: ...
    #: Whether requests may start now, and whether those that were handed out may still be sent.
    def may_start(self) -> bool: ...
    def may_send(self) -> bool: ...
    #: Number of pages that other processes have fetched.
    def pages_elsewhere(self) -> float: ...
    #: Waits until all that is queued now would survive this process; False if it would not.
    async def saved(self) -> bool: ...
    #: The descriptions of the crawl's workers; None: there is one process.
    async def workers(self) -> dict[str, Any] | None: ...


class Unrecorded:
    """How many requests to each server have ended and are not recorded yet: middlewares may see their answers first."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._none_left: dict[str, asyncio.Event] = {}

    def add(self, key: str) -> None:
        """One has ended. O(1)."""
        self._counts[key] = self._counts.get(key, 0) + 1

    def remove(self, key: str) -> None:
        """One is recorded, or will not be; without effect if there is none. O(1)."""
        left = self._counts.pop(key, 0) - 1
        if left > 0:
            self._counts[key] = left
        elif (event := self._none_left.pop(key, None)) is not None:
            event.set()

    async def none_left(self, key: str) -> None:
        """Return when all of the server ``key`` are recorded; after ``RECORDED_WITHIN``, whoever made them did not tell
        that they have ended."""
        if key in self._counts:
            event = self._none_left.setdefault(key, asyncio.Event())
            try:
                async with asyncio.timeout(RECORDED_WITHIN):
                    await event.wait()
            except TimeoutError:
                self._counts.pop(key, None)
                self.remove(key)


@dataclass(eq=False)
class CrawlFrontier:
    """Frontier, sessions, and the requests that were handed out and are not finished."""

    dispatcher: Dispatcher
    intake: PageIntake
    store: Store
    #: Makes the engine ask the scheduler for requests soon.
    wake: Callable[[], None]
    #: Called after each operation that may make the frontier drop URLs.
    take_dropped: Callable[[], None]
    #: Number of URLs seen, with ``JOBDIR`` including earlier runs.
    urls_seen: Callable[[], int]
    #: What becomes of URLs.
    fates: Fates
    #: The limits in force, which the operator may change.
    limits: LiveLimits
    #: Whether servers at one IP address form one politeness group.
    by_ip: bool

    def __post_init__(self) -> None:
        self.frontier = self.dispatcher.frontier
        #: Whether servers of earlier runs are known at the start.
        self.is_resumed = len(self.frontier.servers) > 0
        #: Admits newcomers, before requests are handed out.
        self.admit: Callable[[], None] = self._admit_unasked
        #: Whether names are not looked up beforehand.
        self.admits_any = False
        #: Pages fetched in this run, and times measured in it.
        self.pages = 0
        self.times = ObservedTimes()
        #: Requests that have ended, until they are recorded.
        self.unrecorded = Unrecorded()
        #: Requests handed out and not finished.
        self.started: dict[Request, Start] = {}
        #: Requests that will fail without being sent: their URL has no host, or their server is given up or full.
        self.unsent: deque[tuple[Request, Entry]] = deque()
        #: Whether the operator has paused the crawl.
        self.is_paused = False
        #: What keeps this machine from sending requests, as ``monitor.held_back`` says it; None: nothing.
        self.outage: str | None = None
        #: End of the last certain outage, by ``CLOCK``; inf during one.
        self.cut_off_until = -inf
        #: Limit on open sessions by the settings, or by the operator: ``dispatcher.max_sessions`` may be lower while
        #: the process cannot keep up.
        self.allowed_sessions = self.dispatcher.max_sessions
        #: What the monitor says of this worker to the others, by the names in ``workers.stored_crawl``.
        self.told: dict[str, Any] = {}
        #: Called with each measurement, after the frontier has learned from it.
        self.observers: list[Callable[[Measurement], None]] = []

    def __len__(self) -> int:
        """Number of queued requests, without those of servers that the operator has blocked. O(1)."""
        return len(self.frontier) + len(self.unsent)

    @property
    def queued(self) -> int:
        """Number of queued requests, those of blocked servers included: what is shown as queued. O(1)."""
        return len(self) + self.frontier.blocked

    @property
    def is_waiting(self) -> bool:
        """Whether requests are queued and none is in progress."""
        return not self.started and len(self) > 0

    # by the operator

    def may_hand_out(self) -> bool:
        """Whether requests may start now: the operator has not paused the crawl, and network and backend work. O(1)."""
        return not self.is_paused and self.outage is None and self.store.may_start()

    def pause(self, *, on: bool) -> None:
        """Start no further request, or end this."""
        self.is_paused = on

    def hold_back(self, outage: str | None) -> None:
        """Send nothing because of ``outage``, in words; None: it is over."""
        self.outage = outage

    def cut_off(self, until: float) -> None:
        """A certain outage ends at ``until``, by ``CLOCK``; inf: not yet."""
        self.cut_off_until = until

    def limit_sessions(self, limit: int) -> None:
        """Allow ``limit`` >= 1 open sessions; surplus ones close when their request ends. O(1)."""
        self.allowed_sessions = limit
        self.dispatcher.allow(limit)

    # of requests

    def handed_out(self, request: Request) -> bool:
        """Whether the scheduler returned ``request`` and it is not finished."""
        return request in self.started

    def room(self, key: str) -> int:
        """How many requests the session of the server ``key`` may have at once. O(labels)."""
        server = self.frontier.server(key) if self.frontier.politeness.most_connections > 1 else None
        return 1 if server is None else self.frontier.servers.room(server)

    def is_side_request(self, request: Request) -> bool:
        """Whether a callback or a pipeline awaits ``request``: it is neither from the scheduler nor for robots.txt."""
        return request not in self.started and ROBOTS_RECEIVED not in request.meta

    def may_start(self, request: Request) -> bool:
        """Whether ``request`` may be sent now: not right after a fetch of its server's robots.txt, and not if the
        backend has stopped requests meanwhile."""
        start = self.started.get(request)
        return start is None or (self.may_hand_out() and not start.session.ending and CLOCK() >= start.session.ready_at)

    def is_server_down(self, request: Request) -> bool:
        """Whether the server of ``request``, which was handed out, has answered and fails now; it will be given up if
        that lasts."""
        start = self.started.get(request)
        if start is None or not self.frontier.max_failures:
            return False
        server = start.session.server
        return server.answered and server.failures > 0 and not server.given_up

    def polite_wait(self, request: Request, longest: float) -> float:
        """Seconds until ``request``, which bypassed the scheduler, may be sent.

        Raises IgnoreRequest if its server was given up, or rests after failures for more than ``longest``: a callback
        or a pipeline waits for the request.  (robots.txt is exempt: pages in the frontier depend on it.)
        """
        server = self.frontier.server(server_key(request.url))
        if server is None:
            return 0.0
        wait = max(0.0, server.ready_at - CLOCK())
        if not self.is_side_request(request):
            return wait
        if server.given_up:
            raise IgnoreRequest("its server was given up: too many failures in a row")
        if server.failures and wait > longest:
            raise IgnoreRequest(f"its server rests for {wait:.0f} s after {server.failures} failures in a row")
        return wait

    def server_was_idle(self, request: Request, seconds: float) -> None:
        """For ``seconds`` up to now, the session of ``request`` did not keep its server busy: its page was rendered."""
        start = self.started.get(request)
        if start is not None:
            start.session.was_idle(seconds, CLOCK())

    def join_group(self, request: Request, group_key: str) -> bool:
        """Put the request's server into a politeness group; False if the group may not be contacted now."""
        start = self.started.get(request)
        if start is None or self.frontier.queue.join(start.session.server, group_key):
            return True
        self.dispatcher.end(start.session)
        return False

    # of servers, by their keys

    def put_off(self, key: str) -> bool:
        """End the session of the server ``key``, which has not answered yet, if another server waits for its place.

        Its request in flight counts as failed; the caller must abort it, and wake the engine.
        """
        session = self._session(key)
        return session is not None and self.dispatcher.put_off(session, CLOCK())

    def abandon(self, key: str) -> bool:
        """End the session of the server ``key``; whether it had one. The caller must abort its request in flight."""
        session = self._session(key)
        if session is not None:
            self.dispatcher.abandon(session, CLOCK())
        return session is not None

    def _session(self, key: str) -> Session | None:
        """The open session of the server ``key``."""
        server = self.frontier.server(key)
        return None if server is None else server.session

    def is_blocked(self, key: str) -> bool:
        """Whether the operator has blocked the server. O(labels); O(1) if none is."""
        return self.frontier.servers.orders.is_blocked(key)

    def has_session(self, key: str) -> bool:
        """Whether the server has an open session."""
        return self._session(key) is not None

    def has_room(self, key: str, address: str) -> bool:
        """Whether the server ``key`` may connect to the IP ``address``: not if its session would be one too many there.

        Empty: to a proxy, or to an address without a limit.  O(1), O(log servers) if it has moved.
        """
        server = self.frontier.server(key)
        return server is None or server.session is None or self.frontier.queue.addresses.move(server, address)

    def wait_at(self, key: str, address: str) -> None:
        """The session of the server ``key`` ends without a request: it is at ``address``, which is full."""
        session = self._session(key)
        if session is not None:
            self.frontier.queue.addresses.wait_at(session.server, address)
            self.dispatcher.end(session)

    def end_session(self, key: str) -> None:
        """End the server's session before we close its connection: nothing is learned from that closing."""
        session = self._session(key)
        if session is not None:
            self.dispatcher.end(session)

    def request_ended(self, key: str, now: float, fetch_time: float) -> None:
        """Start the server's rest after the last byte of a response, whether the request is recorded or not.

        ``record`` must follow, or ``not_recorded``.
        """
        self.unrecorded.add(key)
        server = self.frontier.server(key)
        if server is not None:
            self.times.learn_wait(server, now, fetch_time)
        self.frontier.servers.rest(key, now, fetch_time)

    def not_recorded(self, key: str) -> None:
        """A request to the server ``key`` has ended of which nothing is learned."""
        self.unrecorded.remove(key)

    def record(self, measurement: Measurement) -> None:
        """Learn from a finished request."""
        if measurement.connect_time is not None:
            self.times.connect.add(measurement.connect_time)
        if measurement.response_time is not None:
            self.times.response.add(measurement.response_time)
        self.frontier.record(measurement)
        self.unrecorded.remove(measurement.server_key)
        self.take_dropped()
        for observe in self.observers:
            observe(measurement)

    def page_fetched(self, request: Request) -> None:
        """Count the page that answers ``request``, which was handed out, and count it against the limits."""
        self.pages += 1
        self.intake.page_fetched(server_key(request.url), self.started[request].entry.quality)
        self.take_dropped()

    def page_scraped(self, request: Request) -> None:
        """All that the callback of ``request`` found is queued: a session without URLs need not wait for more. O(1)."""
        with suppress(ValueError):  # no host
            self.frontier.links_known(server_key(request.url))

    def admits_all(self) -> None:
        """From now on admit newcomers whatever their names: requests may take a proxy, which resolves names.

        What is found by look-ups in progress no longer matters.  O(log servers) for each newcomer asked for; O(1) if
        called again.
        """
        if self.admits_any:
            return
        self.admits_any = True
        self.admit = self._admit_unasked
        for server in self.frontier.queue.asked.values():
            self.frontier.admit(server.key)

    def admit_by(self, admit: Callable[[], None]) -> None:
        """Let ``admit``, which resolves names, admit newcomers."""
        self.admit = admit

    def _admit_unasked(self) -> None:
        frontier, limit = self.frontier, self.dispatcher.max_sessions
        while (key := frontier.ask_newcomer(CLOCK(), limit)) is not None:
            frontier.admit(key)

    def name_failed(self, key: str, error: str, wait: float, *, is_final: bool) -> bool:
        """Learn that the name of the server ``key`` was not found; returns whether the server is given up now.

        ``wait``: seconds until it can be looked up again.
        """
        given_up = self.frontier.name_failed(key, CLOCK(), error, wait, is_final=is_final)
        self.take_dropped()
        return given_up

    def name_missing(self, key: str, error: str) -> None:
        """Learn that the name of the server ``key`` does not exist."""
        self.frontier.name_missing(key, error)
        self.take_dropped()

    def last_error(self, key: str) -> str | None:
        """Why the server failed, in words, since its last answer."""
        server = self.frontier.server(key)
        return None if server is None else server.last_error

    def is_given_up(self, key: str) -> bool:
        """Whether the server was given up."""
        server = self.frontier.server(key)
        return server is not None and server.given_up

    def robots_failures(self, key: str) -> int:
        """Consecutive failures to fetch the server's robots.txt, those of earlier runs included. O(1)."""
        server = self.frontier.server(key)
        return 0 if server is None else server.robots_failures

    def robots_read(self, key: str) -> None:
        """The server's robots.txt is available."""
        self.frontier.servers.robots_read(key)

    def robots_failed(self, key: str, retry_after: float | None, error: str, max_failures: int) -> float:
        """Pause a server whose robots.txt is unavailable; returns when it may be contacted again (on ``CLOCK``).

        It is given up, and the result is inf, after ``max_failures`` in a row; 0: never.
        """
        server = self.frontier.servers.robots_failed(key, CLOCK(), retry_after, error)
        if server.robots_failures >= max_failures > 0:
            self.frontier.give_up(key)
        self.take_dropped()
        return inf if server.given_up else server.ready_at


def frontier_of(crawler: Crawler) -> CrawlFrontier | None:
    """The frontier of the crawl; None before the spider opens, and with another scheduler."""
    crawl = getattr(scheduler_of(crawler), "crawl", None)
    return crawl if isinstance(crawl, CrawlFrontier) else None


async def side_answer(crawler: Crawler, request: Request) -> Response:
    """The answer to a ``request`` that does not come from the frontier, sent when its server may be contacted."""
    return await crawler.engine.download_async(request)


def note_end(crawler: Crawler | None, request: Request, ending: Ending) -> None:
    """Note what ``request`` ends with, if it ends now; nothing with another scheduler."""
    if crawler is not None and (crawl := frontier_of(crawler)) is not None:
        crawl.fates.note(request, ending)
