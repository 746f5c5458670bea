#!/usr/bin/env python3
"""CPU of a crawl by many workers, in the processes and in Redis, without downloads; the same of scrapy-redis.

    scripts/bench_redis.py [--pages 20000] [--workers 4] [--rate 100] [--rounds 3] [--partitions 256]

Pages of 60 links (12 new, 48 old; three of four on the page's own server) go through the queue, the seen-set,
the journal and the inboxes of ``--workers`` workers in this process, with a tick after each ``--rate`` pages a worker.
scrapy-redis gets the same links (its scheduler's queue and dupefilter), disk the same through the ``disk`` backend's
store; all in turns.  CPU seconds (user and system) are of this process and of Redis (append-only file), each.

``scripts/bench_redis_sizes.py`` has the bytes per URL, and the cost of loading a partition.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from itertools import compress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy import Request, Spider
from scrapy.settings import Settings

from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.frontier import POLICIES, Dispatcher, Entry, Frontier
from crawlproject.simulation.record import NO_WAIT
from crawlproject.storage.directory import StoreLabel
from crawlproject.workers.connection import RedisAddress, RedisConnector
from crawlproject.workers.control import Control, join
from crawlproject.workers.holdings import Holdings, WorkerOptions
from crawlproject.workers.keys import Keys
from crawlproject.workers.local import LocalCopy
from crawlproject.workers.outbox import Outbox
from crawlproject.workers.partitions import Partitions
from crawlproject.workers.ports import Crawl
from crawlproject.workers.worker import Worker
from scripts.bench_disk import NEW_LINKS, DiskCrawl, fake_crawler, fetch, link, old_links, show
from testbed.bench import command_line
from testbed.redis_server import RunningRedis

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

KEYS = Keys("bench")
PARTITIONS = 256
CRAWL = "bench"
SESSIONS = 64
DEPTH = 3


def clock() -> float:
    """Of frontier and worker."""
    return time.monotonic()


class BenchCrawl(Crawl):
    """One worker with everything but a downloader; what ``Crawl`` asks for and is not here does nothing."""

    def __init__(self, server: RunningRedis, folder: Path, partitions: int) -> None:
        self.partitions = Partitions(partitions)
        self.frontier = Frontier(POLICIES["prefix"](), NO_WAIT)
        label = StoreLabel("bench", "quality")
        self.local = LocalCopy(self.frontier, self.partitions, folder, label, clock, indexed=True)
        self.seen = SeenDupeFilter.from_crawler(fake_crawler())
        self.seen.use_store(self.local.seen, self.partitions.server_part)
        self.local.seen_set = self.seen.seen
        self.seen.open()
        self.dispatcher = Dispatcher(self.frontier, max_sessions=SESSIONS, linger=0.0)
        self.outbox = Outbox(self.partitions)
        client = RedisConnector(RedisAddress(server.url, timeout=60.0)).client()
        self.control = Control(client, KEYS, timeout=60.0)
        options = WorkerOptions(CRAWL, partitions, 1.0, 600.0, 60.0, keep_running=False)
        self.worker = Worker(Holdings(self.control, self.local, self.outbox, self, options))
        self.done: list[Entry] = []
        self.pages = self.fetched = self.sent = 0

    async def start(self) -> None:
        await self.worker._beat_once()

    async def share(self) -> None:
        """Take this worker's share, once all have joined."""
        await self.worker._shares.step(await self.worker._beat_once())

    async def tick(self) -> None:
        """What a worker does each second."""
        await self.worker._tick()

    async def close(self) -> None:
        """Leave without ceremony."""
        await self.control.close()
        self.local.close()

    def page(self, links: Sequence[str], chance: random.Random) -> None:
        self.pages += 1
        is_own = self.outbox.is_own
        own, foreign = list[str](), list[str]()
        for url in links:
            (own if is_own(url) else foreign).append(url)
        is_unsent = self.outbox.unsent(foreign)
        unsent = [url for url, is_one in zip(foreign, is_unsent, strict=True) if is_one]
        self.sent += len(unsent)
        self.outbox.send([Entry(url, chance.random(), 0, DEPTH) for url in unsent])
        self.queue(own, chance)

    def queue(self, urls: Sequence[str], chance: random.Random) -> None:
        """Queue those of ``urls`` that are new."""
        is_new = self.seen.urls_are_new(urls)
        self.frontier.push([Entry(url, chance.random(), 0, DEPTH) for url in compress(urls, is_new)])

    def fetch(self, count: int) -> int:
        """Fetch ``count`` pages, if there are so many, in up to ``SESSIONS`` sessions."""
        found = 0
        while found < count and (entry := fetch(self.frontier, self.dispatcher, clock())) is not None:
            found += 1
            self.done.append(entry)
        self.fetched += found
        return found

    # ``Crawl``

    def finished(self) -> list[Entry]:
        done, self.done = self.done, []
        return done

    def acknowledge(self, entry: Entry) -> None:
        self.frontier.acknowledge(entry)

    def urls_in_progress(self) -> Iterable[str]:
        return ()

    def urls_waiting(self) -> Iterable[str]:
        return ()

    def receive(self, entries: Sequence[Entry]) -> Iterator[None]:
        is_new = self.seen.urls_are_new([entry.url for entry in entries])
        self.frontier.push(list(compress(entries, is_new)))
        yield

    def release(self, keys: Sequence[str]) -> bool:
        return True

    def served(self) -> Sequence[str]:
        return [server.key for server in self.dispatcher.served()]

    def info(self) -> dict[str, Any]:
        return {"host": "bench", "pid": 1, "pages": self.pages, "urls": len(self.frontier), "busy": True}

    def stats(self) -> Mapping[str, float]:
        return {}

    def fail(self, reason: str) -> None:
        raise RuntimeError(reason)


