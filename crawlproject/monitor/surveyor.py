"""Looks at all servers of a frontier, a few at a time: how long each will take, how fast they are, which matter most.

The frontier has no running counts of this, and a look at all of 100,000 servers at once would block the
event loop.  So each call examines some of them, and a round over all of them gives a new result.
"""

from __future__ import annotations

from collections import Counter
from heapq import nlargest
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING

from crawlproject.monitor.survey import TOP, Survey
from crawlproject.urls import domain_of_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.politeness import Politeness
    from crawlproject.frontier.server import Server

#: Servers examined in one call, about 4 µs each.
STEP = 1000

#: Failures in a row from which a server that has answered before is expected to continue to fail.
FAILING = 2

#: Seconds that an attempt takes: a time-out; less if the last error has one of these words (``requests.failures``).
FAILED_ATTEMPT, QUICK_ATTEMPT = 15.0, 0.5
QUICK_ERRORS = ("connection refused", "no such name", "no address")


class PagesAllowed:
    """Pages that limits per server and per domain still allow, each server asked for once in a round; 0: no limit.

    Memory: O(domains) if these are limited.  The pages of a domain are those of the round before.
    """

    def __init__(self, per_server: int = 0, per_domain: int = 0) -> None:
        self._per_server = per_server
        self._per_domain = per_domain
        self._fetched: Counter[str] = Counter()
        self._used: Counter[str] = Counter()  # fetched in the round before, or expected in this one

    def next_round(self) -> None:
        """Begin a round over all servers."""
        self._used, self._fetched = self._fetched, Counter()

    def of(self, server: Server) -> int:
        """The number of queued URLs of ``server`` that can be fetched. O(1)."""
        urls = len(server.urls)
        if self._per_server:
            urls = max(0, min(urls, self._per_server - server.fetched))
        if self._per_domain:
            domain = domain_of_server(server.key)
            self._fetched[domain] += server.fetched
            urls = max(0, min(urls, self._per_domain - self._used[domain]))
            self._used[domain] += urls
        return urls


class Surveyor:
    """Examines the servers of ``frontier`` in turn. Memory: a reference for each server during a round.

    A server that has never answered is given up after ``max_new_failures`` failures: 0 means as any other.
    """

    def __init__(self, frontier: Frontier, max_new_failures: int = 0, allowed: PagesAllowed | None = None) -> None:
        self._frontier = frontier
        self._max_new_failures = max_new_failures
        self._allowed = allowed or PagesAllowed()
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
            self._allowed.next_round()
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
        urls = self._allowed.of(server)
        if server.blocked:  # what is blocked does not keep the crawl running
            return
        if beyond := len(server.urls) - urls:  # the worst ones: at most as good as the mean of the best
            found.beyond_limits += beyond
            found.beyond_quality += beyond * server.urls.window_sum / min(len(server.urls), server.limit)
        if not urls:
            return
        found.with_urls += 1
        if self._frontier.max_failures and (
            server.failures >= FAILING or (server.last_error is not None and not server.fetched)
        ):
            found.failing += 1
            found.failing_urls += urls
            best = min(urls, server.limit)
            found.failing_quality += server.urls.window_sum * best / min(len(server.urls), server.limit)
            found.failing_others += urls - best
            found.failing_time = max(found.failing_time, self._time_to_fail(server, politeness, now))
            return
        time = drain_time(server, politeness, now, urls)
        found.drains.add(urls, time, urls / max(1, server.expected_pages) * server.expected_time)
        if time > found.longest_time:
            found.longest, found.longest_time = server, time

    def _time_to_fail(self, server: Server, politeness: Politeness, now: float) -> float:
        """Seconds until a failing server is given up. O(failures allowed)."""
        allowed, rest = self._frontier.max_failures, max(0.0, server.ready_at - now)
        if self._max_new_failures and not server.fetched:
            allowed = min(allowed, self._max_new_failures)
        failures = max(server.failures, server.robots_failures)
        is_quick = server.last_error is not None and any(error in server.last_error for error in QUICK_ERRORS)
        attempt = QUICK_ATTEMPT if is_quick else FAILED_ATTEMPT
        return rest + attempt + sum(attempt + politeness.backoff(number) for number in range(failures + 1, allowed))


def drain_time(server: Server, politeness: Politeness, now: float, urls: int) -> float:
    """Seconds to fetch ``urls`` queued URLs of ``server``, polite waits included. O(1)."""
    estimates, pages = server.estimates, max(1, server.expected_pages)
    sessions = ceil(urls / pages)
    wait = politeness.request_wait(estimates.response_time, server.crawl_delay)
    busy = estimates.connect_time + pages * estimates.response_time + (pages - 1) * server.request_wait
    rest = max(wait, politeness.session_rest(busy, server.crawl_delay))
    return sessions * busy + (sessions - 1) * rest + max(0.0, server.ready_at - now)


def _top(servers: list[Server]) -> list[Server]:
    return nlargest(TOP, servers, key=lambda server: (server.fetched, server.failures, len(server.urls)))
