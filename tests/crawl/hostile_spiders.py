"""Spiders that request given URLs and report the results."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response


class ToldSpider(Spider):
    """Requests each URL of a JSON list; an item has the result."""

    name = "told"

    def __init__(self, urls: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.urls = json.loads(urls)

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            try:
                yield Request(url, self.parse, errback=self.failed, cb_kwargs={"told": url}, dont_filter=True)
            except ValueError as error:
                yield {"told": url, "failed": type(error).__name__}

    def parse(self, response: Response, told: str = "") -> Iterator[Any]:
        yield {"told": told, "url": response.url, "status": response.status, "text": response.text}

    def failed(self, failure: Any) -> Iterator[Any]:
        told = failure.request.cb_kwargs["told"]
        kinds = [kind.__name__ for kind in type(failure.value).__mro__]
        yield {"told": told, "failed": kinds[0], "ignored": IgnoreRequest.__name__ in kinds, "why": str(failure.value)}


class AfterwardsSpider(ToldSpider):
    """Requests the first URL, the second in the callback, and then all others bypassing the scheduler."""

    name = "afterwards"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.urls[0], self.second)

    async def second(self, response: Response) -> AsyncIterator[Any]:
        yield {"told": response.url, "status": response.status}
        yield Request(self.urls[1], self.parse, errback=self.failed, cb_kwargs={"told": self.urls[1]})
        for url in self.urls[2:]:
            try:
                answer = await self.crawler.engine.download_async(Request(url))
                yield {"told": url, "status": answer.status}
            except IgnoreRequest as error:
                yield {"told": url, "failed": type(error).__name__, "why": str(error)}


class ProxyMiddleware:
    """Sends all requests through the proxy in the setting ``TEST_PROXY``."""

    def __init__(self, proxy: str) -> None:
        self.proxy = proxy

    @classmethod
    def from_crawler(cls, crawler: Any) -> ProxyMiddleware:
        return cls(crawler.settings["TEST_PROXY"])

    def process_request(self, request: Request) -> None:
        request.meta["proxy"] = self.proxy
