"""A crawl in virtual time: the project's own frontier, dispatcher and policies on a simulated web.

Discrete events.  A connection takes the time to open it, its requests one after another, and the time to close it; slot
and server are busy throughout.  ``crawlproject.frontier`` makes all decisions; this module only has the web's answers
and the clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawlproject.frontier.budgets import CHOOSINESS, NO_LIMITS, Budgets, Limits
from crawlproject.frontier.dispatch import Dispatcher
from crawlproject.frontier.entry import Entry
from crawlproject.frontier.frontier import Frontier
from crawlproject.frontier.measurement import Measurement
from crawlproject.frontier.politeness import Politeness
from crawlproject.frontier.quality import link_gains
from crawlproject.simulation.web import COPY, FORBIDDEN, MISSING, MOVED, PAGE, RETRIES, Crawl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawlproject.frontier.dispatch import Start
    from crawlproject.frontier.policy import Policy
    from crawlproject.frontier.quality import Quality
    from crawlproject.frontier.server import Session
    from crawlproject.simulation.web import SimulatedWeb


UNKNOWN, QUEUED, TAKEN = range(3)

STATUSES = {PAGE: 200, COPY: 200, MOVED: 301, MISSING: 404}

#: Politeness without waits.
NO_WAIT = Politeness(mode="session", factor=0.0, min_delay=0.0, max_delay=0.0)


@dataclass(frozen=True)
class CrawlOptions:
    """Options of a crawl; times in seconds."""

    #: Maximum concurrent connections.
    sessions: int = 64
    politeness: Politeness = NO_WAIT
    #: CPU time per response in the crawler's single thread; responses are processed one after another.
    cpu_time: float = 0.0
    #: How long a session without URLs waits for its last page's links.
    linger: float = 0.0
    #: Maximum requests of a session.
    max_batch: int = 100
    #: Time until a request to a dead server fails.
    timeout: float = 15.0
    #: The crawl ends when one of these budgets is spent; pages that end after ``limits.seconds`` do not count.
    limits: Limits = NO_LIMITS
    #: See ``frontier.budgets``.
    choosiness: float = CHOOSINESS


def simulate(web: SimulatedWeb, policy: Policy, quality: Quality, options: CrawlOptions | None = None) -> Crawl:
    """Crawl ``web`` from its seeds until nothing is left to fetch.

    The same arguments always give the same crawl.  About 60 us of CPU per page.
    """
    options = options or CrawlOptions()
    world = _World(web)
    crawler = _Crawler(world, policy, quality, options)
    crawler.begin()
    now = 0.0
    while now <= options.limits.seconds and now < inf:
        now = crawler.step(now)
    pages, started, ended = zip(*world.log, strict=True) if world.log else ((), (), ())
    return Crawl(
        web=web,
        pages=np.array(pages, dtype=np.int64),
        started=np.array(started, dtype=np.float64),
        ended=np.array(ended, dtype=np.float64),
        connections=crawler.dispatcher.opened,
        failures=crawler.failed,
        wasted=world.wasted,
    )


class SlotDispatcher(Dispatcher):
    """A dispatcher for which closing takes time: a closed session occupies server and slot for ``close_time`` s.

    Call ``free_slots`` before ``next``.  The base class makes all decisions.
    """

    def __init__(
        self, frontier: Frontier, max_sessions: int, close_time: Callable[[Session], float], linger: float
    ) -> None:
        super().__init__(frontier, max_sessions, linger)
        self._close_time = close_time
        self._closing: list[float] = []  # a heap of ends

    def free_slots(self, now: float) -> None:
        """Free the slots of connections that are closed by ``now``. O(log sessions) each."""
        while self._closing and self._closing[0] <= now:
            heappop(self._closing)
            self.max_sessions += 1

    def first_free(self) -> float | None:
        """Time at which the next closing connection is closed; None if none is closing. O(1)."""
        return self._closing[0] if self._closing else None

    def _close(self, session: Session, now: float) -> None:
        closed_at = now + self._close_time(session)
        session.server.ready_at = max(session.server.ready_at, closed_at)
        super()._close(session, now)
        self.max_sessions -= 1
        heappush(self._closing, closed_at)


class _Asked(NamedTuple):
    """A request in flight; times in seconds."""

    #: None on an open connection.
    connect_time: float | None
    #: Duration without ``connect_time``.
    time: float
    #: End of the response.
    due: float
    #: Handler of the response, called when the crawler has time for it.
    end: Callable[[Start, float], None]


class _World:
    """The web's answers, and what was fetched. Lists, because numpy is slow at access to single elements."""

    def __init__(self, web: SimulatedWeb) -> None:
        self.web = web
        self.server: list[int] = web.server.tolist()
        self.targets: list[int] = web.targets.tolist()
        self.indptr: list[int] = web.indptr.tolist()
        self.page_time: list[float] = web.page_time.tolist()
        self.size: list[float] = web.size.tolist()
        self.limit: list[int] = web.keep_alive_limit.tolist()
        self.first_extra: list[float] = web.first_extra.tolist() or [0.0] * web.servers
        self.robots_time: list[float] = web.robots_time.tolist()
        self.robots_due = [bool(self.robots_time)] * web.servers
        self.crawl_delay: list[float] = web.crawl_delay.tolist()
        self.kinds = bytes(web.kinds.tolist() or [PAGE] * web.pages)
        self.has_copies = COPY in self.kinds
        self.errors: list[int] = web.errors.tolist() or [0] * web.pages
        self.wasted = 0
        self.dead: list[bool] = web.dead.tolist()
        self.server_of_key = {key: server for server, key in enumerate(web.keys)}
        self.state = bytearray(web.pages)
        self.connections = [0] * web.servers
        self.log: list[tuple[int, float, float]] = []


