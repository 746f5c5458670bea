"""The way of a request through the fast lane."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.core.engine import ExecutionEngine
from scrapy.http import Request, Response
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import ensure_awaitable
from twisted.python.failure import Failure

from crawlproject.compat import closes_lane, engine_of
from crawlproject.crawl_frontier import frontier_of
from crawlproject.download.lane.scraping import Scraping
from crawlproject.download.receivers import Receivers, log_line
from crawlproject.engine import RequestsUnderWay, answers, forget_selector, stats_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy.crawler import Crawler

logger = logging.getLogger("scrapy.core.engine")
lane_logger = logging.getLogger(__name__)


class FastLane:
    """Takes requests from the scheduler, instead of the engine.

    Stats: ``lane/requests``, ``lane/pages``.
    """

    def __init__(self, crawler: Crawler, engine: ExecutionEngine) -> None:
        """The spider must be open."""
        self._crawler = crawler
        self._engine = engine
        self._count = stats_of(crawler).inc_value
        self._crawl = frontier_of(crawler)
        self._under_way = RequestsUnderWay(engine)
        self._scraping = Scraping(engine, self._under_way)
        self._received = Receivers(crawler, signals.response_received)
        self._told_empty = Receivers(crawler, signals.scheduler_empty)
        self._tasks: set[asyncio.Task[None]] = set()
        direct = getattr(engine.downloader, "direct", None)
        self._fetch: Callable[[Request], Awaitable[Any]] = direct or self._fetch_by_other

    @property
    def is_full(self) -> bool:
        """Whether the engine accepts no request for now; it asks again when one has ended."""
        return self._engine.needs_backout()

    def take(self, request: Request) -> bool:
        """Fetch and scrape ``request``; False: the engine must.

        With a request that fills ``CONCURRENT_REQUESTS`` the engine is told that there is no other.  It says so to
        receivers of ``scheduler_empty``, to whom it would not be true.
        """
        limit = getattr(self._engine.downloader, "total_concurrency", 0)
        if 0 < limit <= len(self._engine.downloader.active) + 1 and self._told_empty.are_there():
            return False
        self._under_way.begin(request)
        task = asyncio.get_running_loop().create_task(self._serve(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _serve(self, request: Request) -> None:
        result: Any
        try:
            try:
                result = await self._download(request)
            except Exception:  # noqa: BLE001 - for its errback
                result = Failure()  # type: ignore[no-untyped-call]
            finally:
                self._under_way.downloaded(request)
            if isinstance(result, Request):
                self._scraping.follow(result)
            else:
                await self._scrape(result, request)
        except Exception:
            logger.exception("Error while processing %s", request, extra={"spider": self._crawler.spider})
        finally:
            self._under_way.end(request)

    async def _download(self, request: Request) -> Response | Request:
        result = await self._fetch(request)
        if isinstance(result, Response):
            answers(result, request)
            log_line(self._crawler, logger, "crawled", result.request, result)
            self._received.send(response=result, request=result.request)
        elif not isinstance(result, Request):
            raise TypeError(f"Incorrect type: expected Response or Request, got {type(result)}: {result!r}")
        found: Response | Request = result
        return found

    async def _scrape(self, result: Response | Failure, request: Request) -> None:
        self._under_way.scraping(request, result)
        try:
            if self._told_empty.are_there():  # the engine looks before the callback runs, and may say so
                await self._under_way.seen()
            await self._scraping.scrape(result, request)
        finally:
            if isinstance(result, Response):
                self._count("lane/pages")
                forget_selector(result)
                if self._crawl is not None:
                    self._crawl.page_scraped(request)
            self._under_way.scraped(request, result)

    async def _fetch_by_other(self, request: Request) -> Any:
        """By a ``DOWNLOADER`` of the project."""
        self._count("lane/requests")
        engine = self._engine
        more = (engine.spider,) if engine._downloader_fetch_needs_spider else ()
        self._under_way.item_begins()  # it calls the request done a turn of the loop before its answer is here
        try:
            return await ensure_awaitable(engine.downloader.fetch(request, *more))
        finally:
            self._under_way.item_ends()


def open_lane(crawler: Crawler) -> FastLane | None:
    """The lane of a crawl whose spider is open; None with a subclass of the engine, or without asyncio."""
    engine = engine_of(crawler)
    if type(engine) is not ExecutionEngine or not is_asyncio_available():
        return None
    if reason := closes_lane():
        lane_logger.warning("The fast lane is closed: %s", reason)
        return None
    return FastLane(crawler, engine)