class Pages:
    """The links of one page after the other, always the same."""

    def __init__(self, servers: int) -> None:
        self._servers = servers
        self._chance = random.Random(1)
        self.serial = 0

    def next(self, count: int) -> list[list[str]]:
        """``count`` pages, each of 48 old and 12 new links; the last one is on the page's server."""
        return [self._page() for _ in range(count)]

    def _page(self) -> list[str]:
        old = old_links(self._chance, self.serial, self._servers)
        new = [link(self.serial + number, self._servers) for number in range(NEW_LINKS)]
        self.serial += NEW_LINKS
        return old + new


class Cost:
    """CPU microseconds of this process and of Redis per page: the lowest of several rounds."""

    def __init__(self, server: RunningRedis | None) -> None:
        self.server = server
        self.client = self.redis = inf

    def add(self, count: int, client: float, redis_cpu: float) -> None:
        """A round of ``count`` pages, and CPU seconds."""
        self.client = min(self.client, client / count * 1e6)
        self.redis = min(self.redis, redis_cpu / count * 1e6)

    def redis_time(self) -> float:
        """CPU seconds of Redis so far."""
        return 0.0 if self.server is None else self.server.cpu_time()


class Ours:
    """``workers`` workers in one process."""

    name = "workers"

    def __init__(self, server: RunningRedis, folder: Path, workers: int, partitions: int, rate: int) -> None:
        self.server, self.rate = server, rate
        with server.client() as client:
            join(client, KEYS, {"crawl": CRAWL, "state": "running"})
        self.crawls = [BenchCrawl(server, folder / str(number), partitions) for number in range(workers)]
        self.chance = random.Random(2)
        self.others = 0.0

    async def start(self) -> None:
        """All join, then take their shares."""
        for step in (BenchCrawl.start, BenchCrawl.share):
            for crawl in self.crawls:
                await step(crawl)

    async def run(self, pages: list[list[str]]) -> None:
        """Each page goes to the worker of its server."""
        since = 0
        for links in pages:
            owner = next((crawl for crawl in self.crawls if crawl.outbox.is_own(links[-1])), self.crawls[0])
            owner.fetch(1)
            owner.page(links, self.chance)
            since += 1
            if since >= self.rate * len(self.crawls):
                since = 0
                await self.tick()

    async def tick(self) -> None:
        for crawl in self.crawls:
            await crawl.tick()

    async def close(self) -> None:
        for crawl in self.crawls:
            await crawl.close()


class Disk:
    """The store of the ``disk`` backend, one process."""

    name = "disk"

    def __init__(self, folder: Path, rate: int) -> None:
        self.crawl = DiskCrawl(folder, 1)
        self.crawl.dispatcher.max_sessions = SESSIONS
        self.chance = random.Random(2)
        self.rate = rate

    async def run(self, pages: list[list[str]]) -> None:
        """Commit as often as a worker."""
        crawl, done = self.crawl, list[Entry]()
        for number, links in enumerate(pages, 1):
            if (entry := fetch(crawl.frontier, crawl.dispatcher, clock())) is not None:
                done.append(entry)
            is_new = crawl.seen.urls_are_new(links)
            crawl.frontier.push([Entry(url, self.chance.random(), 0, DEPTH) for url in compress(links, is_new)])
            if number % self.rate == 0:
                for entry in done:
                    crawl.frontier.acknowledge(entry)
                done.clear()
                crawl.store.commit()


