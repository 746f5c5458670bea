"""One crawl of `scripts/bench_memory.py`: what it holds once the spider is open, and once its URLs are queued.

It imports little, and fetches nothing.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from typing import TYPE_CHECKING

from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse
from scrapy.utils.misc import load_object

from testbed.children import memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler

LINKS_PER_PAGE = 40
#: Share of a page's links that lead to its own server, and of those that lead to pages found before.
OWN_SHARE, KNOWN_SHARE = 0.75, 0.5


class FiveLines(Spider):
    """A spider that does nothing."""

    name = "five-lines"


def url_of(number: int, server: int) -> str:
    """A URL of a usual length, about 60 characters."""
    return f"http://www.host-{server}.example/articles/{number % 97}/page-{number}.html"


def pages(urls: int, servers: int) -> Iterator[tuple[str, list[str]]]:
    """Pages and their links, until there are ``urls`` different ones."""
    chance = random.Random(1)
    found: list[int] = []  # server by number of URL
    while len(found) < urls:
        home = chance.randrange(servers)
        links = []
        for _ in range(LINKS_PER_PAGE):
            if found and chance.random() < KNOWN_SHARE:
                number = chance.randrange(len(found))
            else:
                number = len(found)
                found.append(home if chance.random() < OWN_SHARE else chance.randrange(servers))
            links.append(url_of(number, found[number]))
        yield f"http://www.host-{home}.example/", links


class Measure:
    """Extension: holds all requests back, measures, and ends the crawl.

    ``BENCH_PAGES = [urls, servers]``: finds so many URLs on pages.  ``BENCH_WAIT``: number of queued URLs to wait for.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        crawler.signals.connect(self.opened, signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Measure:
        return cls(crawler)

    def opened(self) -> None:
        self._set("start_cpu", time.process_time())
        self._set("start_memory", memory())
        if "crawlproject.scheduler" not in sys.modules:
            self._task = asyncio.ensure_future(self._end())
            return
        from crawlproject.crawl_frontier import frontier_of

        self._crawl = frontier_of(self.crawler)
        assert self._crawl is not None
        self._crawl.is_paused = True
        self._task = asyncio.ensure_future(self._measure())

    async def _measure(self) -> None:
        settings = self.crawler.settings
        if settings["BENCH_PAGES"]:
            await self._find(*settings["BENCH_PAGES"])
        while len(self._crawl.frontier) < settings.getint("BENCH_WAIT"):
            await asyncio.sleep(0.05)
        self._set("urls", len(self._crawl.frontier))
        self._set("servers", self._crawl.frontier.counts()["servers"])
        self._set("memory", memory())
        self._set("peak", memory("VmHWM"))
        await self._end()

    async def _find(self, urls: int, servers: int) -> None:
        from crawlproject.links import Links

        for number, (url, links) in enumerate(pages(urls, servers)):
            response = HtmlResponse(url, request=Request(url))
            for _ in self._crawl.intake.push_links(Links(response, links)):
                pass
            if number % 50 == 0:
                await asyncio.sleep(0)

    async def _end(self) -> None:
        engine = self.crawler.engine
        assert engine is not None
        await engine.close_spider_async(reason="measured")

    def _set(self, name: str, value: float) -> None:
        assert self.crawler.stats is not None
        self.crawler.stats.set_value(f"bench/{name}", value)


def main() -> None:
    """Crawl by ``[settings, spider, arguments]`` in JSON, and print the stats."""
    settings, spider, arguments = json.loads(sys.argv[1])
    process = AsyncCrawlerProcess({"EXTENSIONS": {Measure: 0}} | settings)
    crawler = process.create_crawler(load_object(spider) if spider else FiveLines)
    process.crawl(crawler, **arguments)
    process.start()
    assert crawler.stats is not None
    print(json.dumps(crawler.stats.get_stats(), default=str))


if __name__ == "__main__":
    main()
