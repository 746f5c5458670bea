"""An extension for test crawls: CPU time of the event loop's longest step, and peak memory, as stats."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from scrapy import signals

from testbed.children import memory

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

#: Stats that it sets: CPU seconds of the thread, and by which callbacks; megabytes; URLs that were never fetched.
STEP, STEP_OF, MEMORY, MISSED = "probe/longest_step", "probe/longest_step_of", "probe/memory", "probe/missed"


class LoopProbe:
    """Times every callback of the event loop by ``time.thread_time``: a busy machine does not matter.

    Setting: ``PROBE_AWAITED``, URLs.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._longest: list[tuple[float, str]] = [(0.0, "")]
        run = asyncio.events.Handle._run

        def timed(handle: asyncio.Handle) -> None:
            started = time.thread_time()
            try:
                run(handle)
            finally:
                took = time.thread_time() - started
                if took > 0.1:
                    self._longest = sorted([*self._longest, (took, str(handle)[:300])])[-10:]

        asyncio.events.Handle._run = timed  # type: ignore[method-assign]
        self._awaited = set(crawler.settings.getlist("PROBE_AWAITED"))
        crawler.signals.connect(self._left, signals.request_left_downloader)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LoopProbe:
        return cls(crawler)

    def _left(self, request: Request) -> None:
        """End the crawl after the last of the awaited URLs: the links of their pages need not be fetched."""
        if request.url in self._awaited:
            self._awaited.discard(request.url)
            if not self._awaited:
                assert self._crawler.engine is not None
                asyncio.ensure_future(self._crawler.engine.close_spider_async(reason="awaited"))  # noqa: RUF006

    def _closed(self) -> None:
        stats = self._crawler.stats
        assert stats is not None
        stats.set_value(STEP, self._longest[-1][0])
        stats.set_value(STEP_OF, self._longest)
        stats.set_value(MISSED, len(self._awaited))
        stats.set_value(MEMORY, memory("VmHWM"))
