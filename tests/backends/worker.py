"""One worker of several, without Redis: it sends URLs of others' servers to a list."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.request import RequestFingerprinter
from scrapy.utils.test import get_crawler

from crawlproject.backends import choice
from crawlproject.backends.protocol import Host, MemoryUrls
from crawlproject.backends.storing import StoringBackend
from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.frontier import Entry, Frontier
from crawlproject.frontier.learning.cross_links import CrossLinks
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.scheduler import FrontierScheduler
from crawlproject.urls import server_key

DUPEFILTER = {"DUPEFILTER_CLASS": "crawlproject.dupefilter.SeenDupeFilter"}


class WorkerSpider(Spider):
    name = "worker"

    def parse_other(self, response: Response) -> None:
        """A callback that is not the default one."""


def crawler_of(spider: type[Spider], **settings: Any) -> Crawler:
    """A crawler ready for its components."""
    crawler = get_crawler(spider, settings)
    crawler.spider = spider()
    crawler.request_fingerprinter = crawler.request_fingerprinter or RequestFingerprinter(crawler)
    return crawler


class ListExchange:
    """Own servers are those with ``own`` in their key; all that is sent is in ``sent``."""

    def __init__(self, own: str) -> None:
        self.own = own
        self.sent: list[Entry] = []
        self._found: dict[str, int] = {}
        self._links = CrossLinks()

    def is_own(self, url: str) -> bool:
        return self.own in server_key(url)

    def unsent(self, urls: Sequence[str], *, repeats: bool = False) -> list[int]:
        answers = []
        for url in urls:
            state, count = self._found.get(url, 0), 0
            if repeats or not state:
                self._found[url], count = self._links.found(state)
            answers.append(count)
        return answers

    def send(self, entries: Sequence[Entry]) -> None:
        assert all(entry.payload is None or type(entry.payload) is bytes for entry in entries)
        self.sent += entries


class NoStore:
    """Of keys: they are in memory only."""

    def add_new(self, keys: Sequence[int]) -> list[bool]:
        return [True] * len(keys)

    def take_back(self, key: int) -> bool:
        return False

    def ended(self, url: str, end: object) -> None:
        """Nothing is kept."""

    def mark(self, key: int, number: int) -> None:
        """Nowhere."""


class WorkerBackend(StoringBackend):
    """Crawls the servers of ``a.example``; in memory, but requests are bytes."""

    place = "disk"
    own = "a.example"

    def __init__(
        self, crawler: Crawler, options: FrontierOptions, frontier: Frontier, seen: SeenDupeFilter, host: Host
    ) -> None:
        super().__init__(crawler, frontier, seen, host)
        seen.use_store(None)
        self.receive = host.receive
        self._seen_store = self._server_store = NoStore()
        self.urls = MemoryUrls(frontier)
        self.exchange: ListExchange = ListExchange(self.own)
        self.acknowledged: list[str] = []
        self.is_allowed, self.others_work = True, False

    def may_start(self) -> bool:
        return self.is_allowed

    def goes_on(self) -> bool:
        return self.others_work

    def handed_out(self, request: Request, entry: Entry) -> None:
        self._handed_out[request] = self._pages.start(request, entry)

    def _acknowledge(self, entry: Entry) -> None:
        super()._acknowledge(entry)
        self.acknowledged.append(entry.url)

    def close(self) -> Any:
        self._find_done()
        self._report_unstored()


class OtherWorker(WorkerBackend):
    """Crawls the servers of ``b.example``."""

    own = "b.example"


class Worker:
    """A scheduler with its backend, in a crawl whose engine has not started."""

    def __init__(self, kind: type[WorkerBackend] = WorkerBackend, **settings: Any) -> None:
        path = f"{kind.__module__}.{kind.__qualname__}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(choice.BACKENDS, "memory", path)
            self.crawler = crawler_of(WorkerSpider, **DUPEFILTER, **settings)
            self.scheduler = FrontierScheduler.from_crawler(self.crawler)
        backend = self.scheduler._backend
        assert isinstance(backend, WorkerBackend)
        self.backend = backend
        self.sent = backend.exchange.sent

    def stats(self, *names: str) -> list[Any]:
        assert self.crawler.stats is not None
        return [self.crawler.stats.get_value(name, 0) for name in names]

    def enqueue(self, *requests: Request) -> list[bool]:
        return [self.scheduler.enqueue_request(request) for request in requests]

    def take(self) -> list[Request]:
        """All requests that may start at once, one of each server."""

        async def taken() -> list[Request]:  # the alarm needs a loop
            try:
                return list(iter(self.scheduler.next_request, None))
            finally:
                self.scheduler._alarm.cancel()

        return asyncio.run(taken())

    def receive(self, *entries: Entry) -> None:
        for _ in self.backend.receive(entries):
            pass
