"""Spiders of a worker that sends every URL away, and gets it back as if another worker had sent it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from scrapy.crawler import Crawler
from scrapy.http import Response

from crawlproject.backends import choice
from crawlproject.backends.disk import DiskBackend
from crawlproject.backends.protocol import Host
from crawlproject.frontier import Entry
from crawlproject.links import Links
from tests.backends.worker import ListExchange
from tests.crawl.ordinary_spiders import StartUrlsSpider


class LoopExchange(ListExchange):
    """All URLs are foreign, but for those being received."""

    def __init__(self) -> None:
        super().__init__(own="")
        self.arrived = asyncio.Event()
        self._is_receiving = False

    def is_own(self, url: str) -> bool:
        return self._is_receiving

    def send(self, entries: Sequence[Entry]) -> None:
        super().send(entries)
        self.arrived.set()

    @contextmanager
    def receiving(self) -> Iterator[list[Entry]]:
        entries, self.sent = self.sent, []
        self.arrived.clear()
        self._is_receiving = True
        yield entries
        self._is_receiving = False


class LoopBackend(DiskBackend):
    """The crawl goes on while anything is under way; it stops once for a while, and closes late."""

    def __init__(self, crawler: Crawler, options: Any, frontier: Any, seen: Any, host: Host) -> None:
        super().__init__(crawler, options, frontier, seen, host)
        self._host = host
        self.exchange: LoopExchange = LoopExchange()
        self._task: asyncio.Task[None] | None = None
        self._is_allowed = True

    async def opened(self) -> None:
        await asyncio.sleep(0)
        self._stats.inc_value("loop/opened")
        self._task = asyncio.create_task(self._run())

    def goes_on(self) -> bool:
        return bool(self.exchange.sent)

    def may_start(self) -> bool:
        self._stats.inc_value("loop/held", not self._is_allowed)
        return self._is_allowed

    async def close(self) -> None:  # type: ignore[override]
        assert self._task is not None
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        super().close()
        self._stats.inc_value("loop/closed")

    async def _run(self) -> None:
        for round_ in range(1_000_000):
            await self.exchange.arrived.wait()
            self._is_allowed = round_ != 1
            await asyncio.sleep(0.05)
            with self.exchange.receiving() as entries:
                for _ in self._host.receive(entries):
                    pass
            self._is_allowed = True
            self._host.wake()


choice.BACKENDS["disk"] = "tests.crawl.worker_spiders.LoopBackend"


class SentSpider(StartUrlsSpider):
    """Links in bulk and one by one, and a request that cannot be sent."""

    name = "sent"

    def parse(self, response: Response, **kwargs: Any) -> Any:
        yield {"url": response.url}
        yield Links(response, response.css("a.bulk::attr(href)").getall(), callback=self.parse)
        yield from response.follow_all(css="a.one", callback=self.parse, cb_kwargs={"by": "one"})
        yield from response.follow_all(css="a.odd", callback=lambda _: None, errback=self.failed)

    def failed(self, failure: Any) -> Any:
        yield {"url": failure.request.url, "case": "failed", "error": failure.type.__name__}
