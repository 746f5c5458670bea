"""One crawl of ``scripts/bench memory``: what it holds once the spider is open and its URLs are queued.

It imports little, and fetches nothing.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import TYPE_CHECKING

from scrapy import Spider, signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.misc import load_object

from testbed.children import memory

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from crawlproject.crawl_frontier import CrawlFrontier


class FiveLines(Spider):
    """A spider that does nothing."""

    name = "five-lines"


class Measure:
    """Extension: holds all requests back until ``BENCH_WAIT`` URLs are queued, measures, and ends the crawl."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        crawler.signals.connect(self.opened, signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Measure:
        return cls(crawler)

    def opened(self) -> None:
        cpu, wanted, crawl = time.process_time(), self.crawler.settings.getint("BENCH_WAIT"), None
        if wanted:
            from crawlproject.crawl_frontier import frontier_of

            crawl = frontier_of(self.crawler)
            assert crawl is not None
            crawl.is_paused = True
        self._task = asyncio.ensure_future(self._measure(cpu, wanted, crawl))

    async def _measure(self, cpu: float, wanted: int, crawl: CrawlFrontier | None) -> None:
        while crawl is not None and len(crawl.frontier) < wanted:
            await asyncio.sleep(0.05)
        assert self.crawler.stats is not None
        assert self.crawler.engine is not None
        for name, value in (("cpu", cpu), ("memory", memory()), ("peak", memory("VmHWM"))):
            self.crawler.stats.set_value(f"bench/{name}", value)
        await self.crawler.engine.close_spider_async(reason="measured")


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
