"""A worker whose disk is full after some commits to its local copy, and one with requests that cannot be stored."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response

from crawlproject.backends import choice
from crawlproject.backends.redis import RedisBackend
from crawlproject.spiders.web import WebSpider
from crawlproject.storage.errors import StoreError


class FullDiskBackend(RedisBackend):
    """``TEST_FULL_AFTER``: number of commits that succeed; 0: all."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        left = self._crawler.settings.getint("TEST_FULL_AFTER")
        commit = self._local.commit

        def fails_later() -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                self._local.commit = full  # type: ignore[method-assign]
            return commit()

        def full() -> Any:
            raise StoreError(Path("local copy"), "No space left on device")

        self._local.commit = fails_later  # type: ignore[method-assign]


choice.BACKENDS["redis"] = "tests.crawl.failing_workers.FullDiskBackend"


class FullDiskSpider(WebSpider):
    """The web spider."""

    name = "full_disk"


class UnstoredSpider(Spider):
    """A start request and a request of its page that have functions as callbacks; ``site``: URL of the server."""

    name = "unstored"
    site: str

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.site, callback=lambda response: self.first(response))

    def first(self, response: Response) -> Any:
        yield response.follow("/stored", callback=self.parse)
        yield response.follow("/kept", callback=lambda _: {"url": response.url})

    def parse(self, response: Response, **kwargs: Any) -> Any:
        yield response.follow("/kept/too", callback=lambda _: {"url": response.url})
