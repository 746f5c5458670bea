"""Spiders whose crawls are stopped and resumed."""

from __future__ import annotations

import resource
import signal
from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response

from crawlproject.spiders.web import WebSpider


class TaggingSpider(Spider):
    """Ordinary requests with everything on them; stops itself in the first run, after its first page."""

    name = "tagging"

    def __init__(self, site: str, stop: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.site = site
        self.stop = stop

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.site, callback=self.parse_home, dont_filter=False)

    def parse_home(self, response: Response) -> Any:
        for number, link in enumerate(response.css("a::attr(href)").getall()):
            yield response.follow(
                link,
                callback=self.parse_tagged,
                errback=self.failed,
                headers={"X-Number": str(number)},
                meta={"tag": ("t", number), "raw": b"\xff\x00"},
                cb_kwargs={"number": number},
                priority=number % 3,
            )
        yield response.follow("/object", meta={"object": object()}, priority=-5)
        if self.stop:
            self.crawler.engine.close_spider(self, "stopped")

    def parse_tagged(self, response: Response, number: int) -> Any:
        yield {
            "url": response.url,
            "number": number,
            "tag": response.meta["tag"] == ("t", number),
            "raw": response.meta["raw"] == b"\xff\x00",
            "header": response.request.headers["X-Number"].decode(),
        }

    def failed(self, failure: Any) -> Any:
        yield {"url": failure.request.url, "failed": True}


class FullDiskSpider(WebSpider):
    """No file of its process may grow beyond 200 kB."""

    name = "full"

    async def start(self) -> AsyncIterator[Any]:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        async for output in super().start():
            yield output
