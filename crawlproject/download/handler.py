"""The download handler: sends each request over its session's connection and measures it.

The connections are this project's own (``pool``, ``connection``, ``transfer``): Scrapy's pools limit neither the
total number of sockets nor those to one server.
"""

from __future__ import annotations

import logging
from functools import partial
from math import inf
from typing import TYPE_CHECKING, ClassVar

from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.exceptions import IgnoreRequest

from crawlproject import signals
from crawlproject.clock import CLOCK
from crawlproject.compat import (
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
    normalize_bind_address,
    tls_context,
)
from crawlproject.crawl_frontier import frontier_of
from crawlproject.download.address_guard import AddressGuard, AddressRefused
from crawlproject.download.body_budget import BodyBudget
from crawlproject.download.opening import Opening
from crawlproject.download.outages import Outages, affordable_sessions
from crawlproject.download.patience import Patience
from crawlproject.download.pool import ConnectionPool, Courtesy, RestBeganError, SessionAbandoned, Use
from crawlproject.download.prefetch import DnsPrefetch, NewcomerNames, looks_up_names
from crawlproject.download.receivers import Receivers
from crawlproject.download.request_head import Sent, destination, proxy_of
from crawlproject.download.resolver import CachingResolver
from crawlproject.download.timing import Timing
from crawlproject.download.transfer import BodySignals, Limits, Transfer
from crawlproject.engine import Crawl, is_closing, stats_of
from crawlproject.options.network import NetworkOptions
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.requests.meta import FOR_PAGE, LAST_OF_SESSION, TIMING
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.download.connection import Connection

logger = logging.getLogger(__name__)

#: Seconds that a request without ``download_timeout`` may take: one that Scrapy's middleware has not seen.
DEFAULT_TIMEOUT = 10.0


