"""Which answers to links are read: the media type stands in the headers, so nothing else need be downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured, StopDownload

from crawlproject.discovery.sitemaps import CALLBACK
from crawlproject.options.links import LinkOptions
from crawlproject.options.start_errors import starting

if TYPE_CHECKING:
    import re
    from typing import Self

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Headers
    from scrapy.statscollectors import StatsCollector

#: ``Request.meta``: its body is read only where it is of one of ``LINKS_TYPES``; links have it, requests may.
BY_TYPE = "links_types"


class PageTypes:
    """An extension that stops the download of other types when their headers have come.

    The answer goes its way without a body, flagged ``download_stopped``; what declares no type is read.
    Setting: ``LINKS_TYPES``.  Stats: ``frontier/links/stopped/content_type``.
    """

    def __init__(self, types: re.Pattern[str], stats: StatsCollector) -> None:
        self._is_read = types.fullmatch
        self._stats = stats

    @classmethod
    @starting()
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Built by Scrapy. Raises NotConfigured where all types are read, ValueError for what is no type."""
        types = LinkOptions.of(crawler).types
        if types is None:
            raise NotConfigured
        assert crawler.stats is not None
        extension = cls(types, crawler.stats)
        crawler.signals.connect(extension.headers_received, signals.headers_received)
        return extension

    def headers_received(self, headers: Headers, request: Request, spider: Spider) -> None:
        """Raises StopDownload, as Scrapy wants it."""
        if not request.meta.get(BY_TYPE) or request.callback == getattr(spider, CALLBACK, None):
            return
        content_type = (headers.get(b"Content-Type") or b"").decode("latin-1")
        media_type = content_type.partition(";")[0].strip()
        if media_type and self._is_read(media_type) is None:
            self._stats.inc_value("frontier/links/stopped/content_type")
            raise StopDownload(fail=False)
