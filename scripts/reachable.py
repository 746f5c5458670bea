#!/usr/bin/env python3
"""What of the bound can be reached: the policy beside crawlers that know more than any crawler can.

    scripts/reachable.py [--web work|GRAPH.npz] [--max-pages-per-server N] [--sessions 64] [--seeds 1,2] [--jobs 2]

PageRank, as `scrapy simulate` has it, known on discovery.  For each web, area under quality over time as a share of
the bound's, and time to 80% relative to breadth-first's:

prefix       the project's default policy
known costs  the same, each server's mean times and requests per connection known from the start
oracle       knows the web: the time of every page, and what its links lead to; it has to discover by links all the
             same, and a server has one connection.  A schedule that can be carried out, not proved to be the best.
bound        above every schedule, also those that need not discover
"""

from __future__ import annotations

import argparse
import sys
from bisect import insort
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from crawlproject.frontier import BestPrefix, BreadthFirst
from crawlproject.simulation.bound import Bound, bound_of
from crawlproject.simulation.crawl import Crawl, CrawlOptions, simulate
from crawlproject.simulation.experiment import WebSpec, web_of
from crawlproject.simulation.graph_web import GraphSpec
from crawlproject.simulation.metrics import Curve, bound_area, bound_shares, collectable_quality
from crawlproject.simulation.synthetic import SyntheticSpec
from crawlproject.simulation.worth import KnownWorth

if TYPE_CHECKING:
    from crawlproject.frontier import Server
    from crawlproject.simulation.web import FloatArray, SimulatedWeb

#: The oracle leaves a server whose next page is worth less than this share of what the best other one offers.
STOP = 1.0


class KnownCosts(BestPrefix):
    """``prefix`` that is told each server's mean times; requests per connection, too."""

    def __init__(self, web: SimulatedWeb) -> None:
        mean = np.bincount(web.server, web.page_time) / np.bincount(web.server)
        costs = zip(web.connect_time.tolist(), mean.tolist(), web.keep_alive_limit.tolist(), strict=True)
        self._costs = dict(zip(web.keys, costs, strict=True))

    def rank(self, server: Server) -> float:
        """Of the best prefix, by the true costs."""
        connect_time, server.page_time, limit = self._costs[server.key]
        server.estimates.requests_per_connection = limit
        return server.urls.best_rate(2 * connect_time, server.page_time, server.bonus)

    def goes_on(self, server: Server, alternative: float) -> bool:
        """By the true time of a page."""
        server.page_time = self._costs[server.key][1]
        return super().goes_on(server, alternative)


def discovery_tree(crawl: Crawl) -> list[int]:
    """The page that showed each page first in ``crawl``; -1 for seeds and pages not found."""
    web = crawl.web
    parent = [-1] * web.pages
    known = bytearray(web.pages)
    for seed in web.seeds.tolist():
        known[seed] = 1
    indptr, targets = web.indptr.tolist(), web.targets.tolist()
    for page in crawl.pages.tolist():
        for target in targets[indptr[page] : indptr[page + 1]]:
            if not known[target]:
                known[target] = 1
                parent[target] = page
    return parent


def worth_with_links(crawl: Crawl) -> FloatArray:
    """Per second of each page: the best ratio of quality to time of any part of the discovery tree that it heads.

    Horn 1972: parts are merged from the leaves up, the best child part first.
    """
    web = crawl.web
    parent = discovery_tree(crawl)
    parts: list[list[tuple[float, float, float]]] = [[] for _ in range(web.pages)]  # below a page: (-ratio, q, t)
    ratio = np.zeros(web.pages)
    for page in reversed(crawl.pages.tolist()):
        quality, time = float(web.quality[page]), float(web.page_time[page])
        below = parts[page]
        below.sort(reverse=True)
        while below and -below[-1][0] * time > quality:
            _, more_quality, more_time = below.pop()
            quality, time = quality + more_quality, time + more_time
        ratio[page] = quality / time
        if parent[page] >= 0:
            above = parts[parent[page]]
            above.append((-quality / time, quality, time))
            above += below
        parts[page] = []
    return ratio


