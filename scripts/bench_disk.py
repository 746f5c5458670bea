"""The frontier on disk beside the one in memory, and beside Scrapy's disk queues: links/s, pops/s, bytes per URL.

    scripts/bench disk [--links 20000] [--urls 100000] [--servers 10000]

Pages of 60 links, 48 of them seen before (three of four of these among 30,000 popular URLs), go through the seen-set
and are pushed; then URLs are popped in sessions of ten (lease, pop, measurement, acknowledgement).  There is a commit
(fsync) each second.  Rates are per CPU second of all threads, including RocksDB's; "stall" is the longest step by the
clock.

First ``--links`` links of 500 servers, also by Scrapy's RFPDupeFilter, DownloaderAwarePriorityQueue and disk queue,
which keeps a file open for each server and examines all servers for each pop; the last column is links per second,
those of the first row being 1.  Then, with ``--urls`` seen and queued before, the frontier alone; the
store is opened again at the end.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy import Request
from scrapy.dupefilters import RFPDupeFilter
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.squeues import PickleLifoDiskQueue

from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.frontier import POLICIES, Dispatcher, Entry, Frontier, Measurement
from crawlproject.simulation.crawl import NO_WAIT
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.storage.seen import DiskSeenStore
from scripts.bench_frontier import STAY, fake_crawler
from testbed.bench import command_line

if TYPE_CHECKING:
    from collections.abc import Callable

NEW_LINKS, OLD_LINKS, POPULAR = 12, 48, 30_000
COMMIT_INTERVAL = 1.0
SCRAPY_SERVERS, POPS = 500, 2000


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

    def __init__(self, folder: Path | None) -> None:
        self.store = None if folder is None else DiskStore(folder, StoreLabel("bench", "quality"))
        self.frontier = Frontier(POLICIES["prefix"](), NO_WAIT)
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


def show(name: str, figures: tuple[float, float, float], base: float, stall: float = 0.0) -> None:
    times = figures[0] / base if base else 1.0
    print(f"{name:22}", *(f"{each:>9.0f}" for each in figures), f"{times:>6.1f} {stall:>8.2f}", flush=True)


def ours(name: str, folder: Path | None, load: list[list[str]], known: list[list[str]], base: float) -> float:
    """Print the row of a frontier; returns its links/s."""
    crawl = Crawl(folder)
    crawl.push(known)
    links = rate(lambda: crawl.push(load))
    size = 0.0
    if crawl.store is not None and folder is not None:
        crawl.store.rocks.flush()
        size = disk_bytes(folder) / len(crawl.frontier)
    pops = rate(lambda: crawl.pop(POPS))
    show(name, (links, pops, size), base, crawl.stall)
    if crawl.store is not None:
        crawl.store.close()
    return links


def scrapys(folder: Path, load: list[list[str]]) -> float:
    """Print the row of Scrapy's dupefilter and disk queue; returns its links/s."""
    (folder / "queue").mkdir(parents=True)
    key = str(folder / "queue")
    queue = DownloaderAwarePriorityQueue.from_crawler(fake_crawler(), PickleLifoDiskQueue, key=key)
    seen = RFPDupeFilter(str(folder))

    def push() -> int:
        for request in (Request(url) for links in load for url in links):
            if not seen.request_seen(request):
                queue.push(request)
        return sum(map(len, load))

    links, urls = rate(push), len(queue)
    size = disk_bytes(folder) / urls
    pops = rate(lambda: sum(queue.pop() is not None for _ in range(min(urls, POPS))))
    show("Scrapy, disk", (links, pops, size), links)
    seen.close("finished")
    queue.close()
    return links


def main() -> None:
    args = command_line(__doc__, links=20_000, urls=100_000, servers=10_000).parse_args()
    print(f"{'':22} {'links/s':>9} {'pops/s':>9} {'bytes/URL':>9} {'times':>6} {'stall s':>8}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        load = pages(args.links // (NEW_LINKS + OLD_LINKS), SCRAPY_SERVERS)
        base = scrapys(folder / "scrapy", load)
        ours("memory", None, load, [], base)
        ours("disk", folder / "few", load, [], base)
        known = pages(args.urls // NEW_LINKS, args.servers, old=0)
        load = pages(len(load), args.servers, len(known) * NEW_LINKS)
        base = ours(f"memory, {args.urls} URLs", None, load, known, 0.0)
        ours(f"disk, {args.urls} URLs", folder / "many", load, known, base)
        start = time.perf_counter()
        urls = len(Crawl(folder / "many").frontier)
        print(f"opened again in {time.perf_counter() - start:.1f} s, {urls} URLs queued")


if __name__ == "__main__":
    main()
