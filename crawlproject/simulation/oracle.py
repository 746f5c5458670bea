"""A crawl that knows the web, but must discover it by links: what of a bound can be reached.

The oracle knows the time, the size and the quality of every page, and what its links lead to; a server has one
connection.  It is a schedule that can be carried out, not proved to be the best.
"""

from __future__ import annotations

from bisect import insort
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crawlproject.frontier.budgets import Limits
    from crawlproject.simulation.web import Crawl, FloatArray, SimulatedWeb

#: Prices of a page that are tried, in mean times of a page: the best result counts.
LEVELS = (0.0, 3.0, 10.0, 100.0)


def oracle_within(whole: Crawl, sessions: int, limits: Limits) -> float:
    """The quality that the oracle gathers within ``limits``. About 0.5 s for 10,000 pages and each of ``LEVELS``.

    ``whole``: a crawl of all pages; the oracle reaches each page by the link that showed it first there.  Politeness is
    ignored, as by the bound.
    """
    web, parent, found = whole.web, _discovery_tree(whole), 0.0
    for level in LEVELS if min(limits.pages, limits.size) < inf else LEVELS[:1]:
        cost = web.page_time + level * web.page_time.mean() * _charged(web, limits)
        ratio = _worth_with_links(whole, parent, cost)
        found = max(found, _Oracle(web, sessions, cost, ratio).run(limits))
    return found


def _charged(web: SimulatedWeb, limits: Limits) -> FloatArray:
    """What each page costs of the limited pages and bytes, as a multiple of a usual page."""
    sizes: FloatArray = web.size / web.size.mean()
    if limits.size == inf:
        return np.ones(web.pages)
    return sizes if limits.pages == inf else (1.0 + sizes) / 2.0


def _discovery_tree(crawl: Crawl) -> list[int]:
    """The page that showed each page first in ``crawl``; -1 for seeds and pages not found."""
    web = crawl.web
    parent, known = [-1] * web.pages, bytearray(web.pages)
    for seed in web.seeds.tolist():
        known[seed] = 1
    indptr, targets = web.indptr.tolist(), web.targets.tolist()
    for page in crawl.pages.tolist():
        for target in targets[indptr[page] : indptr[page + 1]]:
            if not known[target]:
                known[target], parent[target] = 1, page
    return parent


def _worth_with_links(crawl: Crawl, parent: list[int], cost: FloatArray) -> list[float]:
    """Of each page, the best ratio of quality to cost of any part of the discovery tree that it heads.

    Parts are merged from the leaves up, the best child part first (Horn 1972).
    """
    quality, costs = crawl.web.quality.tolist(), cost.tolist()
    parts: list[list[tuple[float, float, float]]] = [[] for _ in quality]  # below a page: (-ratio, quality, cost)
    ratio = [0.0] * len(quality)
    for page in reversed(crawl.pages.tolist()):
        worth, spent = quality[page], costs[page]
        below = parts[page]
        below.sort(reverse=True)
        while below and -below[-1][0] * spent > worth:
            _, more, longer = below.pop()
            worth, spent = worth + more, spent + longer
        ratio[page] = worth / spent
        if parent[page] >= 0:
            parts[parent[page]] += [(-worth / spent, worth, spent), *below]
        parts[page] = []
    return ratio


class _Oracle:
    """A crawl by an order of pages and servers that no crawler can know; virtual time."""

    def __init__(self, web: SimulatedWeb, sessions: int, cost: FloatArray, ratio: list[float]) -> None:
        self._web = web
        self._free = sessions
        self._ratio = ratio
        self._cost: list[float] = cost.tolist()
        self._queues: list[list[tuple[float, int]]] = [[] for _ in range(web.servers)]  # (-ratio, page), sorted
        self._busy = bytearray(web.servers)
        self._known = bytearray((~web.collectable).tolist())
        self._heap: list[tuple[float, int, int]] = []  # (-rank, version, server)
        self._version = [0] * web.servers
        self._connections = [0] * web.servers
        self._time: list[float] = web.page_time.tolist()
        self._server: list[int] = web.server.tolist()
        self._connect: list[float] = web.connect_time.tolist()
        self._extra: list[float] = web.first_extra.tolist() or [0.0] * web.servers
        self._robots: list[float] = web.robots_time.tolist() or [0.0] * web.servers
        self._limit: list[int] = web.keep_alive_limit.tolist()
        self._events: list[tuple[float, int, int, int]] = []  # (time, server, page or -1 when closed, requests left)

    def run(self, limits: Limits) -> float:
        """Crawl from the seeds until a limit is reached; returns the quality gathered."""
        web, events = self._web, self._events
        indptr, targets = web.indptr.tolist(), web.targets.tolist()
        now = gathered = size = 0.0
        pages = 0
        self._discover(web.seeds.tolist())
        while True:
            while self._free and (server := self._best()) is not None:
                heappop(self._heap)
                self._free -= 1
                self._busy[server] = 1
                self._request(now + self._open(server), server, self._limit[server])
            if not events or events[0][0] > limits.seconds:
                return gathered
            now, server, page, left = heappop(events)
            if page < 0:
                self._free += 1
                self._busy[server] = 0
                self._rank(server)
                continue
            pages, size = pages + 1, size + float(web.size[page])
            if pages > limits.pages or size > limits.size:
                return gathered
            gathered += float(web.quality[page])
            self._discover(targets[indptr[page] : indptr[page + 1]])
            if left and self._queues[server] and self._goes_on(server):
                self._request(now, server, left)
            else:
                heappush(events, (now + self._connect[server], server, -1, 0))

    def _open(self, server: int) -> float:
        draw = min(self._connections[server], int(self._web.page_counts[server]) - 1)
        extra = self._extra[server] + (0.0 if self._connections[server] else self._robots[server])
        self._connections[server] += 1
        return float(self._web.connect_draws[self._web.first[server] + draw]) + extra

    def _request(self, now: float, server: int, left: int) -> None:
        page = self._queues[server].pop(0)[1]
        heappush(self._events, (now + self._time[page], server, page, left - 1))

    def _goes_on(self, server: int) -> bool:
        return self._free > 0 or self._best() is None or self._queues[server][0][0] <= self._heap[0][0]

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
        """Update the rank of a server: the best ratio of any number of its best pages, connection included."""
        self._version[server] += 1
        if self._busy[server] or not self._queues[server]:
            return
        cost, worth, best = 2 * self._connect[server] + self._extra[server], 0.0, 0.0
        for ratio, page in self._queues[server][: self._limit[server]]:
            worth -= ratio * self._cost[page]
            cost += self._cost[page]
            if worth <= best * cost:
                break
            best = worth / cost
        heappush(self._heap, (-best, self._version[server], server))

    def _best(self) -> int | None:
        """The server at the top of the heap."""
        heap = self._heap
        while heap and (heap[0][1] != self._version[heap[0][2]] or self._busy[heap[0][2]]):
            heappop(heap)
        return heap[0][2] if heap else None
