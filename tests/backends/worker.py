"""A backend of one worker of several: it sends URLs of others' servers to a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.utils.request import RequestFingerprinter
from scrapy.utils.test import get_crawler

from crawlproject.backends.storing import StoringBackend
from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.frontier import Entry, Frontier
from crawlproject.options.frontier import FrontierOptions
from crawlproject.urls import server_key


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
        self._cache: set[str] = set()

    def is_own(self, url: str) -> bool:
        return self.own in server_key(url)

    def unsent(self, urls: Sequence[str]) -> list[bool]:
        answers = []
        for url in urls:
            answers.append(url not in self._cache)
            self._cache.add(url)
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


class WorkerBackend(StoringBackend):
    """Crawls the servers of ``a.example``; in memory, but requests are bytes."""

    place = "disk"
    own = "a.example"

    def __init__(self, crawler: Crawler, options: FrontierOptions, frontier: Frontier, seen: SeenDupeFilter) -> None:
        super().__init__(crawler, frontier, seen)
        seen.use_store(None)
        self._seen_store = NoStore()
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
