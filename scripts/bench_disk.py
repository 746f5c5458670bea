#!/usr/bin/env python3
"""The frontier on disk: links/s through seen-set and push, pops/s, bytes per URL, memory, stalls, time to reopen.

    scripts/bench_disk.py [--urls 1000000,10000000] [--servers 100000] [--rounds 5] [--scrapy 20000]

For each size in ``--urls``, a process fills a store with that many queued and seen URLs (``fill``) and waits until
RocksDB has finished compaction (``settled``).  Then all sizes are measured in turns, so that other work on the machine
affects them alike; the result is the median of ``--rounds``.  First come pages of 60 links, 48 of them seen before
(``links``: three of four of these among 30,000 popular URLs; ``uniform``: any, so that the URL cache does not help;
``gains``: as ``links``, and the 48 raise the quality of queued URLs, as ``in-links`` does), then sessions of ten pages
(``pops``: lease, pop, measurement, acknowledgement).  There is a commit (fsync) each second.
Each rate is given by the clock / by CPU time of all threads, including RocksDB's / by that of the crawl's thread.
At the end the largest store is opened again in a new process.

``--scrapy N`` (0: off) first sends N links of the same kind, of 500 servers, and 2,000 pops through the same code and
through Scrapy's RFPDupeFilter, DownloaderAwarePriorityQueue and disk queues (its default and SQLite's).  N is small,
because Scrapy keeps a file open for each server and examines all servers for each pop.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy import Request
from scrapy.dupefilters import RFPDupeFilter
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.squeues import PickleLifoDiskQueue, PickleLifoSQLiteQueue
from scrapy.utils.test import get_crawler

from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.frontier import POLICIES, Dispatcher, Entry, Frontier, Measurement
from crawlproject.simulation.record import NO_WAIT
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.storage.seen import DiskSeenStore
from testbed.bench import command_line
from testbed.children import memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from crawlproject.storage.rocks import Rocks

SPAWN = get_context("spawn")

PAGES, POPS = 2000, 4000  # per round
#: Properties of RocksDB that are 0 when it has no background work.
WORK = (
    *("rocksdb.mem-table-flush-pending", "rocksdb.num-running-flushes"),
    *("rocksdb.compaction-pending", "rocksdb.num-running-compactions"),
)
SCRAPY_SERVERS, SCRAPY_POPS = 500, 2000
SCRAPY_QUEUES = {"disk": PickleLifoDiskQueue, "SQLite": PickleLifoSQLiteQueue}


NEW_LINKS, OLD_LINKS, POPULAR = 12, 48, 30_000
#: Pages of a session.
STAY = 10
COMMIT_INTERVAL = 1.0


def link(serial: int, servers: int) -> str:
    """URL number ``serial``: three quarters of a page's links are on one server."""
    page = serial // NEW_LINKS if serial % 4 else serial
    server = page * 2_654_435_761 % 2**32 % servers
    return f"http://host{server}.example/dir/section-{serial % 17}/page-{serial}.html"


def old_links(chance: random.Random, serial: int, servers: int, popular: float = 0.75) -> list[str]:
    """The old links of a page, when ``serial`` URLs are known; the share ``popular`` of them are popular ones."""
    known = max(1, serial)
    return [
        link(chance.randrange(min(POPULAR, known) if chance.random() < popular else known), servers)
        for _ in range(OLD_LINKS)
    ]


