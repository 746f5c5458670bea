#!/usr/bin/env python3
"""Bytes of Redis for each URL of a crawl by workers, and CPU to write and load partitions.

    scripts/bench_redis_sizes.py [--urls 1000000,10000000] [--most 1000000] [--load 100000]

Sizes (``--urls``): bytes of Redis for that many queued and seen URLs, 50 of each server and each of a quality of its
own, after snapshots of all partitions; CPU of writing and loading them, with the longest step of the event loop.  For
more than ``--most`` URLs, only so many of the 256 partitions are filled as hold these.

Load (``--load``): the same for one partition with that many URLs, on one server, and on servers with 100 URLs each.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlproject.workers.control import Record, join
from crawlproject.workers.loading import read_partition
from crawlproject.workers.part import Part
from crawlproject.workers.snapshots import write_snapshot
from scripts.bench_disk import show
from scripts.bench_redis import CRAWL, KEYS, PARTITIONS, BenchCrawl
from testbed.bench import command_line
from testbed.redis_server import RunningRedis

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from crawlproject.workers.partitions import Partitions

URLS_PER_SERVER = 50
WORDS = [
    *("news", "sport", "about", "product", "category", "article"),
    *("archive", "index", "forum", "user", "image", "view"),
]
#: URLs queued at a time to fill a frontier.
FILLED_AT_ONCE = 5000


class LongestStep:
    """CPU seconds of the longest step of the event loop's other tasks, while it is entered."""

    def __init__(self) -> None:
        self.seconds = 0.0

    async def _watch(self) -> None:
        while True:
            start = time.thread_time()
            await asyncio.sleep(0)
            self.seconds = max(self.seconds, time.thread_time() - start)

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._task.cancel()


class Corpus:
    """URLs of 68 bytes on average, of servers in the first ``parts`` partitions, in random order."""

    def __init__(self, partitions: Partitions, parts: int, servers: int) -> None:
        self._chance = chance = random.Random(1)
        self.hosts: list[str] = []
        while len(self.hosts) < servers:
            host = f"http://www.{chance.choice(WORDS)}{chance.randrange(10**8):08}.example"
            if partitions.of(host) < parts:
                self.hosts.append(host)

    def urls(self, count: int) -> list[str]:
        """``count`` URLs, some of them twice."""
        chance = self._chance
        return [chance.choice(self.hosts) + self._path() for _ in range(count)]

    def _path(self) -> str:
        section, one, other = self._chance.sample(WORDS, 3)
        return f"/{section}/{one}-{other}/{self._chance.randrange(10**6)}.html"


async def fill(crawl: BenchCrawl, corpus: Corpus, urls: int) -> None:
    """Queue so many URLs; servers have been measured."""
    chance = random.Random(3)
    for _ in range(0, urls, FILLED_AT_ONCE):
        crawl.queue(corpus.urls(min(urls, FILLED_AT_ONCE)), chance)
        crawl.local.commit()
    crawl.fetch(min(2 * len(corpus.hosts), urls // 10))
    for entry in crawl.finished():
        crawl.acknowledge(entry)
    crawl.local.commit()


async def sizes(urls: int, servers: int, parts: int, folder: Path) -> None:
    """Snapshots of ``parts`` partitions with ``urls`` URLs together, then all of them are loaded by another process."""
    with RunningRedis() as server, server.client() as client:
        join(client, KEYS, {"crawl": CRAWL, "state": "running"})
        crawl, other = (BenchCrawl(server, folder / name, PARTITIONS) for name in ("one", "other"))
        await crawl.start()
        await crawl.share()
        await fill(crawl, Corpus(crawl.partitions, parts, servers), urls)
        numbers = [number for number in range(parts) if crawl.local.rows(number)]
        rows, hosts = (sum(map(each, numbers)) for each in (crawl.local.rows, crawl.local.server_count))
        seen = len(crawl.seen.seen)
        before, redis_before = server.info("memory")["used_memory"], server.cpu_time()
        figures: dict[str, object] = {"partitions": len(numbers), "queued": rows, "seen": seen, "servers": hosts}
        start = time.process_time()
        async with LongestStep() as longest:
            for number in numbers:
                assert await write_snapshot(crawl.control, crawl.local, crawl.worker.parts[number])
        spent = time.process_time() - start
        grown = server.info("memory")["used_memory"] - before
        keys = [crawl.control.snapshot_keys(number, crawl.worker.parts[number].gen) for number in numbers]
        queued_bytes, seen_bytes = (
            sum(client.memory_usage(key, samples=0) or 0 for key in each) for each in zip(*keys, strict=True)
        )
        figures["bytes/queued URL (with servers)"] = f"{queued_bytes / rows:.1f}"
        figures["bytes/seen URL"] = f"{seen_bytes / seen:.1f}"
        figures["all bytes/URL"] = f"{grown / rows:.1f}"
        figures["snapshot us/URL"] = f"{spent / rows * 1e6:.1f}"
        figures["Redis us/URL"] = f"{(server.cpu_time() - redis_before) / rows * 1e6:.2f}"
        figures["longest step s"] = f"{longest.seconds:.3f}"
        records = await other.control.records(numbers)
        figures |= await load(other, dict(zip(numbers, records, strict=True)), rows, hosts)
        show("size  ", figures)
        await crawl.close()
        await other.close()


async def load(crawl: BenchCrawl, records: Mapping[int, Record], rows: int, servers: int) -> dict[str, object]:
    """CPU of reading partitions, and of putting their servers into the frontier."""
    start = time.process_time()
    async with LongestStep() as reading:
        for number, record in records.items():
            part = Part(number, record.epoch, record.seq, record.gen)
            await read_partition(crawl.control, crawl.local.write, part, record)
    read = time.process_time() - start
    start = time.process_time()
    async with LongestStep() as restoring:
        for number, record in records.items():
            for _ in crawl.local.restore(number, record.extra):
                await asyncio.sleep(0)
    restored = time.process_time() - start
    assert sum(map(crawl.local.rows, records)) == rows
    return {
        "load us/URL": f"{read / rows * 1e6:.1f}",
        "longest": f"{reading.seconds:.3f}",
        "restore us/URL": f"{restored / rows * 1e6:.1f}",
        "us/server": f"{restored / servers * 1e6:.0f}",
        "then longest": f"{restoring.seconds:.3f}",
    }


def main() -> None:
    args = command_line(__doc__, urls="1000000", most=1_000_000, load=100_000).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for urls in map(int, filter(None, args.urls.split(","))):
            parts = max(1, PARTITIONS * min(urls, args.most) // urls)
            asyncio.run(sizes(urls * parts // PARTITIONS, urls // URLS_PER_SERVER * parts // PARTITIONS, parts, folder))
        if args.load:
            for servers in (1, args.load // 100):
                asyncio.run(sizes(args.load, servers, 1, folder))


if __name__ == "__main__":
    main()