class _Crawler:
    """The frontier, its sessions and its clock."""

    def __init__(self, world: _World, policy: Policy, quality: Quality, options: CrawlOptions) -> None:
        self.world = world
        self._web = world.web
        self._urls = world.web.urls
        self._quality = quality
        self._options = options
        budgets = Budgets(options.limits, options.choosiness)
        self._frontier = Frontier(policy, options.politeness, max_batch=options.max_batch, budgets=budgets)
        self.dispatcher = SlotDispatcher(self._frontier, options.sessions, self._close_time, options.linger)
        self._events: list[tuple[float, int, Callable[[Start, float], None], Start]] = []
        self._asked: dict[Session, _Asked] = {}
        self._free_at = 0.0  # end of the processing of all responses received so far
        self._serial = 0
        self.failed = 0  # requests that timed out

    def begin(self) -> None:
        self._discover(self._web.seeds.tolist(), 0)

    def step(self, now: float) -> float:
        """Process what is due by ``now`` and start what may start then; returns the time of the next event."""
        events, dispatcher = self._events, self.dispatcher
        while events and events[0][0] <= now:
            _, _, happen, start = heappop(events)
            happen(start, now)
        while True:
            dispatcher.free_slots(now)
            while (start_now := dispatcher.next(now)) is not None:
                self._start(start_now, now)
            if (dispatcher.first_free() or inf) > now:  # else a session closed now, in no time
                break
        times = [events[0][0] if events else None, dispatcher.wake_at(), dispatcher.first_free()]
        return min((time for time in times if time is not None and time > now), default=inf)

    def _start(self, start: Start, now: float) -> None:
        page = start.entry.payload
        server = self.world.server[page]
        self.world.state[page] = TAKEN
        if self.world.dead[server]:
            self._at(now + self._options.timeout, self._fail, start)
        elif self.world.robots_due[server]:
            self.world.robots_due[server] = False
            self._ask(start, now, self.world.robots_time[server], self._robots_end)
        elif self.world.kinds[page] == FORBIDDEN:
            self.dispatcher.ended(start.session)
        else:
            self._ask(start, now, self.world.page_time[page], self._page_end)

    def _ask(self, start: Start, now: float, time: float, end: Callable[[Start, float], None]) -> None:
        """Send a request that takes ``time``, longer if it is the first on its connection."""
        session = start.session
        server = self.world.server[start.entry.payload]
        connect_time = None
        if not session.carried:
            draw = min(self.world.connections[server], int(self._web.page_counts[server]) - 1)
            self.world.connections[server] += 1
            connect_time = float(self._web.connect_draws[self._web.first[server] + draw])
            time += self.world.first_extra[server]
        due = now + (connect_time or 0.0) + time
        self._asked[session] = _Asked(connect_time, time, due, end)
        self._at(due, self._arrive, start)

    def _close_time(self, session: Session) -> float:
        if not session.carried:  # robots.txt disallowed all its requests: it was never opened
            return 0.0
        return float(self._web.connect_time[self.world.server_of_key[session.server.key]])

    def _at(self, time: float, happen: Callable[[Start, float], None], start: Start) -> None:
        self._serial += 1
        heappush(self._events, (time, self._serial, happen, start))

    def _arrive(self, start: Start, now: float) -> None:
        """Receive a response; the crawler processes earlier responses first."""
        asked = self._asked[start.session]
        page = start.entry.payload
        if asked.end == self._page_end:
            if self.world.kinds[page] == PAGE and not self.world.errors[page]:
                self.world.log.append((page, now - asked.time, now))
            else:
                self.world.wasted += 1
        if self._options.cpu_time:
            self._free_at = max(self._free_at, now) + self._options.cpu_time
            self._at(self._free_at, asked.end, start)
        else:
            asked.end(start, now)

    def _record(self, start: Start, now: float, status: int = 200, size: int = 0) -> None:
        """Let the frontier learn from a received response of ``size`` bytes."""
        session = start.session
        asked = self._asked.pop(session)
        limit = self.world.limit[self.world.server[start.entry.payload]]
        requests = session.carried + 1
        self._frontier.record(
            Measurement(
                session.server.key,
                now,
                status=status,
                connect_time=asked.connect_time,
                response_time=asked.time,
                fetch_time=asked.time + now - asked.due,
                size=size,
                connection_requests=requests,
                server_closed=requests >= limit,
                persistent=limit > 1,
                url=start.entry.url,
            )
        )

    def _robots_end(self, start: Start, now: float) -> None:
        """Process a robots.txt and request the page, on the next connection if the server closed this one."""
        self._record(start, now)
        server, page = start.session.server, start.entry.payload
        delays = self.world.crawl_delay
        if delays and (delay := delays[self.world.server[page]]):
            self._frontier.servers.set_crawl_delay(server.key, delay)
        if self.world.kinds[page] == FORBIDDEN:
            self.dispatcher.ended(start.session)
        elif start.session.ending or now < start.session.ready_at:
            self.world.state[page] = QUEUED
            self.dispatcher.give_back(start)
            self.dispatcher.ended(start.session)
        else:
            self._ask(start, now, self.world.page_time[page], self._page_end)

    def _page_end(self, start: Start, now: float) -> None:
        page, key = start.entry.payload, start.session.server.key
        kind, errors = self.world.kinds[page], self.world.errors
        failed = errors[page] > 0
        is_page = kind in (PAGE, COPY) and not failed
        size = round(self.world.size[page]) if is_page else 0
        self._record(start, now, 500 if failed else STATUSES[kind], size)
        self._frontier.budgets.received(size)
        if failed:
            errors[page] -= 1
            self._try_again(start)
        elif kind in (PAGE, COPY):
            self._frontier.page_fetched(key, 0, start.entry.quality)
            if self.world.has_copies:
                self._frontier.servers.learn_content(key, copy=kind == COPY)
        if not failed and kind != MISSING:
            self._follow_links(start.entry)
        self.dispatcher.ended(start.session)

    def _try_again(self, start: Start) -> None:
        """Queue a URL again that answered 500, as Scrapy does; not more than ``RETRIES`` times."""
        entry = start.entry
        if entry.priority > -RETRIES:
            self.world.state[entry.payload] = QUEUED
            self._frontier.push([entry._replace(priority=entry.priority - 1, place=None)])

    def _fail(self, start: Start, now: float) -> None:
        self.failed += 1
        timeout = self._options.timeout
        self._frontier.record(Measurement(start.session.server.key, now, failed=True, fetch_time=timeout))
        self._frontier.drops.take()
        self.dispatcher.ended(start.session)

    def _follow_links(self, entry: Entry) -> None:
        first, end = self.world.indptr[entry.payload : entry.payload + 2]
        links = self.world.targets[first:end]
        if self.world.kinds[entry.payload] == MOVED:
            self._discover(links, entry.depth)
        else:
            self._discover(links, entry.depth + 1, entry)

    def _discover(self, links: Sequence[int], depth: int, page: Entry | None = None) -> None:
        """Queue the new URLs among the ``links`` of ``page``, and raise the quality of those that are queued."""
        state, servers, urls, quality = self.world.state, self.world.server, self._urls, self._quality.quality
        source = None if page is None else servers[page.payload]
        internal, external = (0.0, 0.0) if page is None else link_gains(self._quality, page.quality, len(links))
        entries, raised = [], []
        for link in links:
            gain = internal if servers[link] == source else external
            if state[link] == UNKNOWN:
                state[link] = QUEUED
                entries.append(Entry(urls[link], quality(urls[link], depth) + gain, 0, depth, link))
            elif gain and state[link] == QUEUED:
                raised.append((urls[link], gain))
        found_on = None if source is None else self._web.keys[source]
        self._frontier.push(entries, found_on)
        self._frontier.raise_quality(raised)
