"""The frontier with its seen-set, in memory and on disk, beside Scrapy's queues and its dupefilter.

    scripts/bench frontier [--links 20000] [--urls 100000] [--servers 500,10000] [--policy prefix]

For each number of servers, ``--urls`` URLs are seen and queued before.  Then pages of 60 links, 48 of them seen before
(three of four of these among 30,000 popular URLs), go through the seen-set and are pushed; then URLs are popped in
sessions of ten (lease, pop, measurement, acknowledgement).  On disk there is a commit (fsync) each second.  Rates are
per CPU second of all threads, including RocksDB's; "stall" is the longest step by the clock; bytes are those of a
queued URL in memory, with its server and its text, or on disk; the last column is pops/s, those of Scrapy being 1.

Scrapy's rows start with one URL on each server.  Its DownloaderAwarePriorityQueue examines all servers for each pop,
and its disk queue keeps a file open for each: with more than 1,000 servers only the one in memory is measured.
"""

from __future__ import annotations

import gc
import random
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy import Request
from scrapy.dupefilters import RFPDupeFilter
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.squeues import FifoMemoryQueue, PickleLifoDiskQueue
from scrapy.utils.test import get_crawler

from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.frontier import POLICIES, Dispatcher, Entry, Frontier, Measurement
from crawlproject.simulation.crawl import NO_WAIT
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.storage.seen import DiskSeenStore
from testbed.bench import command_line

if TYPE_CHECKING:
    from collections.abc import Callable

NEW_LINKS, OLD_LINKS, POPULAR = 12, 48, 30_000
COMMIT_INTERVAL = 1.0
STAY = 10  # requests of a session
POPS = 2000
SCRAPYS_FILES = 1000


def link(serial: int, servers: int) -> str:
    """URL number ``serial``: three quarters of a page's links are on one server."""
    page = serial // NEW_LINKS if serial % 4 else serial
    server = page * 2_654_435_761 % 2**32 % servers
    return f"http://host{server}.example/dir/section-{serial % 17}/page-{serial}.html"


def pages(count: int, servers: int, serial: int = 0, old: int = OLD_LINKS) -> list[list[str]]:
    """The links of ``count`` pages when ``serial`` URLs are known: ``old`` old ones and 12 new ones of each."""
    chance, found = random.Random(serial), []
    for _ in range(count):
        known = max(1, serial)
        numbers = (chance.randrange(min(POPULAR, known) if chance.random() < 0.75 else known) for _ in range(old))
        found.append([link(number, servers) for number in (*numbers, *range(serial, serial + NEW_LINKS))])
        serial += NEW_LINKS
    return found


def rate(step: Callable[[], int]) -> float:
    """What ``step`` did, by its own count, per CPU second."""
    start = time.process_time()
    return step() / (time.process_time() - start)


class Crawl:
    """A frontier with its seen-set, in a directory like that of the ``disk`` backend or (None) in memory."""

    def __init__(self, policy: str, folder: Path | None) -> None:
        self.store = None if folder is None else DiskStore(folder, StoreLabel("bench", "quality"))
        self.frontier = Frontier(POLICIES[policy](), NO_WAIT)
        self.seen = SeenDupeFilter.from_crawler(fake_crawler())
        if self.store is not None:
            DiskFrontierStore(self.store, 0.0, indexed=True).load(self.frontier, 0.0)
            self.seen.use_store(DiskSeenStore(self.store))
        self.seen.open()
        self.dispatcher = Dispatcher(self.frontier, max_sessions=1, linger=0.0)
        self.chance = random.Random(1)
        self.stall = self.now = 0.0
        self._committed = time.perf_counter()

    def push(self, pages: list[list[str]]) -> int:
        """Test the links of pages in the seen-set, push new ones to the frontier; returns the number of links."""
        for links in pages:
            start = time.perf_counter()
            new = [url for url, is_new in zip(links, self.seen.urls_are_new(links), strict=True) if is_new]
            self.frontier.push([Entry(url, self.chance.random(), 0, 3) for url in new], new[0][: new[0].index("/", 8)])
            self._tick(start)
        self.commit()
        return sum(map(len, pages))

    def pop(self, most: int) -> int:
        """Fetch up to ``most`` pages; returns the number."""
        count, start = 0, time.perf_counter()
        while count < most and (started := self.dispatcher.next(self.now)) is not None:
            session = started.session
            self.frontier.record(Measurement(session.server.key, self.now, 200, connect_time=0.05, response_time=0.2))
            if session.requests >= STAY:
                self.dispatcher.end(session)
            self.dispatcher.ended(session)
            self.dispatcher.take_closed()
            self.frontier.acknowledge(started.entry)
            count, self.now = count + 1, self.now + 0.25
            self._tick(start)
            start = time.perf_counter()
        self.commit()
        return count

    def commit(self) -> None:
        if self.store is not None:
            self.store.commit()
        self._committed = time.perf_counter()

    def _tick(self, start: float) -> None:
        if start - self._committed > COMMIT_INTERVAL:
            self.commit()
        self.stall = max(self.stall, time.perf_counter() - start)