class ScrapyRedis:
    """scrapy-redis's scheduler: a request for each link, one dequeued for each page."""

    name = "scrapy-redis"

    def __init__(self, server: RunningRedis) -> None:
        from scrapy_redis.scheduler import Scheduler

        settings = Settings({"REDIS_URL": server.url, "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter"})
        spider = Spider("bench")
        spider.settings = settings
        self.scheduler = Scheduler.from_settings(settings)
        self.scheduler.open(spider)
        self.chance = random.Random(2)

    async def run(self, pages: list[list[str]]) -> None:
        """Enqueue the links, dequeue one."""
        scheduler = self.scheduler
        for links in pages:
            scheduler.next_request()
            for url in links:
                scheduler.enqueue_request(Request(url, priority=self.chance.randrange(1000), meta={"depth": DEPTH}))


async def measure(args: Any, folder: Path) -> None:
    """All systems in turns."""
    with (
        RunningRedis(aof=True) as ours_redis,
        RunningRedis(aof=True) as one_redis,
        RunningRedis(aof=True) as their_redis,
    ):
        ours = Ours(ours_redis, folder / "ours", args.workers, args.partitions, args.rate)
        await ours.start()
        one = Ours(one_redis, folder / "one", 1, args.partitions, args.rate)
        one.name = "one worker"
        await one.start()
        systems: list[tuple[Any, Cost, Pages, int]] = [
            (ours, Cost(ours_redis), Pages(args.servers), 1),
            (one, Cost(one_redis), Pages(args.servers), 1),
            (Disk(folder / "disk", args.rate), Cost(None), Pages(args.servers), 1),
            (ScrapyRedis(their_redis), Cost(their_redis), Pages(args.servers), 10),
        ]
        before: dict[str, dict[str, Any]] = {}
        for number in range(args.rounds + 1):
            for system, cost, pages, divisor in systems:
                if number == 1 and cost.server is not None:
                    before[system.name] = cost.server.info("all") | {"calls": calls(system)}
                batch = pages.next(args.pages // divisor)
                then, redis_then = time.process_time(), cost.redis_time()
                await system.run(batch)
                spent = time.process_time() - then, cost.redis_time() - redis_then
                if number:  # the first one warms up
                    cost.add(len(batch), *spent)
        theirs = systems[-1][1]
        total = theirs.client + theirs.redis
        for system, cost, _, divisor in systems:
            figures: dict[str, object] = {
                "client us/page": f"{cost.client:.0f}",
                "Redis us/page": f"{cost.redis:.1f}",
            }
            figures["times scrapy-redis"] = f"{total / (cost.client + cost.redis):.1f}"
            if system.name in before:
                figures |= traffic(before[system.name], cost, system, args.rounds * (args.pages // divisor))
            show(f"{system.name:12}", figures)
        print("commands:", commands(before["workers"], ours_redis.info("all"), args.rounds * args.pages))
        await one.close()
        await ours.close()


def calls(system: Any) -> int:
    """Round trips of our workers so far."""
    return sum(crawl.control.calls for crawl in system.crawls) if isinstance(system, Ours) else 0


def traffic(before: Mapping[str, Any], cost: Cost, system: Any, pages: int) -> dict[str, object]:
    """Per page: commands, round trips, bytes."""
    assert cost.server is not None
    after = cost.server.info("all") | {"calls": calls(system)}

    def growth(*names: str) -> float:
        return float(sum(after[name] - before[name] for name in names)) / pages

    figures: dict[str, object] = {"commands/page": f"{growth('total_commands_processed'):.2f}"}
    if isinstance(system, Ours):
        figures["round trips/page"] = f"{growth('calls'):.4f}"
        figures["foreign URLs sent/page"] = (
            f"{sum(crawl.sent for crawl in system.crawls) / sum(crawl.pages for crawl in system.crawls):.1f}"
        )
    figures["bytes in, out/page"] = f"{growth('total_net_input_bytes'):.0f}, {growth('total_net_output_bytes'):.0f}"
    return figures


def commands(before: Mapping[str, Any], after: Mapping[str, Any], pages: int) -> str:
    """Calls of each command per page and microseconds of each call."""
    found = []
    for name, stats in after.items():
        if name.startswith("cmdstat_") and stats["calls"]:
            old = before.get(name, {"calls": 0, "usec": 0})
            count = stats["calls"] - old["calls"]
            if count / pages > 0.001:
                found.append(f"{name[8:]} {count / pages:.3f} x {(stats['usec'] - old['usec']) / count:.1f} us")
    return ", ".join(found)


def main() -> None:
    defaults = {"pages": 4000, "workers": 4, "rate": 100, "rounds": 3, "partitions": PARTITIONS, "servers": 2000}
    args = command_line(__doc__, **defaults).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(args, Path(folder)))


if __name__ == "__main__":
    main()