@dataclass
class Oracle:
    """A crawl by an order of pages and servers that no crawler can know; virtual time."""

    web: SimulatedWeb
    sessions: int
    #: Worth per second of each page.
    worth: FloatArray
    _queues: list[list[tuple[float, int]]] = field(init=False)

    def __post_init__(self) -> None:
        web = self.web
        self._queues = [[] for _ in range(web.servers)]  # (-worth per second, page), sorted
        self._busy = bytearray(web.servers)
        self._known = bytearray(web.pages)
        self._heap: list[tuple[float, int, int]] = []  # (-rank, version, server)
        self._version = [0] * web.servers
        self._connections = [0] * web.servers
        self._time: list[float] = web.page_time.tolist()
        self._server: list[int] = web.server.tolist()
        self._connect: list[float] = web.connect_time.tolist()
        self._limit: list[int] = web.keep_alive_limit.tolist()
        self._ratio: list[float] = self.worth.tolist()

    def run(self) -> Curve:
        """Crawl from the seeds to the end."""
        web = self.web
        indptr, targets = web.indptr.tolist(), web.targets.tolist()
        events: list[tuple[float, int, int, int]] = []  # (time, server, page or -1 when closed, requests left)
        ended, pages = [], []
        free, now = self.sessions, 0.0
        self._discover(web.seeds.tolist())
        while True:
            while free and (server := self._best()) is not None:
                heappop(self._heap)
                free -= 1
                self._busy[server] = 1
                self._request(events, now + self._open(server), server, self._limit[server])
            if not events:
                break
            now, server, page, left = heappop(events)
            if page < 0:
                free += 1
                self._busy[server] = 0
                self._rank(server)
                continue
            ended.append(now)
            pages.append(page)
            self._discover(targets[indptr[page] : indptr[page + 1]])
            if left and self._queues[server] and self._goes_on(server, free):
                self._request(events, now, server, left)
            else:
                heappush(events, (now + self._connect[server], server, -1, 0))
        return Curve(np.array(ended), np.cumsum(web.quality[pages]) / collectable_quality(web))

    def _open(self, server: int) -> float:
        draw = min(self._connections[server], int(self.web.page_counts[server]) - 1)
        self._connections[server] += 1
        return float(self.web.connect_draws[self.web.first[server] + draw])

    def _request(self, events: list[tuple[float, int, int, int]], now: float, server: int, left: int) -> None:
        page = self._queues[server].pop(0)[1]
        heappush(events, (now + self._time[page], server, page, left - 1))

    def _goes_on(self, server: int, free: int) -> bool:
        other = self._best()
        return free > 0 or other is None or self._queues[server][0][0] <= STOP * self._heap[0][0]

    def _discover(self, pages: list[int]) -> None:
        changed = set()
        for page in pages:
            if not self._known[page]:
                self._known[page] = 1
                insort(self._queues[self._server[page]], (-self._ratio[page], page))
                changed.add(self._server[page])
        for server in changed:
            self._rank(server)

    def _rank(self, server: int) -> None:
        """Rank a server anew: the most worth per second of any number of its best pages, connection included."""
        self._version[server] += 1
        if self._busy[server] or not self._queues[server]:
            return
        time, worth, best = 2 * self._connect[server], 0.0, 0.0
        for ratio, page in self._queues[server][: self._limit[server]]:
            worth -= ratio * self._time[page]
            time += self._time[page]
            if worth <= best * time:
                break
            best = worth / time
        heappush(self._heap, (-best, self._version[server], server))

    def _best(self) -> int | None:
        """The server at the top of the heap."""
        heap = self._heap
        while heap and (heap[0][1] != self._version[heap[0][2]] or self._busy[heap[0][2]]):
            heappop(heap)
        return heap[0][2] if heap else None


def bound_time(bound: Bound, total: float, share: float, until: float) -> float:
    """When the bound has ``share`` of the quality; seconds, to a thousandth."""
    low, high = 0.0, until
    while high - low > 0.001:
        middle = (low + high) / 2
        if bound_shares(bound, total, np.array([middle]))[0] < share:
            low = middle
        else:
            high = middle
    return high


def reach(task: tuple[WebSpec, int]) -> list[tuple[str, float, float]]:
    """(name, area as a share of the bound's, time to 80% as a share of breadth-first's)."""
    spec, sessions = task
    web = web_of(spec, "pagerank")
    options, known, total = CrawlOptions(sessions=sessions), KnownWorth(web), collectable_quality(web)
    breadth_first = simulate(web, BreadthFirst(), known, options)
    prefix = simulate(web, BestPrefix(), known, options)
    curves = {
        "prefix": Curve.of(prefix),
        "known costs": Curve.of(simulate(web, KnownCosts(web), known, options)),
        "oracle": Oracle(web, sessions, worth_with_links(prefix)).run(),
    }
    bound, unit = bound_of(web, sessions), breadth_first.full_time
    area, slowest = bound_area(bound, total, unit), Curve.of(breadth_first).time_of(0.8)
    found = [(name, curve.area(unit) / area, curve.time_of(0.8) / slowest) for name, curve in curves.items()]
    return [*found, ("bound", 1.0, bound_time(bound, total, 0.8, unit) / slowest)]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--web", default="work")
    parser.add_argument("--max-pages-per-server", type=int)
    parser.add_argument("--sessions", type=int, default=64)
    parser.add_argument("--seeds", default="1,2,3,4,5,6,7,8")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    webs: list[WebSpec] = [
        SyntheticSpec(seed=seed)
        if args.web == "work"
        else GraphSpec(args.web, seed, per_server=args.max_pages_per_server)
        for seed in map(int, args.seeds.split(","))
    ]
    with ProcessPoolExecutor(args.jobs) as pool:
        rows = list(pool.map(reach, [(web, args.sessions) for web in webs]))
    print("| web | " + " | ".join(f"{name}: nauc, t80/bf" for name, _, _ in rows[0]) + " |")
    print("|---" * (len(rows[0]) + 1) + "|")
    for web, row in zip(webs, rows, strict=True):
        print(f"| {web.seed} | " + " | ".join(f"{area:.4f}, {t80:.3f}" for _, area, t80 in row) + " |")


if __name__ == "__main__":
    main()
