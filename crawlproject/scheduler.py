"""The scheduler: Scrapy's requests become frontier entries, sessions become requests. It decides nothing."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING

from scrapy import Request, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.utils.misc import build_from_crawler, load_object

from crawlproject.backends.backend import backend_from_options
from crawlproject.discovery.discovery import Discovery
from crawlproject.discovery.links import link_filter
from crawlproject.discovery.page_limits import PAGE_LIMIT, PageLimits
from crawlproject.discovery.sitemaps import CALLBACK
from crawlproject.discovery.trap_guard import Around, TrapGuard
from crawlproject.download.timing import CLOCK
from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.engine import EngineAlarm
from crawlproject.frontier import Dispatcher, Frontier
from crawlproject.options.frontier import FrontierOptions
from crawlproject.options.limits import LimitOptions
from crawlproject.options.start_errors import starting
from crawlproject.requests.entries import GIVEN_UP, KEEP, UNSENT, RequestEntries
from crawlproject.requests.link_request import link_failed
from crawlproject.signals import connection_lost, session_closed
from crawlproject.storage import StoreError
from crawlproject.urls import server_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

    from crawlproject.frontier import Entry, Measurement, Start
    from crawlproject.links import Links

logger = logging.getLogger(__name__)

#: Links that are dropped at their turn before the event loop has its own: some 20 ms.
MAX_DROPPED = 500


class FrontierScheduler(BaseScheduler):
    """``SCHEDULER`` on the two-level frontier.

    ``next_request`` returns only what may start now; while nothing may, a timer wakes the engine for the next server.
    """

    def __init__(self, crawler: Crawler, options: FrontierOptions) -> None:
        self._crawler = crawler
        self._options = options
        assert crawler.stats is not None
        self._stats = crawler.stats
        self.dupefilter = build_from_crawler(load_object(crawler.settings["DUPEFILTER_CLASS"]), crawler)
        self._frontier = Frontier(
            options.policy(),
            options.politeness,
            max_batch=options.max_batch,
            max_failures=options.max_failures,
            group_of=options.group_of,
        )
        self._frontier.copies_count = options.copies_penalty
        #: Its sessions and its limit on them, which may be set.
        self.dispatcher = Dispatcher(self._frontier, options.max_sessions, max_parked=options.max_parked)
        self._in_flight: dict[Request, Start] = {}
        self._unqueued: deque[tuple[Request, Entry]] = deque()  # they will fail: no server, or one given up
        self._backend = backend_from_options(crawler, options)
        self._entries = RequestEntries(self._backend, options.quality, crawler.settings, crawler.stats)
        self._alarm = EngineAlarm(crawler)
        is_ours = isinstance(self.dupefilter, SeenDupeFilter)  # else it filters requests; links need a seen-set, too
        self._seen = self.dupefilter if is_ours else SeenDupeFilter.from_crawler(crawler)
        self._backend.open(self._frontier, self._seen)
        self._prepare_intake()

    @classmethod
    @starting(StoreError)
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Reads the settings ``FRONTIER_*``, opens the backend.

        Raises ValueError where a setting is wrong, StoreError where the backend's directory cannot be used.
        """
        return cls(crawler, FrontierOptions.of(crawler))

    # Scrapy's interface

    def _prepare_intake(self) -> None:
        """What links go through; here and not in ``open``, after which Scrapy cannot end a failed start cleanly."""
        around = Around(self._frontier, self._seen, self._backend, self._stats)
        self._guard = TrapGuard.from_crawler(self._crawler, around)
        rules = link_filter(self._crawler)
        self._discovery = Discovery(self._crawler, around, rules, self._options.quality, self._queued)
        self._discovery.guard_by(self._guard)
        limits = LimitOptions.of(self._crawler)
        self._limits = PageLimits(self._frontier, limits.max_pages_per_server, limits.max_pages_per_domain)
        self._discovery.limit_by(self._limits)

    def open(self, spider: Spider) -> Deferred[None] | None:
        """(1) listen for robots.txt and lost connections (2) open the dupefilter."""
        self._crawler.signals.connect(self._discovery.robots_parsed, signals.robots_parsed)
        self._crawler.signals.connect(self._discovery.answered, signals.response_received)
        self._crawler.signals.connect(self._connection_lost, connection_lost)
        self._crawler.signals.connect(self._item_failed, signals.item_error)
        opened: Deferred[None] | None = self.dupefilter.open()
        return opened

    def close(self, reason: str) -> Deferred[None] | None:
        """(1) close all sessions (2) write the stats (3) close the record of links, the backend, the dupefilter."""
        self._alarm.cancel()
        self.dispatcher.close_all(CLOCK())
        self._close_connections()
        self._stats.set_value("frontier/servers", self._frontier.counts()["servers"])
        self._stats.set_value("frontier/urls", len(self._frontier))
        self._discovery.close()
        self._backend.close()
        if self._seen is not self.dupefilter:
            self._seen.close(reason)
        closed: Deferred[None] | None = self.dupefilter.close(reason)
        return closed

    def has_pending_requests(self) -> bool:
        """Whether anything is queued, its server resting or not. O(1)."""
        return len(self) > 0

    def __len__(self) -> int:
        """How many requests are queued. O(1)."""
        return len(self._frontier) + len(self._unqueued)

    def enqueue_request(self, request: Request) -> bool:
        """Queue ``request``; False if it is a duplicate. Never raises for a bad URL.

        Stats: ``scheduler/enqueued``, ``scheduler/enqueued/memory|disk``, ``frontier/malformed``.
        """
        if request.meta.pop(UNSENT, False) and request in self._in_flight:
            self._take_back(request, self._in_flight[request])
            return True
        if not request.dont_filter and self.dupefilter.request_seen(request):
            assert self._crawler.spider is not None
            self.dupefilter.log(request, self._crawler.spider)
            if self._guard is not None and "redirect_urls" in request.meta:
                self._guard.led_back(request)
            return False
        entry = self._entries.entry(request)
        try:
            self._limits.meet(server_key(request.url))
            self._frontier.push([entry])
        except ValueError as error:  # no server in its URL: it fails in the downloader, as under Scrapy's scheduler
            self._stats.inc_value("frontier/malformed")
            logger.warning("Not schedulable: %s: %s", request, error)
            entry = self._backend.not_queued(entry, request)
            self._unqueued.append((request, entry))
        self._count("enqueued", 1, entry)
        self._take_dropped()
        return True

    def next_request(self) -> Request | None:
        """A request that may start now, else None, and the engine is woken when one may. O(log n).

        Stats: ``scheduler/dequeued``, ``scheduler/dequeued/memory|disk``, ``frontier/sessions``.
        """
        if self._unqueued:
            return self._hand_out(*self._unqueued.popleft())
        self._find_ended()
        dropped = 0
        while dropped < MAX_DROPPED and (start := self.dispatcher.next(CLOCK())) is not None:
            request = self._entries.start(start)
            if request is None:
                self.dispatcher.ended(start.session)
                continue
            if self._is_file(request):
                dropped += 1
                self._drop(start.entry)
                self.dispatcher.ended(start.session)
                continue
            self._close_connections()
            self._in_flight[request] = start
            if start.session.requests == 1:
                self._stats.set_value("frontier/sessions", self.dispatcher.opened)
                self._stats.set_value("frontier/sessions/resumed", self.dispatcher.resumed)
                self._stats.max_value("frontier/sessions/max_open", self.dispatcher.open_sessions)
            return self._hand_out(request, start.entry)
        self._close_connections()
        if dropped:
            self._alarm.ring()
            return None
        at = self.dispatcher.wake_at()
        if at is not None:
            self._alarm.set(at)
        return None

    # For the middlewares and the download handler

    def push_links(self, links: Links) -> Iterator[None]:
        """Queue the new ones among a page's or sitemap's links, in steps, and have the engine look."""
        return self._discovery.push_links(links)

    def record(self, measurement: Measurement) -> None:
        """Learn from a request that ended."""
        self._frontier.record(measurement)
        self._take_dropped()

    def page_fetched(self, key: str) -> None:
        """A page of the server ``key`` has come."""
        self._limits.fetched(key)
        self._take_dropped()

    def learn_content(self, key: str, *, copy: bool, url: str | None = None) -> None:
        """A page of the server ``key`` was looked at; ``copy``: its content was met before; ``url``: its own."""
        self._frontier.learn_content(key, copy=copy)
        if self._guard is not None:
            self._guard.learn_content(key, url, copy=copy)

    def learn_copy(self, key: str, content: int) -> int:
        """See ``Frontier.learn_copy``."""
        return self._frontier.learn_copy(key, content)

    def learn_shared(self, key: str, first: str) -> str | None:
        """See ``Frontier.learn_shared``."""
        return self._frontier.learn_shared(key, first)

    def demote(self, key: str, factor: float) -> None:
        """Rank the server ``key`` lower by ``factor``: it is a mirror."""
        self._frontier.demote(key, factor)

    @property
    def is_waiting(self) -> bool:
        """Whether something is queued and nothing is under way."""
        return not self._in_flight and len(self) > 0

    def has_session(self, key: str) -> bool:
        """Whether the server ``key`` has an open session."""
        return getattr(self._frontier.server(key), "session", None) is not None

    def end_session(self, key: str) -> None:
        """Its connection is about to be closed by us: no further request on it, nothing is learned from its end."""
        server = self._frontier.server(key)
        if server is not None and server.session is not None:
            self.dispatcher.end(server.session)

    def upcoming_servers(self, count: int, until: float) -> list[str]:
        """Keys of the servers that probably get the next ``count`` sessions. O(count log count)."""
        return self._frontier.upcoming(count, until)

    def may_start(self, request: Request) -> bool:
        """Whether the server of a request handed out may be contacted still (its robots.txt was not, meanwhile)."""
        start = self._in_flight.get(request)
        return start is None or (not start.session.ending and CLOCK() >= start.session.ready_at)

    def handed_out(self, request: Request) -> bool:
        """Whether ``next_request`` returned it and it is under way."""
        return request in self._in_flight

    def back_off(self, key: str, failures: int, retry_after: float | None, error: str, *, give_up: bool) -> float:
        """Leave a server alone whose robots.txt cannot be had; returns when it may be asked again (``CLOCK``)."""
        if give_up:
            self._frontier.give_up(key)
        self._take_dropped()
        return self._frontier.back_off(key, CLOCK(), failures, retry_after, error)

    def request_ended(self, key: str, now: float, fetch_time: float) -> None:
        """The last byte of a response has come: its server must be left alone from now on, recorded or not."""
        self._frontier.rest(key, now, fetch_time)

    def polite_wait(self, request: Request) -> float:
        """Seconds until a request that bypassed the scheduler may be sent (one it handed out: 0)."""
        server = self._frontier.server(server_key(request.url))
        if server is None or request in self._in_flight:
            return 0.0
        return max(0.0, server.ready_at - CLOCK())

    def join_group(self, request: Request, group_key: str) -> bool:
        """Put the request's server into a politeness group; False if the group must be left alone now."""
        start = self._in_flight.get(request)
        if start is None or self._frontier.join_group(start.session.server.key, group_key):
            return True
        self.dispatcher.end(start.session)
        return False

    @property
    def groups_by_ip(self) -> bool:
        """Whether servers on one address share their politeness."""
        return self._options.group == "ip"

    # Inside

    def _hand_out(self, request: Request, entry: Entry) -> Request:
        self._count("dequeued", 1, entry)
        self._backend.handed_out(request, entry)
        return request

    def _is_file(self, request: Request) -> bool:
        """Whether it is of a link that waited for what its server has turned out to answer with files."""
        spider = self._crawler.spider
        if request.errback is not link_failed or request.callback == getattr(spider, CALLBACK, None):
            return False
        return self._discovery.files.is_dropped(request.url)

    def _take_back(self, request: Request, start: Start) -> None:
        self.dispatcher.give_back(start)
        self._backend.given_back(request)
        self._stats.inc_value("frontier/given_back")
        self._count("dequeued", -1, start.entry)
        self._take_dropped()

    def _find_ended(self) -> None:
        """Look which requests are over: Scrapy has no signal for those a middleware answers or drops. O(sessions)."""
        active = self._crawler.engine.downloader.active
        if self._in_flight.keys() <= active:
            return
        for request in [request for request in self._in_flight if request not in active]:
            self.dispatcher.ended(self._in_flight.pop(request).session)

    def _close_connections(self) -> None:
        for session in self.dispatcher.take_closed():
            self._crawler.signals.send_catch_log(session_closed, server_key=session.server.key)

    def _take_dropped(self) -> None:
        """Let the requests of servers given up fail as Scrapy's do; links have nobody to tell, so they are counted.

        So with full servers, but what waited there is not acknowledged: a run with a higher limit takes it up again.
        """
        dropped = self._frontier.take_dropped()
        if not dropped:
            return
        for entry in dropped:
            server = self._frontier.server(server_key(entry.url))
            reason = PAGE_LIMIT if server is not None and not server.given_up else "server_given_up"
            request = None if self._backend.is_link(entry) else self._entries.read(entry)
            if request is not None:
                request.meta[GIVEN_UP] = reason
                request.meta[KEEP] = reason == PAGE_LIMIT
                self._unqueued.append((request, entry))
            elif reason != PAGE_LIMIT:
                self._drop(entry)
            self._stats.inc_value(f"frontier/dropped/{reason}")
        self._alarm.ring()

    def _drop(self, entry: Entry) -> None:
        """Forget a link that will not be fetched."""
        self._frontier.acknowledge(entry)
        self._backend.dropped(entry)

    def _connection_lost(self, server_key: str) -> None:
        self.dispatcher.connection_lost(server_key, CLOCK())
        self._close_connections()

    def _queued(self, count: int, one: Entry) -> None:
        """So many URLs found have been queued, ``one`` among them."""
        self._count("enqueued", count, one)
        self._take_dropped()
        self._alarm.ring()

    def _item_failed(self) -> None:
        self._stats.inc_value("frontier/items_failed")

    def _count(self, what: str, count: int, entry: Entry) -> None:
        """Count in Scrapy's stats; ``entry``: one of those counted."""
        where = self._backend.name_of(entry.payload)
        self._stats.inc_value(f"scheduler/{what}", count)
        self._stats.inc_value(f"scheduler/{what}/{where}", count)
