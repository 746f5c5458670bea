"""Stops downloads of unwanted or endless media types: the type is in the headers, the body need not be downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import StopDownload

from crawlproject.crawl_frontier import note_end
from crawlproject.download.content_types import ENDLESS, media_type
from crawlproject.links import sitemap_callback
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.options.following import LinkOptions
from crawlproject.options.start_errors import starting
from crawlproject.requests.meta import BY_TYPE
from crawlproject.urls.fates import Ending, Reason

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Headers


class PageTypes(CrawlerMiddleware):
    """An extension that stops the download of other media types after the headers, and of those that never end.

    The response is processed without a body, flagged ``download_stopped``; one without a type is downloaded.
    Setting: ``FRONTIER_LINKS_TYPES``.
    """

    @starting()
    def __init__(self, crawler: Crawler) -> None:
        """Raises ValueError for an invalid type."""
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
