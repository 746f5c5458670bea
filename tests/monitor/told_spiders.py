"""A spider that notes what the panel, the console and the stats say when its run ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

from crawlproject.crawl_frontier import frontier_of
from crawlproject.monitor.console.order_book import OrderBook
from crawlproject.monitor.console.room import CrawlRoom
from crawlproject.monitor.figures import figures_of
from crawlproject.monitor.progress.words import topics
from crawlproject.signals import frontier_closing
from tests.crawl.ordinary_spiders import StartUrlsSpider


class ToldSpider(StartUrlsSpider):
    """Writes it to the file ``told``."""

    name = "told"

    def __init__(self, sites: str, told: str, **kwargs: Any) -> None:
        super().__init__(sites, **kwargs)
        self.path = Path(told)
        self.told: dict[str, Any] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.ending, frontier_closing)
        crawler.signals.connect(spider.ended, signals.engine_stopped)
        return spider

    def ending(self) -> None:
        crawl = frontier_of(self.crawler)
        assert crawl is not None
        figures_of(self.crawler).now(fresh=0.0)
        room = CrawlRoom(self.crawler, crawl, OrderBook(None))
        panel = topics(figures_of(self.crawler).now())
        lines = [f"{label.lower()} {', '.join(words)}" for label, words in panel.items()]
        self.told = {"panel": "\n".join(lines), "console": room.figures()}

    def ended(self) -> None:
        self.path.write_text(json.dumps(self.told | {"stats": self.crawler.stats.get_stats()}, default=str))
