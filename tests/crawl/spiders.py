"""Ordinary spiders for crawls of broken servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, Spider

from crawlproject.links import Links

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure


class ErrbackSpider(Spider):
    """Requests ``count`` pages of ``root``; an item has the failure of each request."""

    name = "errback"

    async def start(self) -> AsyncIterator[Request]:
        for number in range(int(self.count)):
            yield Request(f"{self.root}/{number}", errback=self.failed)

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {"path": urlsplit(response.url).path, "error": None}

    def failed(self, failure: Failure) -> Iterator[dict[str, Any]]:
        yield {"path": urlsplit(failure.request.url).path, "error": failure.type.__name__}


class LinksSpider(Spider):
    """Follows every link by ``Links``; an item for each page."""

    name = "links"

    async def start(self) -> AsyncIterator[Links]:
        yield Links(None, self.seeds.split(","))

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url}
        yield Links(response, response.css("a::attr(href)").getall())


class StartElsewhereSpider(LinksSpider):
    """Its start pages are outside of its domains, which plain Scrapy allows."""

    name = "start_elsewhere"
    allowed_domains = ["www.other.test"]

    async def start(self) -> AsyncIterator[Any]:
        for seed in self.seeds.split(","):
            yield Request(seed, dont_filter=True)
