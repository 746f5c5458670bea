"""The extension that opens the control room, and applies the orders of earlier runs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.misc import load_object

from crawlproject.crawl_frontier import frontier_of
from crawlproject.monitor.console.control import Control
from crawlproject.monitor.console.order_book import FILE_NAME, OrderBook
from crawlproject.options.monitor import ConsoleOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Self

    from scrapy.crawler import Crawler

    from crawlproject.crawl_frontier import CrawlFrontier

logger = logging.getLogger(__name__)

#: Loaded only if there is a port: it imports the web server.
SERVICE = "crawlproject.monitor.console.service.ConsoleService"


class Console:
    """Extension: the control room at ``FRONTIER_CONSOLE_PORT``. Stats: ``console/actions``.

    Without a port it only applies the orders of an earlier run that were kept on disk, or those of all workers.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._port = ConsoleOptions.of(crawler).port
        self._service: Any = None
        self._control: Control | None = None
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def _opened(self) -> Awaitable[None] | None:
        crawl = frontier_of(self._crawler)
        if crawl is None and self._port:
            logger.error("No console: FRONTIER_CONSOLE_PORT needs crawlproject.scheduler.FrontierScheduler")
        if crawl is None or not (self._port or crawl.store.directory is not None or crawl.store.orders is not None):
            return None
        return self._start(crawl)

    async def _start(self, crawl: CrawlFrontier) -> None:
        book = OrderBook(None if crawl.store.directory is None else crawl.store.directory / FILE_NAME)
        book.load()
        self._control = control = Control(self._crawler, crawl, book)
        if self._port:
            service = load_object(SERVICE)(self._crawler, crawl, book, control.actions())
            self._service = service if await service.start() else None
        await control.restore(with_console=self._service is not None)

    def _closed(self) -> Awaitable[None] | None:
        if self._control is not None:
            self._control.close()
        stopping: Awaitable[None] | None = None if self._service is None else self._service.stop()
        return stopping