class FrontierDownloadHandler(BaseDownloadHandler):
    """``DOWNLOAD_HANDLERS`` entry for http and https.

    With ``FrontierScheduler`` a server keeps its connection while it has a session.  Any other request
    (with another scheduler, or for robots.txt on a third server) opens its own connection and closes it afterwards.
    """

    lazy = True
    measures: ClassVar[bool] = True  # for FrontierDownloader

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        sessions, ahead = FrontierOptions.of(crawler), NetworkOptions.of(crawler).prefetch
        # This handler is made with the first request: the frontier exists, orders of the operator are in force already.
        self._crawl = crawl = frontier_of(crawler)
        self._count = stats_of(crawler).inc_value
        self._is_closing = partial(is_closing, crawler)
        self._bind_address = normalize_bind_address(settings.get("DOWNLOAD_BIND_ADDRESS"))
        self._tls_verbose_logging = settings.getbool("DOWNLOADER_CLIENT_TLS_VERBOSE_LOGGING")
        parts = Crawl.of(crawler)
        self._guard = parts.part(AddressGuard)
        self._resolver = parts.part(CachingResolver)
        self._budget = parts.part(BodyBudget)
        self._prefetch = DnsPrefetch(self._resolver, self._upcoming, ahead)
        max_sessions = sessions.max_sessions if crawl is None else self._afford(crawl)
        self._pool = ConnectionPool(
            max_sessions,
            Opening(
                tls_context(settings),
                self._prefetch.resolve,
                self._guard,
                sessions.connect_timeout,
                partial(self._count, "downloader/unsolicited_data"),
            ),
            on_lost=self._lost,
            on_left=self._left,
            has_room=self._has_room,
        )
        self._newcomers: NewcomerNames | None = None
        self._outages: Outages | None = None
        self._patience: Patience | None = None
        if crawl is not None:
            if ahead and not crawl.admits_any and looks_up_names(settings):
                self._newcomers = NewcomerNames(self._resolver, self._guard, crawl, ahead, self._count)
            self._outages = Outages.from_crawler(crawler)
            self._resolver.explain_by(self._outages.looked_up)
            if sessions.patience < inf:
                self._patience = Patience(crawl, sessions.patience, self._give_way, self._count, self._is_closing)
        self._limits = Limits(
            getattr(crawler.spider, "download_maxsize", settings.getint("DOWNLOAD_MAXSIZE")),
            getattr(crawler.spider, "download_warnsize", settings.getint("DOWNLOAD_WARNSIZE")),
            settings.getbool("DOWNLOAD_FAIL_ON_DATALOSS"),
        )
        self._body_signals = BodySignals(crawler)
        self._connection_lost = Receivers(crawler, signals.connection_lost)
        crawler.signals.connect(self._pool.close, signals.session_closed)
        crawler.signals.connect(self._pool.abort, signals.session_abandoned)
        crawler.signals.connect(self._load, signals.load_asked)
        crawler.signals.connect(self._sessions_limited, signals.sessions_limited)

    @staticmethod
    def _afford(crawl: CrawlFrontier) -> int:
        """Lower the crawl's limit on sessions if the process may not open enough files; returns the limit."""
        wanted = crawl.allowed_sessions
        possible = affordable_sessions(wanted)
        if possible < wanted:
            crawl.limit_sessions(possible)
            logger.warning(
                "FRONTIER_MAX_SESSIONS: at most %d sessions, not %d: too few files may be open (ulimit -n)",
                possible,
                wanted,
            )
        return possible

    def _sessions_limited(self, limit: int) -> None:
        affordable_sessions(limit)
        self._pool.allow(limit)

    def _load(self) -> dict[str, int]:
        return {"connections": self._pool.open, "dns_lookups": self._resolver.in_flight}

    def _upcoming(self, count: int, until: float) -> list[str]:
        if self._crawl is None:
            return []
        frontier = self._crawl.frontier
        upcoming = frontier.queue.upcoming(count, until)
        return upcoming if self._newcomers is None else [key for key in upcoming if frontier.servers[key].answered]

    def _lost(self, key: str) -> None:
        self._connection_lost.send(server_key=key)

    def _left(self, key: str) -> None:
        """The rest of a body is not read: its connection ends, and the session with it."""
        if self._crawl is not None:
            self._crawl.end_session(key)

    def _has_room(self, key: str, address: str) -> bool:
        return self._crawl is None or self._crawl.has_room(key, address)

    def _give_way(self, key: str) -> None:
        if self._outages is not None:
            self._outages.failed(key)
        self._pool.abort(key)

    async def download_request(self, request: Request) -> Response:
        """Download ``request``; stores its ``Timing`` in ``request.meta``, also on failure.

        Raises IgnoreRequest if it is not sent: AddressRefused if the server may not be contacted, SessionAbandoned if
        it may no longer be, another one as ``CrawlFrontier.polite_wait`` says; then no ``Timing`` is stored.
        """
        self._guard.check_url(request.url)
        crawl, outages = self._crawl, self._outages
        is_sent_again = crawl is not None and not crawl.is_side_request(request)  # a session awaits it
        # One of a page in the browser fails during an outage, because the page is rendered again.
        if outages is not None and outages.is_on and not is_sent_again and FOR_PAGE not in request.meta:
            await outages.over(self._is_closing)
        timing = request.meta[TIMING] = Timing(started=CLOCK())
        share = self._budget.share(awaited=crawl is not None and not crawl.handed_out(request))
        try:
            sent = Sent(request, destination(request.url), proxy_of(request), bool(request.meta.get(LAST_OF_SESSION)))
            if sent.via is not None and crawl is not None:
                crawl.admits_all()
            key = server_key(request.url)
            response = await self._fetch(Transfer(sent, timing, share, self._limits, self._body_signals), key)
        except IgnoreRequest:
            del request.meta[TIMING]
            raise
        except BaseException as error:
            timing.fail(CLOCK())
            if outages is not None and outages.explain(server_key(request.url), error) and is_sent_again:
                del request.meta[TIMING]
                raise SessionAbandoned(server_key(request.url)) from error
            raise
        else:
            timing.end(CLOCK())
            if outages is not None and sent.via is None:
                outages.answered(key, str(response.ip_address))
            self._budget.hold(response, share)
        finally:  # also after a failure, before the next request on this connection
            share.end()
            if TIMING in request.meta and crawl is not None:
                crawl.request_ended(server_key(request.url), CLOCK(), timing.fetch_time)
        return response

    async def _fetch(self, transfer: Transfer, key: str) -> Response:
        """Download over a connection of the server ``key``. Raises SessionAbandoned if that is aborted meanwhile."""
        while True:
            has_session = self._has_session(key)
            try:
                async with self._use(transfer.sent.request, key) as connection:
                    try:
                        response = await self._fetch_over(connection, transfer, key, has_session=has_session)
                    except Exception as error:
                        if connection.is_aborted:
                            raise SessionAbandoned(key) from error
                        raise
                    if connection.is_aborted:
                        raise SessionAbandoned(key)
                    return response
            except RestBeganError:
                continue

    async def _fetch_over(self, connection: Connection, transfer: Transfer, key: str, *, has_session: bool) -> Response:
        crawl, request, timing = self._crawl, transfer.sent.request, transfer.timing
        timeout: float = request.meta.get("download_timeout") or DEFAULT_TIMEOUT
        await transfer.share.wait()
        timing.started = CLOCK()
        is_watched = self._patience is not None and crawl is not None and not crawl.is_side_request(request)
        watch = self._patience.watch(key) if is_watched and self._patience is not None else None
        try:
            await connection.fetch(transfer, timeout, self._may_send(request, key, has_session=has_session))
        except TimeoutError as error:
            raise DownloadTimeoutError(f"Getting {request.url} took longer than {timeout} seconds.") from error
        except DownloadConnectionRefusedError as error:
            if connection.sockets.refusal is not None:
                raise AddressRefused(key, connection.sockets.refusal) from error
            if connection.sockets.full and crawl is not None:
                crawl.wait_at(key, connection.sockets.full)
                raise SessionAbandoned(key) from error
            raise
        finally:
            if watch is not None:
                watch.cancel()
        tls = connection.ssl_object
        if tls is not None and self._tls_verbose_logging:
            logger.debug("TLS connection to %s: %s, cipher %s", key, tls.version(), (tls.cipher() or (None,))[0])
        certificate = None if tls is None else tls.getpeercert(binary_form=True)
        return transfer.response(address=connection.address, certificate=certificate)

    def _has_session(self, key: str) -> bool:
        return self._crawl is not None and self._crawl.has_session(key)

    def _use(self, request: Request, key: str) -> Use:
        """The use of a connection to the server ``key``.

        A request that bypasses the scheduler, of media pipelines or ``engine.download_async``, waits for its server.
        """
        local = normalize_bind_address(request.meta.get("bindaddress")) or self._bind_address
        crawl, keep = self._crawl, partial(self._has_session, key)
        if crawl is None:
            return Use(self._pool, key, keep, local)
        if crawl.handed_out(request):
            return Use(self._pool, key, keep, local, partial(crawl.room, key))
        courtesy = Courtesy(partial(self._polite_wait, crawl, request), partial(crawl.unrecorded.none_left, key))
        return Use(self._pool, key, keep, local, partial(crawl.frontier.servers.side_connections, key), courtesy)

    def _polite_wait(self, crawl: CrawlFrontier, request: Request) -> float:
        longest = 0.0 if self._is_closing() else request.meta.get("download_timeout") or inf
        try:
            return crawl.polite_wait(request, longest)
        except IgnoreRequest:
            self._count("frontier/awaited_unsent")
            raise

    def _may_send(self, request: Request, key: str, *, has_session: bool) -> Callable[[], bool]:
        """The last check before a request is sent."""
        if self._crawl is None:
            return lambda: True
        if has_session or self._crawl.handed_out(request):
            return self._crawl.store.may_send
        return partial(_unless_rest_began, self._crawl, key)

    async def close(self) -> None:
        self.crawler.signals.disconnect(self._pool.close, signals.session_closed)
        self.crawler.signals.disconnect(self._pool.abort, signals.session_abandoned)
        self._prefetch.close()
        if self._outages is not None:
            self._outages.close()
        if self._newcomers is not None:
            self._newcomers.close()
        self._budget.close()
        await self._pool.aclose()
        await self._resolver.close()


def _unless_rest_began(crawl: CrawlFrontier, key: str) -> bool:
    """True; raises RestBeganError if requests on other connections to the server have failed meanwhile."""
    server = crawl.frontier.server(key)
    if server is not None and server.failures and server.ready_at > CLOCK():
        raise RestBeganError(f"{key} rests")
    return True