def fetch(frontier: Frontier, dispatcher: Dispatcher, now: float) -> Entry | None:
    """The entry of the next page, fetched and measured; None if none may be fetched now."""
    started = dispatcher.next(now)
    if started is None:
        return None
    session = started.session
    frontier.record(Measurement(session.server.key, now, 200, connect_time=0.05, response_time=0.2))
    if session.requests >= STAY:
        dispatcher.end(session)
    dispatcher.ended(session)
    dispatcher.take_closed()
    return started.entry


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
    """A frontier in a directory, like that of the ``disk`` backend by default, and the load of a crawl."""

    def __init__(self, path: Path, servers: int) -> None:
        self.store = DiskStore(path, StoreLabel("bench", "quality"))
        self.frontier = Frontier(POLICIES["prefix"](), NO_WAIT)
        DiskFrontierStore(self.store, 0.0, indexed=True).load(self.frontier, 0.0)
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
        """Queue new URLs until ``urls`` have been seen; returns the number added."""
        first = self.serial
        while self.serial < urls:
            self.page([])
        self.commit()
        return self.serial - first

    def old_links(self, popular: float, count: int) -> list[list[str]]:
        """Old links of ``count`` pages."""
        met = (self.serial + page * NEW_LINKS for page in range(count))
        return [old_links(self.chance, serial, self.servers, popular) for serial in met]

    def pages(self, old: list[list[str]], *, gains: bool = False) -> int:
        """Process a page for each list of old links; returns the number of links."""
        for links in old:
            self.page(links, gains=gains)
        self.commit()
        return len(old) * (NEW_LINKS + OLD_LINKS)

    def page(self, old: list[str], *, gains: bool = False) -> None:
        """Process the links of a page: test all in the seen-set, push new ones to the frontier."""
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
        """Fetch up to ``most`` pages, in sessions of up to ten; returns the number."""
        count = 0
        start = time.perf_counter()
        while count < most and (entry := fetch(self.frontier, self.dispatcher, self.now)) is not None:
            count += 1
            self.now += 0.25
            self.frontier.acknowledge(entry)
            self._tick(start)
            start = time.perf_counter()
        self.commit()
        return count

    def commit(self) -> None:
        self.store.commit()
        self._committed = time.perf_counter()

    def _tick(self, start: float) -> None:
        """Commit if the interval has passed, and record the longest step."""
        if start - self._committed > COMMIT_INTERVAL:
            self.commit()
        self.stall = max(self.stall, time.perf_counter() - start)


def fake_crawler() -> Any:
    """The part of a crawler that Scrapy's dupefilters and queues use."""
    crawler: Any = get_crawler()
    slots = SimpleNamespace(slots={}, get_slot_key=lambda request: request.url.split("/")[2])
    crawler.engine = SimpleNamespace(downloader=slots)
    crawler.spider = crawler._create_spider("bench")
    crawler.request_fingerprinter = crawler.request_fingerprinter or RFPDupeFilter().fingerprinter
    return crawler


def resident() -> str:
    """Resident memory of this process, and its anonymous part, MB."""
    return "/".join(f"{memory(name):.0f}" for name in ("VmRSS", "RssAnon"))


def disk_bytes(path: Path) -> int:
    """Disk space of the files below ``path``, bytes."""
    return sum(file.stat().st_blocks * 512 for file in path.rglob("*") if file.is_file())


def settle(rocks: Rocks) -> float:
    """Wait until RocksDB has no background work; returns the time taken (seconds)."""
    start = time.perf_counter()
    while any(table.property_int_value(name) for table in rocks._tables.values() for name in WORK):
        time.sleep(0.2)
    return time.perf_counter() - start


def show(title: str, figures: dict[str, object]) -> None:
    print(f"{title} |", *(f"{key} {value} |" for key, value in figures.items()), flush=True)


def measure(path: Path, urls: int, servers: int, rounds: int) -> Iterator[None]:
    """Grow a store to ``urls``, measure and print; yields to let other sizes have their turn."""
    crawl = DiskCrawl(path, servers)
    rates = {name: Rate() for name in ("fill", "links", "uniform", "gains", "pops")}
    rates["fill"].run(lambda: crawl.grow(urls))
    figures: dict[str, object] = {"queued": len(crawl.frontier), "servers": crawl.frontier.counts()["servers"]}
    crawl.store.rocks.flush()
    figures["settled s"] = f"{settle(crawl.store.rocks):.1f}"
    figures["bytes/URL"] = f"{disk_bytes(crawl.store.path) / len(crawl.frontier):.0f}"
    yield
    crawl.pages(crawl.old_links(0.75, PAGES), gains=True)  # warms the caches
    warm_up = Rate()
    warm_up.run(partial(crawl.pops, POPS))  # global estimates change fast at first, and servers are re-ranked
    figures |= {"first pops": warm_up, "stall s": f"{crawl.stall:.2f}"}
    settle(crawl.store.rocks)
    crawl.stall = 0.0
    for _ in range(rounds):
        yield
        for name, popular in (("links", 0.75), ("uniform", 0.0), ("gains", 0.75)):
            old = crawl.old_links(popular, PAGES)
            rates[name].run(partial(crawl.pages, old, gains=name == "gains"))
        rates["pops"].run(partial(crawl.pops, POPS))
        settle(crawl.store.rocks)  # before the others' turns
    show("disk  ", figures | rates | {"then": f"{crawl.stall:.2f}", "MB": resident()})
    crawl.store.close()


