"""The extension that opens the fast lane, and the way of a request through it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.http import Request, Response
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.python.failure import Failure

from crawlproject.crawl_frontier import frontier_of
from crawlproject.download.body_budget import crawl_budget
from crawlproject.download.receivers import log_line
from crawlproject.engine import RequestsUnderWay, engine_of
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.middlewares.lane.downloading import Downloading
from crawlproject.middlewares.lane.scraping import Scraping
from crawlproject.options.scheduling import FrontierOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)
engine_logger = logging.getLogger("scrapy.core.engine")

#: CPU of a page on Scrapy's own way, for the log: docs/research/performance.md.
COSTS = "about 1 ms more CPU per page"


class FastLane(CrawlerMiddleware):
    """Extension: takes requests from the scheduler, instead of the engine.

    Each half of the way, to the response and to its items and links, is skipped if a component of the project would
    notice; the log says once which.  Setting: ``FRONTIER_FAST_LANE``.  Stats: ``lane/requests``, ``lane/pages``.
    """

    def __init__(self, crawler: Crawler) -> None:
        if not FrontierOptions.of(crawler).fast_lane:
            raise NotConfigured
        super().__init__(crawler)
        self._budget = crawl_budget(crawler)
        self._tasks: set[asyncio.Task[None]] = set()
        self._said: set[str] = set()
        crawler.signals.connect(self._opened, signals.spider_opened)

    def _opened(self) -> None:
        frontier, engine = frontier_of(self._crawler), engine_of(self._crawler)
        if frontier is None or engine is None or not is_asyncio_available():
            return
        self._engine = engine
        self._under_way = RequestsUnderWay(engine)
        self._downloading = Downloading(self._crawler, engine)
        self._scraping = Scraping(self._crawler, engine)
        frontier.take, frontier.fetch, frontier.is_full = self._take, self._fetch, engine.needs_backout

    def _take(self, request: Request) -> bool:
        """See ``CrawlFrontier.take``."""
        if not self._is_open(self._downloading.why_not(request), "requests") or not self._downloading.takes(request):
            return False
        self._under_way.begin(request)
        task = asyncio.get_running_loop().create_task(self._serve(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    def _fetch(self, request: Request) -> Awaitable[Response] | None:
        """See ``CrawlFrontier.fetch``."""
        if not self._is_open(self._downloading.why_not(request), "requests") or not self._downloading.takes(request):
            return None
        return self._download_to_the_end(request)

    async def _download_to_the_end(self, request: Request) -> Response:
        while True:
            self._under_way.begin(request)
            try:
                result = await self._download(request)
            finally:
                self._under_way.downloaded(request)
                self._under_way.end(request)
            if isinstance(result, Response):
                return result
            request = result

    async def _serve(self, request: Request) -> None:
        """The way of a request from the scheduler."""
        try:
            result: Any
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
        self._stats.inc_value("lane/requests")
        result = await self._downloading.download(request)
        if isinstance(result, Response):
            log_line(self._crawler, engine_logger, "crawled", result.request or request, result)
        return result

    async def _scrape(self, result: Response | Failure, request: Request) -> None:
        is_open = self._is_open(self._scraping.why_not(), "responses")
        if is_open and isinstance(result, Failure) and self._scraping.fail(result, request):
            return
        if not is_open or isinstance(result, Failure) or not self._scraping.takes(result):
            await maybe_deferred_to_future(self._engine.scraper.enqueue_scrape(result, request))
            return
        self._stats.inc_value("lane/pages")
        self._under_way.scraping(request, result)
        try:
            await self._scraping.scrape(result, request)
        finally:
            self._budget.scraped(result)
            self._under_way.scraped(request, result)

    def _is_open(self, why_not: str | None, what: str) -> bool:
        if why_not is not None and why_not not in self._said:
            self._said.add(why_not)
            logger.info("The fast lane is closed for %s, which takes %s: %s", what, COSTS, why_not)
        return why_not is None
