"""Spiders and components of projects."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.core.downloader import Downloader
from scrapy.pipelines import ItemPipelineManager

from crawlproject.links import Links

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred


class BulkSpider(Spider):
    """Follows all links in bulk, from ``seeds``."""

    name = "bulk"

    async def start(self) -> AsyncIterator[Any]:
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
        self.crawler.stats.inc_value("late/responses")


class OwnDownloader(Downloader):
    """A downloader of a project."""

    def fetch(self, request: Request, spider: Spider | None = None) -> Deferred[Response | Request]:
        self.crawler.stats.inc_value("own/DOWNLOADER")
        return super().fetch(request)


class OwnItem_Processor(ItemPipelineManager):  # noqa: N801 - by the name of its setting
    """What a project has instead of Scrapy's pipelines."""

    async def process_item_async(self, item: Any) -> Any:
        await asyncio.sleep(0)
        self.crawler.stats.inc_value("own/ITEM_PROCESSOR")
        return {**item, "processed": True}


class Listener:
    """An extension that listens to what arrives."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats
        for name in crawler.settings.getlist("LISTENED"):
            crawler.signals.connect(getattr(self, name), getattr(signals, name))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Listener:
        return cls(crawler)

    def bytes_received(self, data: bytes) -> None:
        """Count bytes, which the lane tells everybody."""
        self._stats.inc_value("listened/bytes", len(data))
