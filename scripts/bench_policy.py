#!/usr/bin/env python3
"""CPU per fetched page of all decisions of the frontier, by size.

    scripts/bench_policy.py [--servers 10000,20000,40000] [--urls-per-server 20] [--pages 50000] [--policies ...]

For each page, the dispatcher finds the next request (stop test, closing and opening sessions), the measurement is
recorded, three new URLs are pushed and the quality of five queued ones is raised.  64 sessions, no polite waits, so
that all servers compete.  CPU time of this process; run it on an idle machine.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlproject.frontier import POLICIES, Dispatcher, Entry, Frontier, Measurement, Start
from crawlproject.simulation.record import NO_WAIT
from testbed.bench import command_line

SESSIONS = 64
PUSHES, RAISES = 3, 5
#: Pages generated at a time. With 100, more objects than in a real crawl would survive the garbage collector's young
#: generations, and it would traverse all URLs repeatedly: 4% more time.
PAGES_AHEAD = 10


class Bench:
    """A full frontier; pages arrive immediately."""

    def __init__(self, policy: str, servers: int, urls: int) -> None:
        self._chance = random.Random(1)
        self._frontier = Frontier(POLICIES[policy](), NO_WAIT)
        self._dispatcher = Dispatcher(self._frontier, SESSIONS, linger=0.0)
        self._servers = servers
        self._known: list[str] = []
        self._under_way: list[Start] = []
        self._now = 0.0
        for _ in range(urls // 40):
            self._frontier.push(self._new(40))

    def _new(self, count: int) -> list[Entry]:
        chance = self._chance
        entries = []
        for _ in range(count):
            url = f"http://host{chance.randrange(self._servers)}.example/page-{len(self._known)}.html"
            self._known.append(url)
            entries.append(Entry(url, chance.paretovariate(1.2)))
        return entries

    def run(self, pages: int) -> float:
        """CPU seconds to fetch ``pages`` pages; their content is generated before and not counted."""
        return sum(self._run(min(PAGES_AHEAD, pages - done)) for done in range(0, pages, PAGES_AHEAD))

    def _run(self, pages: int) -> float:
        chance = self._chance
        new = [self._new(PUSHES) for _ in range(pages)]
        raised = [[(chance.choice(self._known), 0.5) for _ in range(RAISES)] for _ in range(pages)]
        times = [chance.lognormvariate(-1.5, 0.8) for _ in range(pages)]
        turns = [chance.randrange(SESSIONS) for _ in range(pages)]
        under_way, dispatcher, frontier = self._under_way, self._dispatcher, self._frontier
        started = time.process_time()
        for page in range(pages):
            while (start := dispatcher.next(self._now)) is not None:
                under_way.append(start)
            dispatcher.take_closed()
            self._now += 0.01
            turn = turns[page] % len(under_way)
            start = under_way[turn]
            under_way[turn] = under_way[-1]
            under_way.pop()
            frontier.record(self._measured(start, times[page]))
            frontier.push(new[page], found_on=start.session.server.key)
            frontier.raise_quality(raised[page])
            dispatcher.ended(start.session)
        return time.process_time() - started

    def _measured(self, start: Start, fetch_time: float) -> Measurement:
        requests = start.session.requests
        return Measurement(
            start.session.server.key,
            self._now,
            status=200,
            connect_time=0.1 if requests == 1 else None,
            response_time=fetch_time,
            fetch_time=fetch_time,
            connection_requests=requests,
            server_closed=requests >= 100,
        )


def main() -> None:
    args = command_line(
        __doc__,
        servers="10000,20000,40000",
        urls_per_server=20,
        pages=50_000,
        policies="breadth-first,capacity,prefix",
    ).parse_args()
    print("| policy | servers | URLs | us per page |\n|---|---|---|---|")
    for policy in args.policies.split(","):
        for servers in map(int, args.servers.split(",")):
            bench = Bench(policy, servers, servers * args.urls_per_server)
            bench.run(args.pages // 5)  # until sessions and prior have settled
            seconds = bench.run(args.pages)
            urls = servers * args.urls_per_server
            print(f"| {policy} | {servers:,} | {urls:,} | {seconds / args.pages * 1e6:.0f} |", flush=True)


if __name__ == "__main__":
    main()
