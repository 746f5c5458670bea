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


class TypedSpider(Spider):
    """Follows all links of its first page within ``domains``, as somebody has typed them."""

    name = "typed"

    def __init__(self, domains: str, url: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.allowed_domains = domains.split(",")
        self.url = url

    async def start(self) -> AsyncIterator[Request]:
        yield Request(self.url)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request]:
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)


class PostingSpider(Spider):
    """Fetches a page and its links, with its own header, and posts to it."""

    name = "posting"

    async def start(self) -> AsyncIterator[Request]:
        yield Request(self.seed)

    def parse(self, response: Response) -> Iterator[Request]:
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, headers={"X-Mine": "a; b=c"}, callback=self.done)
        yield Request(response.url, method="POST", body="posted", callback=self.done, dont_filter=True)

    def done(self, response: Response) -> None:
        """Enough."""
