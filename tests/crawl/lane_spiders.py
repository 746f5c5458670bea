"""Spiders and components of projects that would notice if their pages took the fast lane."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals

from crawlproject.links import Links

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response


class BulkSpider(Spider):
    """Follows all links in bulk, from ``seeds``."""

    name = "bulk"

    async def start(self) -> AsyncIterator[Any]:
        """The seeds."""
        yield Links(None, self.seeds.split(","))

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        """The page's address, and its links."""
        yield {"url": response.url, "flags": response.flags}
        yield Links(response, response.css("a::attr(href)").getall())


class AwaitingSpider(BulkSpider):
    """Its callback awaits."""

    async def parse(self, response: Response, **kwargs: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        """See ``BulkSpider``."""
        await asyncio.sleep(0)
        for output in super().parse(response):
            yield output


class FailingSpider(BulkSpider):
    """Its callback fails after the item of each page but the first."""

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        """See ``BulkSpider``."""
        outputs = list(super().parse(response))
        yield outputs[0]
        if response.meta["depth"]:
            raise ValueError("no")
        yield outputs[1]


class ProxySpider(BulkSpider):
    """Follows links by ``proxy``, one by one."""

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        """See ``BulkSpider``."""
        yield {"url": response.url, "proxy": response.meta.get("proxy")}
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, meta={"proxy": self.proxy})


class ManySpider(BulkSpider):
    """Yields many items, and how often the event loop has had its turn meanwhile."""

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        """See ``BulkSpider``."""
        turns = 0

        def turn() -> None:
            nonlocal turns
            turns += 1
            timer[0] = loop.call_soon(turn)

        loop = asyncio.get_running_loop()
        timer = [loop.call_soon(turn)]
        for number in range(1000):
            yield {"url": response.url, "number": number}
        timer[0].cancel()
        yield {"url": response.url, "turns": turns}


class LateSpider(BulkSpider):
    """Connects to a signal while its second page is parsed."""

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        """See ``BulkSpider``."""
        if response.meta["depth"] == 1:
            self.crawler.signals.connect(self.on_response, signals.response_received)
        yield from super().parse(response)

    def on_response(self, response: Response) -> None:
        """Count a response."""
        self.crawler.stats.inc_value("late/responses")


class RaisingMiddleware:
    """A downloader middleware with an error for one page."""

    def process_response(self, request: Request, response: Response) -> Response:
        """Raises ValueError for /broken."""
        if response.url.endswith("/broken"):
            raise ValueError("broken")
        return response


class SeeingMiddleware:
    """A spider middleware that marks items."""

    def process_spider_output(self, response: Response, result: Any) -> Iterator[Any]:
        """Mark items."""
        for output in result:
            yield {**output, "seen": True} if isinstance(output, dict) else output

    async def process_spider_output_async(self, response: Response, result: Any) -> AsyncIterator[Any]:
        """Mark items."""
        async for output in result:
            yield {**output, "seen": True} if isinstance(output, dict) else output


class AwaitingPipeline:
    """A pipeline that waits before it changes an item."""

    async def process_item(self, item: Any) -> Any:
        """Mark the item."""
        await asyncio.sleep(0.01)
        return {**item, "piped": True}


class Listener:
    """An extension that listens to what the engine says of each response and item."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats
        for name in crawler.settings.getlist("LISTENED"):
            crawler.signals.connect(getattr(self, name), getattr(signals, name))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Listener:
        """Called by Scrapy."""
        return cls(crawler)

    def response_received(self, response: Response, request: Request) -> None:
        """Count a response."""
        self._stats.inc_value("listened/responses")

    def request_reached_downloader(self, request: Request) -> None:
        """Count a request."""
        self._stats.inc_value("listened/requests")

    async def item_scraped(self, item: Any) -> None:
        """Count an item."""
        await asyncio.sleep(0)
        self._stats.inc_value("listened/items")

    def bytes_received(self, data: bytes) -> None:
        """Count bytes, which the lane tells everybody."""
        self._stats.inc_value("listened/bytes", len(data))
