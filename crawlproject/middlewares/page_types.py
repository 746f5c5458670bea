"""Stops downloads of unwanted or endless media types: the type is in the headers, the body need not be downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import StopDownload

from crawlproject.download.content_types import ENDLESS, media_type
from crawlproject.engine import stats_of
from crawlproject.links import sitemap_callback
from crawlproject.options.following import LinkOptions
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
    """An extension that stops the download of other media types after the headers, and of those that never end.

    The response is processed without a body, flagged ``download_stopped``; one without a type is downloaded.
    Setting: ``LINKS_TYPES``.  Stats: ``frontier/links/stopped/content_type``.
    """

    def __init__(self, types: re.Pattern[str] | None, stats: StatsCollector) -> None:
        self._types = types
        self._stats = stats

    @classmethod
    @starting()
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy. Raises ValueError for an invalid type."""
        extension = cls(LinkOptions.of(crawler).types, stats_of(crawler))
        crawler.signals.connect(extension.headers_received, signals.headers_received)
        return extension

    def headers_received(self, headers: Headers, request: Request, spider: Spider) -> None:
        """Raises StopDownload to stop the download."""
        if not request.meta.get(BY_TYPE) or request.callback == sitemap_callback(spider):
            return
        media = media_type(headers)
        is_read = not media or self._types is None or self._types.fullmatch(media) is not None
        if media in ENDLESS or not is_read:
            self._stats.inc_value("frontier/links/stopped/content_type")
            raise StopDownload(fail=False)
