"""Limits of a crawl: pages per server and domain, pages and bytes in total, media types.

Also notes what requests end with.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import IgnoreRequest, StopDownload

from crawlproject.crawl_frontier import frontier_of, note_end
from crawlproject.download.address_guard import AddressRefused
from crawlproject.download.content_types import ENDLESS, media_type
from crawlproject.engine import end_crawl
from crawlproject.links import sitemap_callback
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.options.following import LinkOptions
from crawlproject.options.limits import LimitOptions
from crawlproject.options.start_errors import starting
from crawlproject.requests.answers import UNCHANGED
from crawlproject.requests.failures import failure_kind, in_words, is_of_proxy
from crawlproject.requests.meta import BY_TYPE
from crawlproject.urls.fates import Ending, Reason, reason_of_status
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Response

logger = logging.getLogger(__name__)


class LimitsMiddleware(CrawlerMiddleware):
    """Counts pages and bytes, ends the crawl at its limits, reports pages for server limits (downloader, outermost).

    A page is a response 2xx, or 304 in a recrawl, to a frontier request; not a robots.txt, redirect, error or sitemap.
    Closing reasons: ``closespider_pagecount`` (as in Scrapy), ``closespider_bytes``.
    Settings: ``FRONTIER_MAX_*``.  Stats: ``frontier/pages``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._limits = LimitOptions.of(crawler)
        self._is_closing = False
        if self._limits.max_bytes:
            crawler.signals.connect(self._bytes_received, signals.bytes_received)

    def process_response(self, request: Request, response: Response) -> Response:
        frontier = frontier_of(self._crawler)
        if frontier is None or not frontier.handed_out(request):
            return response
        known, media, now = frontier.fates.noted(request), media_type(response.headers), time.time()
        reason = reason_of_status(response.status) if known is None else known.reason
        if response.status == UNCHANGED:
            reason = Reason.UNCHANGED
        frontier.fates.note(request, Ending(reason, response.status, len(response.body), media, now))
        if self._is_page(request, response):
            self._stats.inc_value("frontier/pages")
            frontier.page_fetched(request)
            if reason is Reason.WRONG_TYPE:
                frontier.frontier.servers.learn_misfit(server_key(request.url))
            if frontier.pages >= (most := frontier.limits["pages"]) > 0:
                self._close("closespider_pagecount", f"{most:.0f} pages (FRONTIER_MAX_PAGES, or the operator)")
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Called after all other middlewares: none of them has another request or a response instead."""
        frontier = frontier_of(self._crawler)
        if frontier is not None and frontier.handed_out(request) and frontier.fates.noted(request) is None:
            reason = _reason_of(exception, by_proxy="proxy" in request.meta)
            frontier.fates.note(request, Ending(reason, note=in_words(exception)))

    def _is_page(self, request: Request, response: Response) -> bool:
        is_sitemap = request.callback is not None and request.callback == sitemap_callback(self._crawler.spider)
        return not is_sitemap and (200 <= response.status < 300 or response.status == UNCHANGED)

    def _bytes_received(self, data: bytes) -> None:
        frontier = frontier_of(self._crawler)
        if frontier is None:
            return
        budgets = frontier.frontier.budgets
        budgets.received(len(data))
        if budgets.size >= self._limits.max_bytes:
            self._close("closespider_bytes", f"FRONTIER_MAX_BYTES={self._limits.max_bytes}")

    def _close(self, reason: str, limit: str) -> None:
        if not self._is_closing and end_crawl(self._crawler, reason):
            self._is_closing = True
            logger.info("Limit reached, the crawl ends: %s", limit)


class PageTypes(CrawlerMiddleware):
    """An extension that stops the download of other media types after the headers, and of those that never end.

    The response is processed without a body, flagged ``download_stopped``; one without a type is downloaded.
    Setting: ``FRONTIER_LINKS_TYPES``.
    """

    @starting()
    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._types = LinkOptions.of(crawler).types
        crawler.signals.connect(self.headers_received, signals.headers_received)

    def headers_received(self, headers: Headers, request: Request, spider: Spider) -> None:
        """Raises StopDownload to stop the download."""
        if not request.meta.get(BY_TYPE) or request.callback == sitemap_callback(spider):
            return
        media = media_type(headers)
        is_read = not media or self._types is None or self._types.fullmatch(media) is not None
        if media in ENDLESS or not is_read:
            note_end(self._crawler, request, Ending(Reason.WRONG_TYPE))
            raise StopDownload(fail=False)


def _reason_of(error: Exception, *, by_proxy: bool) -> Reason:
    """Why a request failed for good; ``by_proxy``: it was to take one."""
    if isinstance(error, AddressRefused):
        return Reason.ADDRESS
    if by_proxy and is_of_proxy(error):
        return Reason.PROXY
    return Reason.IGNORED if isinstance(error, IgnoreRequest) else failure_kind(error)[0]