def take_turns(pipe: Connection, *what: Any) -> None:
    """Run ``measure``, one step per message from the pipe."""
    pipe.recv()
    for _ in measure(*what):
        pipe.send(True)
        pipe.recv()
    pipe.send(False)


def measure_all(sizes: list[int], folder: Path, servers: int, rounds: int) -> None:
    """Measure each size in a separate process, in turns; reopen the last one."""
    pipes = []
    for urls in sizes:
        ours, theirs = SPAWN.Pipe()
        SPAWN.Process(target=take_turns, args=(theirs, folder / str(urls), urls, servers, rounds), daemon=True).start()
        theirs.close()  # so that its end is noticed here
        pipes.append(ours)
    while pipes:
        for pipe in list(pipes):
            pipe.send(True)
            if not pipe.recv():
                pipes.remove(pipe)
    again = SPAWN.Process(target=reopen, args=(folder / str(sizes[-1]), servers))
    again.start()
    again.join()


def reopen(path: Path, servers: int) -> None:
    """Print the time and memory to reopen a store, and its rates afterwards."""
    before = resident()
    links, start, used = Rate(), time.perf_counter(), time.process_time()
    crawl = DiskCrawl(path, servers)
    figures = {"queued": len(crawl.frontier), "open s": f"{time.perf_counter() - start:.1f}"}
    figures |= {"CPU s": f"{time.process_time() - used:.1f}", "MB before": before, "MB": resident()}
    old = crawl.old_links(0.75, PAGES)
    links.run(lambda: crawl.pages(old))
    show("reopen", figures | {"links": links})
    crawl.store.close()


def ours(links: int, folder: Path) -> None:
    """The load of ``scrapy_on_disk`` with this project's code; wall-clock time including commits."""
    crawl = DiskCrawl(folder, SCRAPY_SERVERS)
    pushes, pops = Rate(), Rate()
    old = crawl.old_links(0.0, links // (NEW_LINKS + OLD_LINKS))
    pushes.run(lambda: crawl.pages(old))
    urls = len(crawl.frontier)
    crawl.store.rocks.flush()
    size = disk_bytes(folder) / urls
    pops.run(lambda: crawl.pops(SCRAPY_POPS))
    show("ours  ", {"urls": urls, "links": pushes, "pops": pops, "bytes/URL": f"{size:.0f}"})
    crawl.store.close()


def scrapy_on_disk(links: int, folder: Path, kind: type, name: str) -> None:
    """The same pages with Scrapy's dupefilter and disk queue, 500 servers."""
    crawler = fake_crawler()
    (folder / "queue").mkdir(parents=True)
    queue = DownloaderAwarePriorityQueue.from_crawler(crawler, kind, key=str(folder / "queue"))
    seen = RFPDupeFilter(str(folder), fingerprinter=crawler.request_fingerprinter)
    chance = random.Random(1)
    urls: list[str] = []
    pushed = 0
    for number in range(links):
        is_old = number % 5 and pushed > NEW_LINKS
        urls.append(link(chance.randrange(pushed) if is_old else pushed, SCRAPY_SERVERS))
        pushed += not is_old

    def push() -> int:
        for request in map(Request, urls):
            if not seen.request_seen(request):
                queue.push(request)
        return links

    def pop() -> int:
        return sum(queue.pop() is not None for _ in range(min(pushed, SCRAPY_POPS)))

    pushes, pops = Rate(), Rate()
    pushes.run(push)
    size = disk_bytes(folder) / pushed
    pops.run(pop)
    show("Scrapy", {"queue": name, "urls": pushed, "links": pushes, "pops": pops, "bytes/URL": f"{size:.0f}"})
    seen.close("finished")
    queue.close()


def main() -> None:
    args = command_line(__doc__, urls="1000000", servers=100_000, rounds=5, scrapy=20_000).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if args.scrapy:
            ours(args.scrapy, folder / "ours")
            for queue, kind in SCRAPY_QUEUES.items():
                scrapy_on_disk(args.scrapy, folder / queue, kind, queue)
        sizes = [int(urls) for urls in args.urls.split(",") if urls]
        if sizes:
            measure_all(sizes, folder, args.servers, args.rounds)


if __name__ == "__main__":
    main()
