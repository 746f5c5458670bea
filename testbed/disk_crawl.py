"""The frontier on disk under the load of a crawl, for ``bench_disk.py``: pages of links in, sessions of pages out."""

from __future__ import annotations

import random
import time
from statistics import median
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.test import get_crawler

from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.frontier import POLICIES, Dispatcher, Entry, Frontier, Measurement, Politeness
from crawlproject.storage import DiskFrontierStore, DiskSeenStore, DiskStore, StoreLabel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NEW_LINKS, OLD_LINKS, POPULAR = 12, 48, 30_000
NO_WAIT = Politeness(mode="session", factor=0.0, min_delay=0.0, max_delay=0.0)
COMMIT_INTERVAL = 1.0


def link(serial: int, servers: int) -> str:
    """URL number ``serial``: three quarters of a page's are of one server."""
    page = serial // NEW_LINKS if serial % 4 else serial
    server = page * 2_654_435_761 % 2**32 % servers
    return f"http://host{server}.example/dir/section-{serial % 17}/page-{serial}.html"


class Rate:
    """Events per second, by the clock and by CPU time of process and thread; the median of several rounds."""

    def __init__(self) -> None:
        self._rounds: list[list[float]] = []

    def run(self, step: Callable[[], int]) -> int:
        """Time ``step``, which returns how many events there were."""
        start = self._times()
        count = step()
        spent = [now - then for now, then in zip(self._times(), start, strict=True)]
        self._rounds.append([count / time for time in spent])
        return count

    def _times(self) -> tuple[float, float, float]:
        return time.perf_counter(), time.process_time(), time.thread_time()

    def __str__(self) -> str:
        return "/".join(f"{median(rates):.0f}" for rates in zip(*self._rounds, strict=True))


class DiskCrawl:
    """A frontier in a directory as the ``disk`` backend makes it with the default settings, and the load of a crawl."""

    def __init__(self, path: Path, servers: int) -> None:
        self.store = DiskStore(path, StoreLabel("bench", "quality"))
        self.frontier = Frontier(POLICIES["prefix"](), NO_WAIT)
        DiskFrontierStore(self.store, 0.0, indexed=True).load(self.frontier, 0.0, 60.0)
        self.seen = SeenDupeFilter.from_crawler(fake_crawler())
        self.seen.use_store(DiskSeenStore(self.store))
        self.seen.open()
        self.dispatcher = Dispatcher(self.frontier, max_sessions=1, linger=0.0)
        self.servers = servers
        self.serial = len(self.seen.seen)
        self.chance = random.Random(self.serial)
        self.stall = self.now = 0.0
        self._committed = time.perf_counter()

    def grow(self, urls: int) -> int:
        """Queue new URLs until ``urls`` have been met; returns how many those were."""
        first = self.serial
        while self.serial < urls:
            self.page([])
        self.commit()
        return self.serial - first

    def old_links(self, popular: float, count: int) -> list[list[str]]:
        """Those of so many pages, ``popular`` of them among the popular ones."""
        chance = self.chance
        met = [max(1, self.serial + page * NEW_LINKS) for page in range(count)]
        return [
            [
                link(chance.randrange(POPULAR if chance.random() < popular else serial), self.servers)
                for _ in range(OLD_LINKS)
            ]
            for serial in met
        ]

    def pages(self, old: list[list[str]], *, gains: bool = False) -> int:
        """A page for each list of old links; returns how many links."""
        for links in old:
            self.page(links, gains=gains)
        self.commit()
        return len(old) * (NEW_LINKS + OLD_LINKS)

    def page(self, old: list[str], *, gains: bool = False) -> None:
        """The links of a page: through the seen-set, the new ones into the frontier."""
        fresh = [link(serial, self.servers) for serial in range(self.serial, self.serial + NEW_LINKS)]
        self.serial += NEW_LINKS
        start = time.perf_counter()
        urls = [*old, *fresh]
        new = [url for url, is_new in zip(urls, self.seen.urls_are_new(urls), strict=True) if is_new]
        assert len(new) == NEW_LINKS
        self.frontier.push([Entry(url, self.chance.random(), 0, 3) for url in new], new[0][: new[0].index("/", 8)])
        if gains:
            self.frontier.raise_quality([(url, 0.1) for url in old])
        self._tick(start)

    def pops(self, most: int) -> int:
        """So many pages fetched, in sessions of ten at most; returns how many."""
        count = 0
        while count < most and (started := self.dispatcher.next(self.now)) is not None:
            start = time.perf_counter()
            session, entry = started.session, started.entry
            count += 1
            self.now += 0.25
            measurement = Measurement(session.server.key, self.now, 200, connect_time=0.05, response_time=0.2)
            self.frontier.record(measurement)
            self.frontier.acknowledge(entry)
            if session.requests == 10:
                self.dispatcher.end(session)
            self.dispatcher.ended(session)
            self.dispatcher.take_closed()
            self._tick(start)
        self.commit()
        return count

    def commit(self) -> None:
        """Now."""
        self.store.commit()
        self._committed = time.perf_counter()

    def _tick(self, start: float) -> None:
        """Commit when it is time, and note how long all that took."""
        if start - self._committed > COMMIT_INTERVAL:
            self.commit()
        self.stall = max(self.stall, time.perf_counter() - start)


def fake_crawler() -> Any:
    """What Scrapy's dupefilters and queues ask of a crawler."""
    crawler: Any = get_crawler()
    slots = SimpleNamespace(slots={}, get_slot_key=lambda request: request.url.split("/")[2])
    crawler.engine = SimpleNamespace(downloader=slots)
    crawler.spider = crawler._create_spider("bench")
    crawler.request_fingerprinter = crawler.request_fingerprinter or RFPDupeFilter().fingerprinter
    return crawler
