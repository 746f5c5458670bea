"""Scrapy's scheduler interface: turns requests into frontier entries and back. The frontier makes all decisions."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.misc import build_from_crawler, load_object

from crawlproject.backends.choice import open_backend
from crawlproject.backends.protocol import Host
from crawlproject.clock import CLOCK
from crawlproject.compat import robots_parsed
from crawlproject.crawl_frontier import CrawlFrontier
from crawlproject.discovery.checked_quality import checked
from crawlproject.discovery.discovery import Discovery, DiscoveryPorts
from crawlproject.discovery.page_limits import live_limits
from crawlproject.download.cycles import LastingObjects
from crawlproject.download.lane.lane import FastLane, open_lane
from crawlproject.download.lookup import is_of_name
from crawlproject.download.receivers import Receivers
from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.engine import (
    Crawl,
    EngineAlarm,
    ended_downloads,
    is_closing,
    is_starting,
    quicken_stats,
    stats_of,
    unfinished_requests,
)
from crawlproject.frontier.dispatch import Dispatcher, LastWait
from crawlproject.frontier.entry import Entry
from crawlproject.options.limits import LimitOptions
from crawlproject.options.network import NetworkOptions
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.options.start_errors import starting
from crawlproject.requests.ends import RequestEnds
from crawlproject.requests.entries import RequestEntries
from crawlproject.requests.meta import (
    FOUND_ON,
    GIVEN_UP,
    KEEP,
    ORIGIN,
    UNSENT,
)
from crawlproject.requests.owners import Owners, SpiderMissingError
from crawlproject.signals import connection_lost, frontier_closing, session_abandoned, session_closed
from crawlproject.storage.crawl_log import CrawlLog
from crawlproject.storage.errors import StoreError
from crawlproject.urls.fates import Ending, Fates, Reason
from crawlproject.urls.native import PARTS, compiled
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Sequence
    from typing import Self

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.utils.asyncio import CallLaterResult
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from crawlproject.backends.protocol import Exchange
    from crawlproject.frontier.dispatch import Start
    from crawlproject.frontier.server import Server

logger = logging.getLogger(__name__)

#: Queued URLs dropped in one step of the event loop: about 5 ms for links, 20 ms for requests.
MAX_DROPPED = 500

#: Requests that fail unsent and are in progress at once: Scrapy needs 1 ms of CPU and more for each, and finishes all
#: of them before a crawl ends.
MAX_FAILING = 16

#: Key of ``Request.meta``: Scrapy marks start requests.
START = "is_start_request"


class FrontierScheduler(BaseScheduler):
    """``SCHEDULER`` that uses the two-level frontier.

    ``next_request`` returns only requests that may start now; if there are none, a timer wakes the engine for the next
    server.  Other components use ``crawl``, through ``crawl_frontier.frontier_of``.
    """

    def __init__(self, crawler: Crawler, options: FrontierOptions) -> None:
        self._crawler = crawler
        self._stats = stats_of(crawler)
        quicken_stats(self._stats)
        self.dupefilter = build_from_crawler(load_object(crawler.settings["DUPEFILTER_CLASS"]), crawler)
        most = NetworkOptions.of(crawler).address_sessions
        budgets = LimitOptions.of(crawler).budgets()
        frontier = options.new_frontier(budgets, admits_newcomers=True, address_sessions=most)
        dispatcher = Dispatcher(frontier, options.max_sessions)
        self._frontier = frontier
        self._dispatcher = dispatcher
        self._alarm = EngineAlarm(crawler)
        self._last_wait = LastWait(dispatcher)
        self._left = 0  # servers
        self._wants_lane = options.fast_lane
        self._lane: FastLane | None = None
        self._session_closed = Receivers(crawler, session_closed)
        self._raised: list[tuple[str, float]] = []  # known URLs that requests have shown again
        self._next_drop: CallLaterResult | None = None
        self._failing: set[Request] = set()  # handed out to fail unsent, some of them finished
        self._has_failed = False  # a request that could not be sent to another worker
        self._lasting = LastingObjects(lambda: len(frontier.servers) + frontier.quality.pages)
        is_ours = isinstance(self.dupefilter, SeenDupeFilter)  # any other filters requests only; links need a seen-set
        self._seen = self.dupefilter if is_ours else SeenDupeFilter.from_crawler(crawler)
        self._log = None if options.crawl_log is None else CrawlLog(options.crawl_log)
        self._fates = Fates(
            self._stats.inc_value,
            lambda what, outcome: self._backend.keep_fate(what, outcome),
            None if self._log is None else self._log.add,
        )
        canonical = self._seen.canonicalizer.canonical
        self._ends = RequestEnds(crawler, self._fates, canonical, lambda entry: self._backend.is_link(entry))
        host = Host(
            self._alarm.ring,
            lambda entries: self._discovery.receive(entries),
            self._servers_came,
            self._close_connections,
            self._fates,
            self._ends.look,
        )
        self._backend = open_backend(crawler, options, frontier, self._seen, host)
        quality = checked(options.quality, self._stats)
        self._owners = Crawl.of(crawler).part(Owners)
        self._entries = RequestEntries(self._backend, quality, self._owners)
        limits = live_limits(crawler)
        # built here: if ``open`` raises, Scrapy cannot end the failed start cleanly
        self._discovery = Discovery(
            crawler,
            frontier,
            self._seen,
            self._backend,
            DiscoveryPorts(quality, self._queued, self._enqueue_received, self._refuse, self._fates, limits),
        )
        self.crawl = CrawlFrontier(
            dispatcher=dispatcher,
            intake=self._discovery,
            store=self._backend,
            wake=self._alarm.ring,
            take_dropped=self._take_dropped,
            urls_seen=lambda: len(self._seen.seen),
            fates=self._fates,
            limits=limits,
            by_ip=options.group == "ip",
        )

    @classmethod
    @starting(StoreError)
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read the settings ``FRONTIER_*`` and open the backend.

        Raises ValueError for an invalid setting, StoreError if the backend's directory cannot be used.
        """
        return cls(crawler, FrontierOptions.of(crawler))

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Connect the signals, open the backend and the dupefilter."""
        self._lasting.open()
        parts = ", ".join(f"{part} {'in Python' if compiled(part) is None else 'in C'}" for part in PARTS)
        logger.debug("What can be compiled: %s", parts or "nothing here")
        connect = self._crawler.signals.connect
        connect(self._discovery.robots_parsed, robots_parsed)
        connect(self._discovery.answered, signals.response_received)
        connect(self._connection_lost, connection_lost)
        connect(self._item_failed, signals.item_error)
        connect(self._callback_failed, signals.spider_error)
        opening = self._backend.opened()
        if opening is not None:
            return deferred_from_coro(self._open_after(opening))
        opened: Deferred[None] | None = self.dupefilter.open()
        self._follow_dupefilter()
        self._take_dropped()  # what an earlier run had no time for
        return opened

    def _follow_dupefilter(self) -> None:
        if self._seen is not self.dupefilter:
            self._backend.follow(self.dupefilter)

    async def _open_after(self, opening: Awaitable[None]) -> None:
        with starting(StoreError):
            await opening
        if (opened := self.dupefilter.open()) is not None:
            await maybe_deferred_to_future(opened)
        self._follow_dupefilter()
        self._take_dropped()

    def close(self, reason: str) -> Deferred[None] | None:
        """Close all sessions, write the stats, close the link record, the backend and the dupefilter, in this order."""
        self._alarm.cancel()
        self._lasting.close()
        self.crawl.admits_all()  # look-ups in progress must change nothing from now on
        if self._next_drop is not None:
            self._next_drop.cancel()
        self._dispatcher.close_all(CLOCK())
        self._close_connections()
        self._ends.look()
        self._crawler.signals.send_catch_log(frontier_closing)
        self._stats.set_value("frontier/servers", self._frontier.counts()["servers"])
        self._stats.set_value("frontier/urls", len(self._frontier) + self._frontier.blocked)
        self._stats.set_value("frontier/urls/blocked", self._frontier.blocked)
        self._discovery.close()
        closing = self._backend.close()
        return self._close_dupefilter(reason) if closing is None else deferred_from_coro(self._close(closing, reason))

    async def _close(self, closing: Awaitable[None], reason: str) -> None:
        try:
            await closing
        except Exception:
            logger.exception("The backend could not be closed")
        if (closed := self._close_dupefilter(reason)) is not None:
            await maybe_deferred_to_future(closed)

    def _close_dupefilter(self, reason: str) -> Deferred[None] | None:
        if self._log is not None:
            self._log.close()
            self._stats.set_value("crawl_log/lines", self._log.written)
            self._stats.set_value("crawl_log/lost", self._log.lost)
        if self._seen is not self.dupefilter:
            self._seen.close(reason)
        closed: Deferred[None] | None = self.dupefilter.close(reason)
        return closed

    def has_pending_requests(self) -> bool:
        """Whether any request is queued, including those of resting servers, here or by other workers. O(1)."""
        pending = len(self.crawl) > 0 or self._frontier.drops.are_left or self._backend.goes_on()
        if not pending:
            self._ends.look()  # the last ones, before others ask what became of them
        return pending

    def __len__(self) -> int:
        """Number of queued requests. O(1)."""
        return len(self.crawl)

    #: Scrapy's scheduler has two queues, whose lengths ``est()`` shows in its telnet console.
    dqs = None

    @property
    def mqs(self) -> CrawlFrontier:
        """All that is queued."""
        return self.crawl

    def enqueue_request(self, request: Request) -> bool:
        """Queue ``request``; False if it is a duplicate. Never raises for a bad URL.

        A request to a server of another worker is sent there; one that cannot be sent fails.
        Stats: ``scheduler/enqueued``, ``scheduler/enqueued/memory|disk|sent``.
        """
        meta = request.meta
        page: Request | None = meta.pop(FOUND_ON, None)
        if meta.pop(UNSENT, False) and (start := self.crawl.started.get(request)):
            self._take_back(request, start)
            return True
        if "proxy" in meta:
            self.crawl.admits_all()
        exchange = self._backend.exchange
        if exchange is not None and _is_foreign(request, exchange):
            return self._send(request, exchange)
        if self._is_filtered(request) and self._was_seen(request, page):
            self._filter(request)
            if gain := self._entries.gain(request, page, is_known=True):
                self._raised.append((request.url, gain))
            return False
        entry = self._entries.entry(request, gain=self._entries.gain(request, page, is_known=False))
        if self._discovery.is_refused(entry):
            request.meta[GIVEN_UP], request.meta[KEEP] = Reason.EXCLUDED, False
            self._fail_unsent(request, entry)
            self._alarm.ring()
            return True
        try:
            self._discovery.register_server(request)
            self._frontier.push([entry])
        except ValueError as error:  # its URL has no host: let the downloader fail it, as with Scrapy's scheduler
            self._fates.note(request, Ending(Reason.MALFORMED, note=str(error)))
            logger.warning("Request cannot be scheduled: %s: %s", request, error)
            self._fail_unsent(request, entry)
        else:
            self._count("enqueued", 1, entry)
        self._take_dropped()
        return True

    def _fail_unsent(self, request: Request, entry: Entry) -> None:
        """Let ``request`` fail without being queued or sent."""
        entry = self._backend.not_queued(entry, request)
        self.crawl.unsent.append((request, entry))
        self._count("enqueued", 1, entry)

    def _enqueue_received(self, request: Request) -> bool:
        is_new = self.enqueue_request(request)
        self._alarm.ring()
        return is_new

    def _send(self, request: Request, exchange: Exchange) -> bool:
        """Send ``request`` to the worker of its server; False if its URL was sent recently."""
        if not _is_start(request):  # not even if it is a copy of one
            meta = {key: value for key, value in request.meta.items() if key != START}
            request = request.replace(meta=meta) if START in request.meta else request
        payload = self._backend.pack_to_send(request)
        if payload is None:
            if not self._has_failed:
                self._has_failed = True
                logger.warning("Requests to other workers fail, as they cannot be serialized: first %s", request)
            request.meta[GIVEN_UP] = Reason.UNSERIALIZABLE
            self._fail_unsent(request, Entry(request.url, payload=request))
            return True
        url = self._seen.url_of(request) if self._is_filtered(request) and self._seen is self.dupefilter else None
        if url is not None and not exchange.unsent((url,))[0]:
            self._filter(request)
            return False
        exchange.send([self._entries.entry(request, payload)])
        self._stats.inc_value("scheduler/enqueued")
        self._stats.inc_value("scheduler/enqueued/sent")
        return True

    def _is_filtered(self, request: Request) -> bool:
        """Whether ``request`` is dropped if an equal one was seen.

        Every worker makes all start requests, so ``dont_filter`` does not repeat them.
        """
        return not request.dont_filter or (self._backend.exchange is not None and _is_start(request))

    def _was_seen(self, request: Request, page: Request | None) -> bool:
        """Whether ``request`` is a duplicate.

        Of several spiders each has its own requests for its own pages besides: a link of another one to a page does not
        keep its spider from asking for it with a callback, as it would alone.
        """
        seen: bool = self.dupefilter.request_seen(request)
        if not self._owners or self._seen is not self.dupefilter:
            return seen
        maker = self._owners.maker(request, page)
        if maker is None:
            return seen
        is_new = self._seen.is_new_to_spider(request)
        return seen and not (is_new and maker.names_callback(request))

    def _filter(self, request: Request) -> None:
        assert self._crawler.spider is not None
        self.dupefilter.log(request, self._crawler.spider)
        self._discovery.led_back(request)

    def next_request(self) -> Request | None:
        """A request that may start now, or None; then a timer wakes the engine when one may. O(log n).

        Those that the fast lane takes are not returned.

        Stats: ``scheduler/dequeued``, ``scheduler/dequeued/memory|disk``, ``frontier/sessions``.
        """
        lane = self._lane_of_crawl()
        for request in self._startable():
            if lane is None or not lane.take(request):
                return request
            if lane.is_full:
                break
        return None

    def _startable(self) -> Iterator[Request]:
        """The requests that may start now, each handed out; at the end sets the timer for the next one."""
        if self._raised:
            raised, self._raised = self._raised, []
            self._frontier.raise_quality(raised)
        if not self.crawl.may_hand_out():
            self._find_ended()
            self._close_connections()
            self._last_wait.reset()
            return
        while self.crawl.unsent and self._may_fail_one():
            failing, entry = self.crawl.unsent.popleft()
            self._failing.add(failing)
            self._hand_out(failing, entry)
            yield failing
        self._find_ended()
        self._ends.look_now_and_then()
        self._lasting.look()
        self.crawl.admit()
        dropped = 0
        while dropped < MAX_DROPPED and (start := self._dispatcher.next(CLOCK())) is not None:
            request = self._entries.start(start.entry, is_last=start.is_last)
            if isinstance(request, Reason):
                dropped += 1
                self._leave(start.entry, request)
                self._dispatcher.ended(start.session)
                continue
            if (reason := self._discovery.refusal(request, start.entry)) is not None:
                dropped += 1
                self._refuse(start.entry, reason, request)
                self._dispatcher.ended(start.session)
                continue
            self._close_connections()
            self.crawl.started[request] = start
            if start.session.requests == 1:
                self._stats.set_value("frontier/sessions", self._dispatcher.opened)
                self._stats.max_value("frontier/sessions/max_open", self._dispatcher.open_sessions)
            self._hand_out(request, start.entry)
            yield request
            self.crawl.admit()
        self._close_connections()
        if dropped:
            self._alarm.ring()
            return
        self.crawl.admit()  # newcomers whose rest has ended since
        self._end_last_wait()
        at = self._dispatcher.wake_at()
        if at is not None:
            self._alarm.set(at)

    def _lane_of_crawl(self) -> FastLane | None:
        if self._wants_lane:  # the first request: the spider is open
            self._wants_lane = False
            self._lane = open_lane(self._crawler)
        return self._lane

    def _end_last_wait(self) -> None:
        """Leave servers that have never answered if the crawl has waited long enough for nothing else. O(1) else."""
        if not self._frontier.only_failing or is_starting(self._crawler) or not self._backend.only_failing():
            self._last_wait.reset()
            return
        now = CLOCK()
        if not self._last_wait.is_over(now):
            self._alarm.set(self._last_wait.ends_at)
            return
        left, connected = self._last_wait.leave_some(now)
        if left and not self._left:
            logger.warning("Only servers that have never answered are left: they are not tried again in this run")
        self._left += left
        self._stats.set_value("frontier/servers/left", self._left)
        for key in connected:
            self._crawler.signals.send_catch_log(session_abandoned, server_key=key)
        self._close_connections()
        self._take_dropped()
        self._alarm.ring()

    def _may_fail_one(self) -> bool:
        """Whether fewer than ``MAX_FAILING`` requests that fail unsent are in progress. O(1)."""
        if len(self._failing) >= MAX_FAILING:
            self._failing &= unfinished_requests(self._crawler)
        return len(self._failing) < MAX_FAILING

    def _hand_out(self, request: Request, entry: Entry) -> None:
        self._count("dequeued", 1, entry)
        self._ends.begin(request, entry)
        self._backend.handed_out(request, entry)

    def _take_back(self, request: Request, start: Start) -> None:
        self._dispatcher.give_back(start)
        self._backend.given_back(request)
        self._ends.given_back(request)
        self._stats.inc_value("frontier/given_back")
        self._count("dequeued", -1, start.entry)
        self._take_dropped()

    def _find_ended(self) -> None:
        """Find finished requests: Scrapy sends no signal if a middleware answers or drops a request. O(ended)."""
        started = self.crawl.started
        for request in ended_downloads(self._crawler, started):
            if (start := started.pop(request, None)) is not None:
                self._dispatcher.ended(start.session)

    def _close_connections(self) -> None:
        closed = self._dispatcher.take_closed()
        for session in closed:
            self._session_closed.send(server_key=session.server.key)

    def _take_dropped(self) -> None:
        """Pass on what the frontier dropped: requests will fail and call their errback; links are only counted.

        Links of servers given up are forgotten.  Those of full servers, and of those left, are not acknowledged: a
        later run can fetch them.  At most ``MAX_DROPPED`` at once; the crawl does not end before the others follow.
        """
        try:
            dropped = self._frontier.drops.take(MAX_DROPPED)
        finally:
            if self._frontier.drops.are_left and self._next_drop is None:
                self._next_drop = call_later(0, self._drop_more)
        if not dropped:
            return
        for entry in dropped:
            self._refuse(entry, _reason_of(self._frontier.server(server_key(entry.url))))
        self._alarm.ring()

    def _refuse(self, entry: Entry, reason: Reason, request: Request | None = None) -> None:
        """Fetch nothing of an ``entry`` that has left the queue: its request fails, unless it is a link."""
        if self._backend.is_link(entry):
            self._leave(entry, reason)
            return
        try:
            request = request or self._entries.read(entry)
        except SpiderMissingError:  # nobody has its errback
            reason = Reason.SPIDER_MISSING
        if request is None:
            self._leave(entry, reason)
            return
        request.meta[GIVEN_UP], request.meta[KEEP] = reason, reason.stays
        self.crawl.unsent.append((request, entry))
        self._alarm.ring()

    def _drop_more(self) -> None:
        self._next_drop = None
        self._take_dropped()
        self._alarm.ring()  # it may have been the end of the crawl

    def _leave(self, entry: Entry, reason: Reason) -> None:
        """Send no request for ``entry``, which stays in the store if ``reason`` says so."""
        if reason.stays:
            self._fates.dropped(entry.url, reason)
            self._backend.unwanted(entry)
        else:
            self._frontier.acknowledge(entry)
            self._backend.dropped(entry, reason)

    def _callback_failed(self, response: Response | Failure) -> None:
        request = getattr(response, "request", None)
        if request is not None and (ending := self._fates.noted(request)) is not None:
            self._fates.note(request, ending._replace(reason=Reason.CALLBACK_FAILED))

    def _servers_came(self, keys: Sequence[str]) -> None:
        self._discovery.servers_came(keys)
        self._take_dropped()

    def _connection_lost(self, server_key: str) -> None:
        self._frontier.servers.connection_lost(server_key, CLOCK())
        self._close_connections()

    def _queued(self, count: int, one: Entry) -> None:
        """Count ``count`` newly queued URLs and wake the engine; ``one``: any of their entries."""
        self._count("enqueued", count, one)
        self._take_dropped()
        self._alarm.ring()

    def _item_failed(self, response: Response | None, failure: Failure) -> None:
        self._stats.inc_value("frontier/items_failed")
        if response is not None and isinstance(failure.value, IgnoreRequest) and is_closing(self._crawler):
            response.meta[KEEP] = True  # the end of the run kept the pipeline from its request

    def _count(self, what: str, count: int, entry: Entry) -> None:
        """Add to ``scheduler/<what>`` and to its part for the place (memory, disk) where ``entry`` is kept."""
        where = self._backend.name_of(entry.payload)
        self._stats.inc_value(f"scheduler/{what}", count)
        self._stats.inc_value(f"scheduler/{what}/{where}", count)


def _reason_of(server: Server | None) -> Reason:
    """Why the frontier has dropped a URL of ``server``."""
    if server is None or server.given_up:
        is_unknown = server is not None and server.last_error is not None and is_of_name(server.last_error)
        return Reason.DNS if is_unknown else Reason.SERVER_GIVEN_UP
    return Reason.NO_ANSWER if server.left else Reason.PAGE_LIMIT


def _is_start(request: Request) -> bool:
    """Whether the spider's ``start`` made the request; not a copy of such a request, such as a retry or a redirect."""
    return bool(request.meta.get(START)) and ORIGIN not in request.meta


def _is_foreign(request: Request, exchange: Exchange) -> bool:
    """Whether another worker crawls the server of ``request``; False if its URL has none: it fails here."""
    try:
        return not exchange.is_own(request.url)
    except ValueError:
        return False
