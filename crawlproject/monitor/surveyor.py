"""Looks at all servers of a frontier, a few at a time: how long each will take, how fast they are, which matter most.

Nothing that the frontier keeps up to date tells this, and a look at all of 100,000 servers at once would block the
event loop.  So each call examines some of them, and a round over all of them gives a new result.
"""

from __future__ import annotations

from heapq import nlargest
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING

from crawlproject.monitor.survey import TOP, Survey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.politeness import Politeness
    from crawlproject.frontier.server import Server

#: Servers examined in one call, about 4 µs each.
STEP = 1000

#: Failures in a row from which a server is expected to go on failing, and seconds that an attempt takes: a time-out.
FAILING, FAILED_ATTEMPT = 2, 15.0


class Surveyor:
    """Examines the servers of ``frontier`` in turn. Memory: a reference for each server during a round."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._round: Iterator[Server] | None = None
        self._found = Survey()
        #: The last complete round; None until there is one.
        self.survey: Survey | None = None

    def step(self, now: float, count: int = STEP) -> bool:
        """Examine up to ``count`` servers; returns whether that completed a round.

        A new round begins with the next call: O(servers) of copied references, 10 ms for a million.
        """
        if self._round is None:
            self._round, self._found = iter(list(self._frontier.servers)), Survey()
        found, servers, examined = self._found, self._frontier.servers, 0
        for server in islice(self._round, count):
            examined += 1
            self._examine(server, servers.politeness_of(server), now)
            if len(found.top) >= 4 * TOP:
                found.top = _top(found.top)
        if examined == count:
            return False
        found.top = _top(found.top)
        self._round, self.survey = None, found
        return True

    def finish(self, now: float) -> None:
        """Do a whole round. O(servers), 0.4 s for 100,000."""
        self._round = None
        self.step(now, len(self._frontier.servers) + 1)

    def _examine(self, server: Server, politeness: Politeness, now: float) -> None:
        found = self._found
        if server.fetched or server.failures or server.urls:
            found.top.append(server)
        found.guarded += bool(server.demoted_because)
        found.mirrors += server.demotion < 1.0
        urls = len(server.urls)
        if not urls:
            return
        found.with_urls += 1
        if server.failures >= (FAILING if server.fetched else 1) and self._frontier.max_failures:
            found.failing_urls += urls
            left = range(server.failures + 1, self._frontier.max_failures)
            time = sum(FAILED_ATTEMPT + politeness.backoff(failures) for failures in left)
            found.failing_time = max(found.failing_time, time + max(0.0, server.ready_at - now))
            return
        time = drain_time(server, politeness, now)
        found.drains.add(urls, time)
        if time > found.longest_time:
            found.longest, found.longest_time = server, time


def drain_time(server: Server, politeness: Politeness, now: float) -> float:
    """Seconds to fetch the queued URLs of ``server``, polite waits included. O(1)."""
    estimates, pages = server.estimates, max(1, server.expected_pages)
    sessions = ceil(len(server.urls) / pages)
    wait = politeness.request_wait(estimates.response_time, server.crawl_delay)
    busy = estimates.connect_time + pages * estimates.response_time + (pages - 1) * server.request_wait
    rest = max(wait, politeness.session_rest(busy, server.crawl_delay))
    return sessions * busy + (sessions - 1) * rest + max(0.0, server.ready_at - now)


def _top(servers: list[Server]) -> list[Server]:
    return nlargest(TOP, servers, key=lambda server: (server.fetched, server.failures, len(server.urls)))
