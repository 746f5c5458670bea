"""A spider of somebody's own, whose allowed domains are given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response


class OrdinarySpider(Spider):
    """Follows all links of its first page."""

    name = "typed"

    def __init__(self, domains: str, url: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.allowed_domains = domains.split(",")
        self._url = url

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self._url)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request]:
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)
