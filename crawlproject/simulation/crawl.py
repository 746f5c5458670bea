"""A crawl in virtual time: the project's own frontier, dispatcher and policies on a simulated web.

Discrete events.  A connection takes the time to open it, its requests one after another, and the time to close it; slot
and server are busy throughout.  ``crawlproject.frontier`` makes all decisions; this module only has the web's answers
and the clock.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawlproject.frontier.dispatch import Dispatcher
from crawlproject.frontier.entry import Entry
from crawlproject.frontier.frontier import Frontier
from crawlproject.frontier.measurement import Measurement
from crawlproject.frontier.quality import link_gains
from crawlproject.simulation.record import Crawl, CrawlOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawlproject.frontier.dispatch import Start
    from crawlproject.frontier.policy import Policy
    from crawlproject.frontier.quality import Quality
    from crawlproject.frontier.server import Session
    from crawlproject.simulation.web import SimulatedWeb

UNKNOWN, QUEUED, TAKEN = range(3)


def simulate(web: SimulatedWeb, policy: Policy, quality: Quality, options: CrawlOptions | None = None) -> Crawl:
    """Crawl ``web`` from its seeds until nothing is left to fetch.

    The same arguments always give the same crawl.  About 60 us of CPU per page.
    """
    return _Run(web, policy, quality, options or CrawlOptions()).run()


class SlotDispatcher(Dispatcher):
    """A dispatcher for which closing takes time: a closed session occupies server and slot for ``close_time`` s.

    The slot is one of ``max_sessions``; of a parked session, one of ``max_parked``.  Call ``free_slots`` before
    ``next``.  The base class makes all decisions.
    """

    def __init__(
        self, frontier: Frontier, max_sessions: int, close_time: Callable[[Session], float], linger: float
    ) -> None:
        super().__init__(frontier, max_sessions, linger)
        self._close_time = close_time
        self._closing: list[tuple[float, bool]] = []  # a heap of (end, whether it was parked)
        self._opened_at: dict[Session, float] = {}
        self.busy = 0.0  # slot seconds of closed and parked sessions, since they opened

    def free_slots(self, now: float) -> None:
        """Free the slots of connections that are closed by ``now``. O(log sessions) each."""
        while self._closing and self._closing[0][0] <= now:
            if heappop(self._closing)[1]:
                self.max_parked += 1
            else:
                self.max_sessions += 1

    def first_free(self) -> float | None:
        """Time at which the next closing connection is closed; None if none is closing. O(1)."""
        return self._closing[0][0] if self._closing else None

    def opens(self, session: Session, now: float) -> None:
        """Note that the session's connection is opened, or used again, at ``now``."""
        self._opened_at[session] = now

    def _park(self, session: Session, now: float) -> None:
        super()._park(session, now)
        if session in self._opened_at:  # else it was closed instead
            self.busy += now - self._opened_at.pop(session)

    def _unpark(self, session: Session, now: float) -> None:
        closed_at = self._closed_at(session, now)
        super()._unpark(session, now)
        self.max_parked -= 1
        heappush(self._closing, (closed_at, True))

    def _close(self, session: Session, now: float) -> None:
        closed_at = self._closed_at(session, now)
        super()._close(session, now)
        self.max_sessions -= 1
        heappush(self._closing, (closed_at, False))
        self.busy += closed_at - self._opened_at.pop(session)

    def _closed_at(self, session: Session, now: float) -> float:
        closed_at = now + self._close_time(session)
        session.server.ready_at = max(session.server.ready_at, closed_at)
        return closed_at


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


