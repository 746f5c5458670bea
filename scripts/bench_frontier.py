#!/usr/bin/env python3
"""Pushes and pops per second, and bytes per queued URL, of the frontier and of Scrapy's queue, by number of servers.

    scripts/bench_frontier.py [--urls 1000000] [--servers 1000,10000,100000]

A pop is everything a crawl does for a URL: open a session if the last one is spent, take its next URL, record a
measurement, close the session.  There are fewer pops of Scrapy's DownloaderAwarePriorityQueue, because it examines all
hosts for each.  Rates are per second of this process's CPU time; run it on an idle machine.
"""

from __future__ import annotations

import gc
import random
import sys
import time
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy import Request
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.squeues import FifoMemoryQueue
from scrapy.utils.test import get_crawler

from crawlproject.frontier import POLICIES, Entry, Frontier, Measurement
from crawlproject.simulation.record import NO_WAIT
from testbed.bench import command_line

LINKS_PER_PUSH = 40


def entries(servers: int, urls: int, seed: int) -> list[list[Entry]]:
    """Batches of URLs, one per page: three quarters of a page's links lead to one server."""
    chance = random.Random(seed)
    batches = []
    serial = 0
    while serial < urls:
        home = chance.randrange(servers)
        batch = []
        for _ in range(min(LINKS_PER_PUSH, urls - serial)):
            serial += 1
            server = home if chance.random() < 0.75 else chance.randrange(servers)
            url = f"http://host{server}.example/dir/page-{serial}.html"
            batch.append(Entry(url, chance.random(), 0, 3))
        batches.append(batch)
    return batches


def fill(frontier: Frontier, batches: list[list[Entry]]) -> float:
    """Push all batches; returns CPU seconds."""
    start = time.process_time()
    for batch in batches:
        frontier.push(batch)
    return time.process_time() - start


def drain(frontier: Frontier, pops: int) -> float:
    """Fetch ``pops`` URLs in sessions of up to ten requests, all answered; returns CPU seconds."""
    start = time.process_time()
    now = 0.0
    done = 0
    while done < pops:
        session = frontier.open_session(now)
        if session is None:
            break
        for _ in range(10):
            entry = frontier.next_url(session, now)
            if entry is None:
                break
            done += 1
            now += 0.001
            frontier.record(
                Measurement(
                    session.server.key, now, status=200, connect_time=0.05, response_time=0.2, connection_requests=1
                )
            )
        frontier.close_session(session, now)
    return time.process_time() - start


def memory_per_url(policy: str, servers: int, urls: int) -> float:
    """Memory of the frontier per queued URL, bytes; includes servers and the URL's text."""
    tracemalloc.start()
    frontier = Frontier(POLICIES[policy](), NO_WAIT)
    for batch in entries(servers, urls, seed=2):
        frontier.push(Entry(e.url, e.quality, e.priority, e.depth) for e in batch)
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held / len(frontier)


def scrapy_queue(servers: int, pops: int) -> tuple[float, float]:
    """(push, pop) CPU seconds per request of Scrapy's queue with one or two requests for each of ``servers`` hosts."""
    crawler = get_crawler()
    crawler.engine = SimpleNamespace(downloader=SimpleNamespace(slots={}, get_slot_key=_host))
    queue = DownloaderAwarePriorityQueue.from_crawler(crawler, FifoMemoryQueue, key="")
    requests = [Request(f"http://host{i % servers}.example/{i}") for i in range(servers + min(servers, 10_000))]
    start = time.process_time()
    for request in requests:
        queue.push(request)
    pushed = time.process_time()
    for _ in range(pops):
        queue.pop()
    return (pushed - start) / len(requests), (time.process_time() - pushed) / pops


def _host(request: Request) -> str:
    return request.url.split("/")[2]


def main() -> None:
    args = command_line(
        __doc__, urls=1_000_000, servers="1000,10000,100000", policies="breadth-first,capacity"
    ).parse_args()
    print(f"{'queue':34} {'servers':>8} {'urls':>9} {'push/s':>9} {'pop/s':>9} {'bytes/url':>9}")
    for servers in map(int, args.servers.split(",")):
        for policy in args.policies.split(","):
            batches = entries(servers, args.urls, seed=1)
            frontier = Frontier(POLICIES[policy](), NO_WAIT)
            gc.collect()
            push_time = fill(frontier, batches)
            del batches
            pops = args.urls // 2
            pop_time = drain(frontier, pops)
            del frontier
            size = memory_per_url(policy, servers, args.urls)
            print(
                f"{'frontier, ' + policy:34} {servers:>8} {args.urls:>9} {args.urls / push_time:>9.0f}"
                f" {pops / pop_time:>9.0f} {size:>9.0f}",
                flush=True,
            )
        push, pop = scrapy_queue(servers, pops=max(20, 200_000 // servers))
        print(
            f"{'Scrapy DownloaderAwarePriorityQueue':34} {servers:>7} {'':>9} {1 / push:>9.0f} {1 / pop:>9.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
