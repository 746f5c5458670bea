"""Pushes and pops per second, and bytes per queued URL, of the frontier and of Scrapy's queue, by number of servers.

    scripts/bench frontier [--urls 100000] [--servers 1000,100000] [--policies prefix]

A pop is everything a crawl does for a URL: open a session if the last one is spent, take its next URL, record a
measurement, close the session.  There are fewer pops of Scrapy's DownloaderAwarePriorityQueue, because it examines all
hosts for each.  Rates are per second of this process's CPU time; the last column is how many times Scrapy's pops.
"""

from __future__ import annotations

import gc
import random
import sys
import time
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy import Request
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.squeues import FifoMemoryQueue
from scrapy.utils.test import get_crawler

from crawlproject.frontier import POLICIES, Entry, Frontier, Measurement
from crawlproject.simulation.crawl import NO_WAIT
from testbed.bench import command_line

LINKS_PER_PUSH = 40
STAY = 10  # requests of a session


def entries(servers: int, urls: int) -> list[list[Entry]]:
    """Batches of URLs, one per page: three quarters of a page's links lead to one server."""
    chance = random.Random(1)
    batches: list[list[Entry]] = []
    for serial in range(urls):
        if serial % LINKS_PER_PUSH == 0:
            home = chance.randrange(servers)
            batches.append([])
        server = home if chance.random() < 0.75 else chance.randrange(servers)
        batches[-1].append(Entry(f"http://host{server}.example/dir/page-{serial}.html", chance.random(), 0, 3))
    return batches


def fill(frontier: Frontier, batches: list[list[Entry]]) -> float:
    """Push all batches; returns CPU seconds."""
    start = time.process_time()
    for batch in batches:
        frontier.push(batch)
    return time.process_time() - start


def drain(frontier: Frontier, pops: int) -> float:
    """Fetch ``pops`` URLs in sessions, all answered; returns CPU seconds."""
    start = time.process_time()
    now, done = 0.0, 0
    while done < pops and (session := frontier.open_session(now)) is not None:
        for _ in range(STAY):
            if frontier.next_url(session, now) is None:
                break
            done += 1
            now += 0.001
            frontier.record(
                Measurement(session.server.key, now, 200, connect_time=0.05, response_time=0.2, connection_requests=1)
            )
        frontier.close_session(session, now)
    return time.process_time() - start


def bytes_per_url(policy: str, servers: int, urls: int) -> float:
    """Memory of a frontier per queued URL; includes servers and the URL's text."""
    tracemalloc.start()
    frontier = Frontier(POLICIES[policy](), NO_WAIT)
    for batch in entries(servers, urls):
        frontier.push(Entry(e.url, e.quality, e.priority, e.depth) for e in batch)
    del batch
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held / len(frontier)


def fake_crawler() -> Any:
    """The part of a crawler that Scrapy's dupefilters and queues use."""
    crawler: Any = get_crawler()
    slots = SimpleNamespace(slots={}, get_slot_key=lambda request: request.url.split("/")[2])
    crawler.engine = SimpleNamespace(downloader=slots)
    crawler.spider = crawler._create_spider("bench")
    return crawler


def scrapy_queue(servers: int, pops: int) -> tuple[float, float]:
    """Pushes and pops per CPU second of Scrapy's queue with one or two requests for each of ``servers`` hosts."""
    queue = DownloaderAwarePriorityQueue.from_crawler(fake_crawler(), FifoMemoryQueue, key="")
    requests = [Request(f"http://host{i % servers}.example/{i}") for i in range(servers + min(servers, 10_000))]
    start = time.process_time()
    for request in requests:
        queue.push(request)
    pushed = time.process_time()
    for _ in range(pops):
        queue.pop()
    return len(requests) / (pushed - start), pops / (time.process_time() - pushed)


def main() -> None:
    args = command_line(__doc__, urls=100_000, servers="1000,100000", policies="prefix").parse_args()
    print(f"{'queue':24} {'servers':>8} {'push/s':>9} {'pop/s':>9} {'bytes/URL':>9} {'times Scrapy':>12}")
    for servers in map(int, args.servers.split(",")):
        push, base = scrapy_queue(servers, pops=max(20, 200_000 // servers))
        print(f"{'Scrapy, by downloader':24} {servers:>8} {push:>9.0f} {base:>9.0f} {'':>9} {1:>12}", flush=True)
        for policy in args.policies.split(","):
            frontier = Frontier(POLICIES[policy](), NO_WAIT)
            push = args.urls / fill(frontier, entries(servers, args.urls))
            pop = args.urls // 2 / drain(frontier, args.urls // 2)
            size = bytes_per_url(policy, servers, args.urls)
            print(f"{policy:24} {servers:>8} {push:>9.0f} {pop:>9.0f} {size:>9.0f} {pop / base:>12.0f}", flush=True)


if __name__ == "__main__":
    main()
