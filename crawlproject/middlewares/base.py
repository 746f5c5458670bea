"""Base class of middlewares, and of an extension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.engine import stats_of

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class CrawlerMiddleware:
    """Holds the crawler and its stats."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._stats = stats_of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)