def disk_bytes(path: Path) -> int:
    """Disk space of the files below ``path``."""
    return sum(file.stat().st_blocks * 512 for file in path.rglob("*") if file.is_file())


def memory_bytes(policy: str, known: list[list[str]]) -> float:
    """Memory of a frontier with these URLs, per URL."""
    tracemalloc.start()
    frontier = Frontier(POLICIES[policy](), NO_WAIT)
    for links in known:
        frontier.push(Entry(url, 0.5, 0, 3) for url in links)
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held / len(frontier)


def show(name: str, figures: tuple[float, float, float], base: float, stall: float = 0.0) -> None:
    print(f"{name:24}", *(f"{each:>9.0f}" for each in figures), f"{figures[1] / base:>7.1f} {stall:>8.2f}", flush=True)


def ours(policy: str, folder: Path | None, load: list[list[str]], known: list[list[str]], base: float) -> None:
    """Print the row of a frontier."""
    crawl = Crawl(policy, folder)
    crawl.push(known)
    links = rate(lambda: crawl.push(load))
    if crawl.store is None or folder is None:
        size = memory_bytes(policy, known)
    else:
        crawl.store.rocks.flush()
        size = disk_bytes(folder) / len(crawl.frontier)
    pops = rate(lambda: crawl.pop(POPS))
    show(f"{policy}, {'memory' if folder is None else 'disk'}", (links, pops, size), base, crawl.stall)
    if crawl.store is not None:
        crawl.store.close()


def fake_crawler() -> Any:
    """The part of a crawler that Scrapy's dupefilters and queues use."""
    crawler: Any = get_crawler()
    slots = SimpleNamespace(slots={}, get_slot_key=lambda request: request.url.split("/")[2])
    crawler.engine = SimpleNamespace(downloader=slots)
    crawler.spider = crawler._create_spider("bench")
    return crawler


def scrapys(folder: Path | None, load: list[list[str]], servers: int) -> float:
    """Print the row of Scrapy's queue and dupefilter; returns its pops/s."""
    queue_class, key = (FifoMemoryQueue, "") if folder is None else (PickleLifoDiskQueue, str(folder))
    queue = DownloaderAwarePriorityQueue.from_crawler(fake_crawler(), queue_class, key=key)
    seen = RFPDupeFilter(None if folder is None else str(folder))

    def push() -> int:
        for request in (Request(url) for links in load for url in links):
            if not seen.request_seen(request):
                queue.push(request)
        return sum(map(len, load))

    for server in range(servers):
        queue.push(Request(f"http://host{server}.example/"))
    links, urls = rate(push), len(queue)
    size = 0.0 if folder is None else disk_bytes(folder) / urls
    pops = rate(lambda: sum(queue.pop() is not None for _ in range(min(urls, POPS, 2_000_000 // servers))))
    show(f"Scrapy, {'memory' if folder is None else 'disk'}", (links, pops, size), pops)
    seen.close("finished")
    queue.close()
    return pops


def main() -> None:
    defaults = {"links": 20_000, "urls": 100_000, "servers": "500,10000", "policy": "prefix"}
    args = command_line(__doc__, **defaults).parse_args()
    for servers in map(int, args.servers.split(",")):
        print(f"{f'{servers} servers':24} {'links/s':>9} {'pops/s':>9} {'bytes/URL':>9} {'times':>7} {'stall s':>8}")
        known = pages(args.urls // NEW_LINKS, servers, old=0)
        load = pages(args.links // (NEW_LINKS + OLD_LINKS), servers, len(known) * NEW_LINKS)
        base = scrapys(None, load, servers)
        ours(args.policy, None, load, known, base)
        with tempfile.TemporaryDirectory() as name:
            if servers <= SCRAPYS_FILES:
                (scrapy := Path(name, "scrapy")).mkdir()
                scrapys(scrapy, load, servers)
            ours(args.policy, Path(name, "ours"), load, known, base)
            start = time.perf_counter()
            urls = len(Crawl(args.policy, Path(name, "ours")).frontier)
            print(f"opened again in {time.perf_counter() - start:.1f} s, {urls} URLs queued")


if __name__ == "__main__":
    main()
