"""Looks at all servers of a frontier, a few at a time: a look at 100,000 at once would block the event loop."""

from __future__ import annotations

from heapq import nlargest
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING

from crawlproject.monitor.forecast import Survey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.politeness import Politeness
    from crawlproject.frontier.server import Server

#: Servers named in a ``Survey``; servers examined in one call, about 4 µs each.
TOP, STEP = 1000, 1000

#: Failures in a row from which a server that has answered before counts as failing.
FAILING = 2


class Surveyor:
    """``max_new_failures`` give up a server that has never answered, ``max_pages`` fill one; 0: no such limit."""

    def __init__(self, frontier: Frontier, max_new_failures: int = 0, max_pages: int = 0) -> None:
        self._frontier = frontier
        self._max_new_failures = max_new_failures
        self._max_pages = max_pages
        self._round: Iterator[Server] | None = None
        self._found = Survey()
        #: The last complete round; None until there is one.
        self.survey: Survey | None = None

    def step(self, now: float, count: int = STEP) -> bool:
        """Examine up to ``count`` servers; whether that completed a round. A new one copies O(servers) references."""
        if self._round is None:
            self._round, self._found = iter(list(self._frontier.servers)), Survey()
        found, servers, examined = self._found, self._frontier.servers, 0
        for server in islice(self._round, count):
            examined += 1
            self._examine(server, servers.politeness_of(server), now)
            if len(found.top) >= 4 * TOP:
                found.top = nlargest(TOP, found.top, key=_importance)
        if examined == count:
            return False
        found.top = nlargest(TOP, found.top, key=_importance)
        self._round, self.survey = None, found
        return True

    def finish(self, now: float) -> None:
        """Do a whole round. O(servers), 0.4 s for 100,000."""
        self._round = None
        self.step(now, len(self._frontier.servers) + 1)

    def _examine(self, server: Server, politeness: Politeness, now: float) -> None:
        found, urls = self._found, len(server.urls)
        if server.fetched or server.failures or urls:
            found.top.append(server)
        found.guarded += bool(server.demoted_because)
        found.doubted += server.guard.waiting if server.guard else 0
        found.mirrors += server.demotion < 1.0
        if server.blocked or not urls:
            return
        if self._max_pages:
            urls = max(0, min(urls, self._max_pages - server.fetched))
            found.beyond_limits += len(server.urls) - urls
        allowed = self._frontier.max_failures
        failures = max(server.failures, server.robots_failures)
        if allowed and (failures >= FAILING or (server.last_error is not None and not server.fetched)):
            if self._max_new_failures and not server.fetched:
                allowed = min(allowed, self._max_new_failures)
            rests = sum(map(politeness.backoff, range(max(1, failures) + 1, allowed)))
            found.failing += 1
            found.failing_urls += urls
            found.failing_time = max(found.failing_time, max(0.0, server.ready_at - now) + rests)
        elif urls and (time := drain_time(server, politeness, now, urls)) > found.longest_time:
            found.longest, found.longest_time = server, time


def drain_time(server: Server, politeness: Politeness, now: float, urls: int) -> float:
    """Seconds to fetch ``urls`` queued URLs of ``server``, polite waits included. O(1)."""
    estimates, pages = server.estimates, max(1, server.expected_pages)
    sessions = ceil(urls / pages)
    wait = politeness.request_wait(estimates.response_time, server.crawl_delay)
    busy = estimates.connect_time + pages * estimates.response_time + (pages - 1) * server.request_wait
    rest = max(wait, politeness.session_rest(busy, server.crawl_delay))
    return sessions * busy + (sessions - 1) * rest + max(0.0, server.ready_at - now)


def _importance(server: Server) -> tuple[int, int, int]:
    return server.fetched, server.failures, len(server.urls)
