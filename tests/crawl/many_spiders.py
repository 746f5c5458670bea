"""Ten spiders, each of one server of an emulated web."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response

from testbed.web import WebSpec

COUNT = 10
HOSTS = [str(WebSpec().address(number)) for number in range(COUNT)]


class _OneServer(Spider):
    """All pages of a server."""

    def __init__(self, port: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.port = port

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"http://{self.allowed_domains[0]}:{self.port}/")

    def parse(self, response: Response) -> Iterator[Any]:
        title = response.css("title::text").get()
        yield {"spider": self.name, "url": response.url, "title": title}
        yield from response.follow_all(css="a")


def _spider(number: int) -> type[_OneServer]:
    """A class, which Scrapy finds in this module."""
    return type(f"Spider{number}", (_OneServer,), {"name": f"spider{number}", "allowed_domains": [HOSTS[number]]})


globals().update((kind.__name__, kind) for kind in map(_spider, range(COUNT)))
