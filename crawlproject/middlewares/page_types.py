"""Which answers to links are read: the media type stands in the headers, so nothing else need be downloaded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured, StopDownload

from crawlproject.discovery.sitemaps import CALLBACK
from crawlproject.options.start_errors import starting

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Headers
    from scrapy.statscollectors import StatsCollector

#: ``Request.meta``: its body is read only where it is of one of ``LINKS_TYPES``; links have it, requests may.
BY_TYPE = "links_types"

#: Text, and what is text by another name: HTML, XML and what is written in it, JSON.
DEFAULT_TYPES = ("text/*", "application/xhtml+xml", "application/xml", "*/*+xml", "application/json", "*/*+json")

_type = re.compile(r"[a-z0-9!#$&^_.+-]+|\*", re.IGNORECASE).fullmatch


class PageTypes:
    """An extension that stops the download of other types when their headers have come.

    The answer goes its way without a body, flagged ``download_stopped``; what declares no type is read.
    Setting: ``LINKS_TYPES``.  Stats: ``frontier/links/stopped/content_type``.
    """

    def __init__(self, types: Iterable[str], stats: StatsCollector) -> None:
        self._is_read = re.compile("|".join(map(_pattern, types)), re.IGNORECASE).fullmatch
        self._stats = stats

    @classmethod
    @starting()
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Built by Scrapy. Raises NotConfigured where all types are read, ValueError for what is no type."""
        types = crawler.settings.getlist("LINKS_TYPES", list(DEFAULT_TYPES))
        if not types or "*/*" in types:
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


def _pattern(media_type: str) -> str:
    """``text/*`` or ``*/*+xml`` as a regular expression."""
    parts = media_type.strip().split("/")
    if len(parts) != 2 or not all(_type(part.removeprefix("*")) or part == "*" for part in parts):
        raise ValueError(f"LINKS_TYPES={media_type!r}: must be media types as text/html, text/* or */*+xml")
    return re.escape(media_type.strip()).replace(r"\*", "[^/]*")
