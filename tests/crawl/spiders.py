"""Spiders as any Scrapy user writes them, for crawls of broken servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, Spider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure


class ErrbackSpider(Spider):
    """Asks for ``count`` pages of ``root``; an item says what each request failed with."""

    name = "errback"

    async def start(self) -> AsyncIterator[Request]:
        """All requests."""
        for number in range(int(self.count)):
            yield Request(f"{self.root}/{number}", errback=self.failed)

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        """An answer after all."""
        yield {"path": urlsplit(response.url).path, "error": None}

    def failed(self, failure: Failure) -> Iterator[dict[str, Any]]:
        """A request that failed."""
        yield {"path": urlsplit(failure.request.url).path, "error": failure.type.__name__}
