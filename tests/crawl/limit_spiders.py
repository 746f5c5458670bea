"""Ordinary spiders for limits, order and end of a crawl; they do not depend on this project."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any, Self

from scrapy import signals
from scrapy.exceptions import CloseSpider, DontCloseSpider
from scrapy.http import Response

from tests.crawl.ordinary_spiders import SiteSpider, StartUrlsSpider


class ManySpider(SiteSpider):
    """Yields ``count`` requests for each server at once."""

    name = "many"

    def __init__(self, sites: str, count: str = "50", **kwargs: Any) -> None:
        super().__init__(sites, **kwargs)
        self.count = int(count)

    async def start(self) -> AsyncIterator[Any]:
        for number in range(self.count):
            for server in range(1, len(self.sites) + 1):
                yield self.request(f"{server}/{number}")


class OrderSpider(SiteSpider):
    """From one page, requests with priorities and with qualities."""

    name = "order"

    async def start(self) -> AsyncIterator[Any]:
        yield self.request("1/", callback=self.several)

    def several(self, response: Response) -> Any:
        for priority, quality in ((0, 1), (5, 1), (-3, 1), (5, 3), (2, 2), (9, 0.5), (0, 1)):
            number = f"{priority}q{quality}"
            yield self.request(f"1/{number}", priority=priority, meta={"quality": quality}, dont_filter=True)
            yield self.request(f"2/{number}", priority=priority, dont_filter=True)


class StoppingSpider(SiteSpider):
    """Raises CloseSpider on its third page."""

    name = "stopping"
    pages = 0

    async def start(self) -> AsyncIterator[Any]:
        for number in range(30):
            yield self.request(f"1/{number}")

    def parse(self, response: Response, **kwargs: Any) -> Any:
        self.pages += 1
        yield {"url": response.url}
        if self.pages == 3:
            raise CloseSpider("enough")


class IdleSpider(SiteSpider):
    """Requests one more page when it is idle, twice."""

    name = "idle"
    rounds = 0

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.idle, signals.spider_idle)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        yield self.request("1/0")

    def idle(self) -> None:
        if self.rounds < 2:
            self.rounds += 1
            self.crawler.engine.crawl(self.request(f"1/{self.rounds}"))
            raise DontCloseSpider


class BlockingSpider(StartUrlsSpider):
    """Blocks the loop in each callback until few sessions are open, and ends when all are allowed again."""

    name = "blocking"

    def __init__(self, sites: str, block: str, few: str, every: str, **kwargs: Any) -> None:
        super().__init__(sites, **kwargs)
        self.block = float(block)
        self.few = int(few)
        self.every = int(every)
        self.is_busy = True

    def parse(self, response: Response, **kwargs: Any) -> Any:
        stats = self.crawler.stats
        limit, is_open = (stats.get_value(f"monitor/{name}") for name in ("session_limit", "sessions"))
        if self.is_busy:
            time.sleep(self.block)
            self.is_busy = limit > self.few or is_open > self.few
        elif limit == self.every:
            raise CloseSpider("recovered")
        yield from response.follow_all(css="a")
