"""Makes a crawl fail that could not go on, so that ``scrapy crawl`` exits with 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy import signals

from crawlproject.engine import fail_crawl
from crawlproject.options.start_errors import logged_already
from crawlproject.signals import commit_failed

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

#: Closing reasons of crawls that could not go on; a spider's own are in its attribute ``failing_reasons``.
FAILING_REASONS = ("store_failed", "repository_failed", "records_failed", "worker_failed", "redis_lost")


class CrawlFailedError(Exception):
    """Raised by ``Crawler.crawl`` after a crawl that could not go on; the log has said why."""


class FailedEnd:
    """Extension: ``Crawler.crawl`` raises CrawlFailedError if the crawl ended because of a failure."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._failure: str | None = None
        crawler.signals.connect(self._closed, signals.spider_closed)
        crawler.signals.connect(self._commit_failed, commit_failed)
        crawler.signals.connect(self._stopped, signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def _closed(self, spider: Spider, reason: str) -> None:
        if reason in FAILING_REASONS or reason in getattr(spider, "failing_reasons", ()):
            self._failure = reason

    def _commit_failed(self) -> None:
        self._failure = self._failure or "commit_failed"

    def _stopped(self) -> None:
        if self._failure is not None:
            fail_crawl(self._crawler, logged_already(CrawlFailedError(self._failure)))
