"""Spiders whose requests are examined in the repository."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response


class PostingSpider(Spider):
    """Fetches a page and its links, with its own header, and posts to it."""

    name = "posting"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.seed)

    def parse(self, response: Response) -> Any:
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, headers={"X-Mine": "a; b=c"}, callback=self.done)
        yield Request(response.url, method="POST", body="posted", callback=self.done, dont_filter=True)

    def done(self, response: Response) -> None:
        """Enough."""


class FollowingSpider(Spider):
    """Follows links request by request."""

    name = "following"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.seed)

    def parse(self, response: Response) -> Any:
        yield from response.follow_all(css="a")