class _Run:
    """One crawl, from start to end."""

    def __init__(self, web: SimulatedWeb, policy: Policy, quality: Quality, options: CrawlOptions) -> None:
        self._web = web
        self._quality = quality
        self._options = options
        self._frontier = Frontier(policy, options.politeness, max_batch=options.max_batch)
        self._dispatcher = SlotDispatcher(self._frontier, options.sessions, self._close_time, options.linger)
        self._dispatcher.max_parked = options.parked
        # Lists, because numpy is slow at access to single elements.
        # A sitemap has the number web.pages + its server; it differs from a page only in how its response is processed.
        has_sitemap = len(web.sitemap_time) > 0
        self._server: list[int] = [*web.server.tolist(), *(range(web.servers) if has_sitemap else ())]
        self._targets: list[int] = web.targets.tolist()
        self._indptr: list[int] = web.indptr.tolist()
        self._page_time: list[float] = [*web.page_time.tolist(), *web.sitemap_time.tolist()]
        self._limit: list[int] = web.keep_alive_limit.tolist()
        self._first_extra: list[float] = web.first_extra.tolist() or [0.0] * web.servers
        self._robots_time: list[float] = web.robots_time.tolist()
        self._robots_due = [bool(self._robots_time)] * web.servers
        self._dead: list[bool] = web.dead.tolist()
        self._urls = web.urls
        self._server_of_key = {key: server for server, key in enumerate(web.keys)}
        self._state = bytearray(len(self._server))
        self._met = bytearray(web.servers)
        self._connections = [0] * web.servers
        self._events: list[tuple[float, int, Callable[[Start, float], None], Start]] = []
        self._asked: dict[Session, _Asked] = {}
        self._free_at = 0.0  # end of the processing of all responses received so far
        self._serial = 0
        self._log: list[tuple[int, float, float]] = []
        self._failures = 0

    def run(self) -> Crawl:
        """Advance time from event to event."""
        dispatcher, events = self._dispatcher, self._events
        self._discover(self._web.seeds.tolist(), depth=0)
        now = 0.0
        while now < inf:
            dispatcher.free_slots(now)
            while now <= self._options.until and (start := dispatcher.next(now)) is not None:
                self._start(start, now)
            times = [events[0][0] if events else None, dispatcher.wake_at(), dispatcher.first_free()]
            now = min((time for time in times if time is not None and time > now), default=inf)
            while events and events[0][0] <= now:
                _, _, happen, start = heappop(events)
                happen(start, now)
        return self._result()

    def _result(self) -> Crawl:
        pages, started, ended = zip(*self._log, strict=True) if self._log else ((), (), ())
        return Crawl(
            web=self._web,
            pages=np.array(pages, dtype=np.int64),
            started=np.array(started, dtype=np.float64),
            ended=np.array(ended, dtype=np.float64),
            connections=self._dispatcher.opened,
            failures=self._failures,
            busy_share=min(1.0, self._dispatcher.busy / (ended[-1] * self._options.sessions)) if ended else 0.0,
        )

    def _start(self, start: Start, now: float) -> None:
        """Send a request and schedule its end."""
        page = start.entry.payload
        server = self._server[page]
        self._state[page] = TAKEN
        if start.session.requests == 1:
            self._dispatcher.opens(start.session, now)
        if self._dead[server]:
            self._at(now + self._options.timeout, self._fail, start)
        elif self._robots_due[server]:
            self._robots_due[server] = False
            self._ask(start, now, self._robots_time[server], self._robots_end)
        else:
            self._ask(start, now, self._page_time[page], self._page_end)

    def _ask(self, start: Start, now: float, time: float, end: Callable[[Start, float], None]) -> None:
        """Send a request that takes ``time``, longer if it is the first on its connection."""
        session = start.session
        server = self._server[start.entry.payload]
        connect_time = None
        if not session.carried:
            draw = min(self._connections[server], int(self._web.page_counts[server]) - 1)
            self._connections[server] += 1
            connect_time = float(self._web.connect_draws[self._web.first[server] + draw])
            time += self._first_extra[server]
        due = now + (connect_time or 0.0) + time
        self._asked[session] = _Asked(connect_time, time, due, end)
        self._at(due, self._arrive, start)

    def _close_time(self, session: Session) -> float:
        return float(self._web.connect_time[self._server_of_key[session.server.key]])

    def _at(self, time: float, happen: Callable[[Start, float], None], start: Start) -> None:
        self._serial += 1
        heappush(self._events, (time, self._serial, happen, start))

    def _arrive(self, start: Start, now: float) -> None:
        """Receive a response; the crawler processes earlier responses first."""
        asked = self._asked[start.session]
        if asked.end == self._page_end and start.entry.payload < self._web.pages:
            self._log.append((start.entry.payload, now - asked.time, now))
        if self._options.cpu_time:
            self._free_at = max(self._free_at, now) + self._options.cpu_time
            self._at(self._free_at, asked.end, start)
        else:
            asked.end(start, now)

    def _record(self, start: Start, now: float) -> None:
        """Let the frontier learn from a received response."""
        session = start.session
        asked = self._asked.pop(session)
        limit = self._limit[self._server[start.entry.payload]]
        requests = session.carried + 1
        self._frontier.record(
            Measurement(
                session.server.key,
                now,
                status=200,
                connect_time=asked.connect_time,
                response_time=asked.time,
                fetch_time=asked.time + now - asked.due,
                connection_requests=requests,
                server_closed=requests >= limit,
                persistent=limit > 1,
            )
        )

    def _robots_end(self, start: Start, now: float) -> None:
        """Process a robots.txt and request the page, on the next connection if the server closed this one."""
        self._record(start, now)
        if start.session.ending or now < start.session.ready_at:
            self._state[start.entry.payload] = QUEUED
            self._dispatcher.give_back(start)
            self._dispatcher.ended(start.session)
        else:
            self._ask(start, now, self._page_time[start.entry.payload], self._page_end)

    def _page_end(self, start: Start, now: float) -> None:
        """Process a page."""
        self._record(start, now)
        if self._options.parse_delay:
            self._at(now + self._options.parse_delay, self._parse, start)
        else:
            self._parse(start, now)
        self._dispatcher.ended(start.session)

    def _fail(self, start: Start, now: float) -> None:
        """Process a timeout."""
        self._failures += 1
        timeout = self._options.timeout
        self._frontier.record(Measurement(start.session.server.key, now, failed=True, fetch_time=timeout))
        self._frontier.take_dropped()
        self._dispatcher.ended(start.session)

    def _parse(self, start: Start, now: float) -> None:
        """Discover the links of a page."""
        entry = start.entry
        if entry.payload >= self._web.pages:
            self._discover_listed(entry)
            return
        first, end = self._indptr[entry.payload : entry.payload + 2]
        self._discover(self._targets[first:end], entry.depth + 1, entry)

    def _discover(self, links: Sequence[int], depth: int, page: Entry | None = None) -> None:
        """Queue the new URLs among the ``links`` of ``page``, and raise the quality of those that are queued."""
        state, servers, urls, quality = self._state, self._server, self._urls, self._quality.quality
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
        self._frontier.push(entries, None if source is None else self._web.keys[source])
        self._frontier.raise_quality(raised)
        for entry in entries:
            self._meet(servers[entry.payload], depth)

    def _meet(self, server: int, depth: int) -> None:
        """Queue the sitemap of ``server``, if it has one, when its first URL is discovered."""
        times = self._web.sitemap_time
        if self._met[server]:
            return
        self._met[server] = True
        if len(times) and times[server]:
            url = f"{self._web.keys[server]}/#sitemap"  # not a page's URL: canonical URLs have no fragment
            self._frontier.push_sitemap(Entry(url, depth=max(1, depth), payload=self._web.pages + server))

    def _discover_listed(self, sitemap: Entry) -> None:
        """Queue the new URLs that ``sitemap`` lists."""
        web, state, urls, worth = self._web, self._state, self._urls, self._quality.quality
        server, depth = self._server[sitemap.payload], sitemap.depth
        listed = np.flatnonzero((web.server == server) & web.collectable).tolist()
        new = [page for page in listed if state[page] == UNKNOWN]
        for page in new:
            state[page] = QUEUED
        entries = [Entry(urls[page], worth(urls[page], depth), 0, depth, page) for page in new]
        self._frontier.push(entries, web.keys[server], from_sitemap=True)
