"""How much a crawl fetches: of each server and domain, and in all."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.defer import deferred_from_coro

from crawlproject.discovery.sitemaps import CALLBACK
from crawlproject.middlewares.base import CrawlerMiddleware, frontier_scheduler
from crawlproject.options.limits import LimitOptions
from crawlproject.urls import server_key

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

UNCHANGED = 304


class LimitsMiddleware(CrawlerMiddleware):
    """Counts pages and bytes and ends the crawl, or a server's part in it (downloader, outermost).

    A page is an answer 2xx, or 304 to a recrawl, to a request of the frontier; no robots.txt, redirect, error, sitemap.
    Closing reasons, Scrapy's where it has one: ``closespider_pagecount``, ``closespider_bytes``.
    Settings: ``FRONTIER_MAX_*``.  Stats: ``frontier/pages``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._limits = LimitOptions.of(crawler)
        self._pages = 0
        self._bytes = 0
        self._is_closing = False
        if self._limits.max_bytes:
            crawler.signals.connect(self._bytes_received, signals.bytes_received)

    def process_response(self, request: Request, response: Response) -> Response:
        """Count it, if it is a page."""
        scheduler = frontier_scheduler(self._crawler)
        if scheduler is not None and scheduler.handed_out(request) and self._is_page(request, response):
            self._pages += 1
            assert self._crawler.stats is not None
            self._crawler.stats.inc_value("frontier/pages")
            scheduler.page_fetched(server_key(request.url))
            if self._pages >= self._limits.max_pages > 0:
                self._close("closespider_pagecount", f"FRONTIER_MAX_PAGES={self._limits.max_pages}")
        return response

    def _is_page(self, request: Request, response: Response) -> bool:
        is_sitemap = request.callback is not None and request.callback == getattr(self._crawler.spider, CALLBACK, None)
        return not is_sitemap and (200 <= response.status < 300 or response.status == UNCHANGED)

    def _bytes_received(self, data: bytes) -> None:
        self._bytes += len(data)
        if self._bytes >= self._limits.max_bytes:
            self._close("closespider_bytes", f"FRONTIER_MAX_BYTES={self._limits.max_bytes}")

    def _close(self, reason: str, limit: str) -> None:
        engine = self._crawler.engine
        if not self._is_closing and engine is not None and engine.spider is not None:
            self._is_closing = True
            logger.info("The crawl ends: %s is reached", limit)
            deferred_from_coro(engine.close_spider_async(reason=reason))
