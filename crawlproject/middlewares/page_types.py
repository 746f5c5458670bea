"""Stops downloads of unwanted media types: the type is in the headers, so the body need not be downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured, StopDownload

from crawlproject.download.content_types import media_type
from crawlproject.engine import stats_of
from crawlproject.links import sitemap_callback
from crawlproject.options.links import LinkOptions
from crawlproject.options.start_errors import starting
from crawlproject.requests.meta import BY_TYPE

if TYPE_CHECKING:
    import re
    from typing import Self

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Headers
    from scrapy.statscollectors import StatsCollector


class PageTypes:
    """An extension that stops the download of other media types after the headers.

    The response is processed without a body, flagged ``download_stopped``; one without a type is downloaded.
    Setting: ``LINKS_TYPES``.  Stats: ``frontier/links/stopped/content_type``.
    """

    def __init__(self, types: re.Pattern[str], stats: StatsCollector) -> None:
        self._is_read = types.fullmatch
        self._stats = stats

    @classmethod
    @starting()
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy. Raises NotConfigured if all types are allowed, ValueError for an invalid type."""
        types = LinkOptions.of(crawler).types
        if types is None:
            raise NotConfigured
        extension = cls(types, stats_of(crawler))
        crawler.signals.connect(extension.headers_received, signals.headers_received)
        return extension

    def headers_received(self, headers: Headers, request: Request, spider: Spider) -> None:
        """Raises StopDownload to stop the download."""
        if not request.meta.get(BY_TYPE) or request.callback == sitemap_callback(spider):
            return
        media = media_type(headers)
        if media and self._is_read(media) is None:
            self._stats.inc_value("frontier/links/stopped/content_type")
            raise StopDownload(fail=False)
