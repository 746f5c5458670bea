"""Spiders that block the event loop."""

from __future__ import annotations

import time
from typing import Any

from scrapy.exceptions import CloseSpider
from scrapy.http import Response

from tests.crawl.ordinary_spiders import StartUrlsSpider


class BlockingSpider(StartUrlsSpider):
    """Blocks the loop in each callback until few sessions are open, and ends when all are allowed again."""

    name = "blocking"

    def __init__(self, sites: str, block: str, few: str, every: str, **kwargs: Any) -> None:
        super().__init__(sites, **kwargs)
        self.block = float(block)
        self.few = int(few)
        self.every = int(every)
        self.is_busy = True

    def parse(self, response: Response, **kwargs: Any) -> Any:
        stats = self.crawler.stats
        limit, is_open = (stats.get_value(f"monitor/{name}") for name in ("session_limit", "sessions"))
        if self.is_busy:
            time.sleep(self.block)
            self.is_busy = limit > self.few or is_open > self.few
        elif limit == self.every:
            raise CloseSpider("recovered")
        yield from response.follow_all(css="a")
