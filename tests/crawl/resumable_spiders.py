"""Spiders whose crawls are stopped and resumed."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from collections.abc import AsyncIterator
from threading import Lock
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response

from crawlproject.crawl_frontier import frontier_of
from crawlproject.engine import stats_of, unfinished_requests
from crawlproject.links import Links
from crawlproject.spiders.web import WebSpider


class SiteSpider(Spider):
    """Crawls ``site``; with ``stop`` it ends before all pages are fetched."""

    def __init__(self, site: str, stop: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.site = site
        self.stop = stop


class TaggingSpider(SiteSpider):
    """Ordinary requests with all attributes; stops in the first run after its first page."""

    name = "tagging"

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


class DyingSpider(SiteSpider):
    """Follows all links, as ordinary requests; with ``stop`` the process is killed by the page ``/last``, when what was
    queued before has been stored."""

    name = "dying"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.site)

    async def parse(self, response: Response) -> Any:
        if self.stop and response.url.endswith("/last"):
            crawl = frontier_of(self.crawler)
            assert crawl is not None
            for _ in range(3):  # the dupefilter's file follows two cuts later
                while not await crawl.store.saved():
                    pass  # the machine is busy
            os.kill(os.getpid(), signal.SIGKILL)
        for request in response.follow_all(css="a"):
            yield request


class PagesSpider(WebSpider):
    """Its feed has its name."""

    name = "pages"


class KilledSpider(WebSpider):
    """Killed when ``TEST_KILL_AFTER`` pages are done and committed; 0: never."""

    name = "killed"

    async def start(self) -> AsyncIterator[Any]:
        async for output in super().start():
            yield output
        pages, stats, crawl = self.settings.getint("TEST_KILL_AFTER"), stats_of(self.crawler), frontier_of(self.crawler)
        if pages and crawl is not None:
            while stats.get_value("item_scraped_count", 0) < pages or unfinished_requests(self.crawler):
                await asyncio.sleep(0.01)
            assert await crawl.store.saved()
            os.kill(os.getpid(), signal.SIGKILL)


class FullDiskSpider(WebSpider):
    """No file of its process may grow beyond 120 kB."""

    name = "full"

    async def start(self) -> AsyncIterator[Any]:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, resource.RLIM_INFINITY))
        async for output in super().start():
            yield output


class LocksSpider(SiteSpider):
    """Requests that cannot be stored, two levels deep, among others; ends after the page ``stop``, killed at once
    if it begins with a minus."""

    name = "locks"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.site)

    def parse(self, response: Response) -> Any:
        for number in range(3):
            yield response.follow(f"/first{number}", self.parse_first, meta={"lock": Lock()})
        yield response.follow("/plain", self.parse_last)
        yield Links(response, ["/link0", "/link1"], callback=lambda response: self.parse_last(response))
        self.end_after(response)

    def parse_first(self, response: Response) -> Any:
        yield response.follow(response.url.replace("first", "second"), self.parse_last, cb_kwargs={"lock": Lock()})
        yield response.follow(response.url.replace("first", "third"), self.parse_last)
        self.end_after(response)

    def parse_last(self, response: Response, lock: Any = None) -> Any:
        yield {"url": response.url}
        self.end_after(response)

    def end_after(self, response: Response) -> None:
        if self.stop and response.url.endswith(self.stop.lstrip("-")):
            if self.stop.startswith("-"):
                os.kill(os.getpid(), signal.SIGKILL)
            self.crawler.engine.close_spider(self, "stopped")
