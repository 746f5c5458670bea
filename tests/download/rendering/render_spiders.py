"""A spider for pages that are rendered by its wish."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response

from crawlproject.links import Links


class WishSpider(Spider):
    """Requests each URL of a JSON dict with its ``meta["render"]``; an item has the text and links."""

    name = "wish"

    def __init__(self, wishes: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.wishes = json.loads(wishes)

    async def start(self) -> AsyncIterator[Any]:
        for url, wish in self.wishes.items():
            yield Request(url, self.parse, errback=self.failed, meta={"render": wish}, dont_filter=True)

    def parse(self, response: Response) -> Iterator[Any]:
        yield {
            "url": response.url,
            "status": response.status,
            "text": response.text,
            "links": [response.urljoin(href) for href in response.css("a::attr(href)").getall()],
            "base": response.css("base::attr(href)").get(),
            "flags": response.flags,
            "response_time": response.meta.get("response_time"),
        }
        yield Links(response, ())

    def failed(self, failure: Any) -> Iterator[Any]:
        yield {"url": failure.request.url, "failed": repr(failure.value)}
