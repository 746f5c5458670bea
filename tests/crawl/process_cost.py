"""What a test crawl costs its own process: an extension of that process, which adds it to the stats."""

from __future__ import annotations

import asyncio
import gc
import time
from typing import TYPE_CHECKING, Any

from scrapy import signals

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class ProcessCost:
    """Stats: ``test/longest_step`` (seconds of CPU), ``test/longest_step_of``."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._longest = 0.0
        self._of = ""
        self._run: Any = asyncio.Handle._run
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Built by Scrapy."""
        return cls(crawler)

    def _opened(self) -> None:
        gc.collect()
        run = self._run

        def timed(handle: asyncio.Handle) -> None:
            started = time.thread_time()
            run(handle)
            took = time.thread_time() - started
            if took > self._longest:
                self._longest, self._of = took, repr(handle)

        asyncio.Handle._run = timed  # type: ignore[attr-defined]

    def _closed(self) -> None:
        asyncio.Handle._run = self._run  # type: ignore[attr-defined]
        assert self._crawler.stats is not None
        self._crawler.stats.set_value("test/longest_step", self._longest)
        self._crawler.stats.set_value("test/longest_step_of", self._of)
