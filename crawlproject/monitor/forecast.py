"""Estimates when what is queued now will be fetched: by the present rate, and by the waits that are known. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import islice
from math import ceil, inf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.politeness import Politeness
    from crawlproject.frontier.server import Server


#: The present rate is the mean of so many seconds; it is told after so many requests.
WINDOW, MIN_DONE = 60.0, 20


@dataclass(slots=True)
class Survey:
    """The result of a round over all servers; times in seconds."""

    #: The server whose queued URLs take longest, waits included, and how long.
    longest: Server | None = None
    longest_time: float = 0.0
    #: Servers that fail, their URLs, and the longest rest until one of them is given up if it continues to fail.
    failing: int = 0
    failing_urls: int = 0
    failing_time: float = 0.0
    #: Queued URLs that will not be fetched: their server will be full before.
    beyond_limits: int = 0
    #: Queued URLs that wait until all others are fetched, because pages like theirs showed nothing new.
    doubted: int = 0
    #: The servers with the most pages, failures and URLs, most first.
    top: list[Server] = field(default_factory=list)


class Counts(NamedTuple):
    """The crawl at one moment of a monotonic clock."""

    now: float
    #: Requests finished, those without a page included.
    done: int
    pages: int = 0
    bytes: int = 0
    items: int = 0


class Limits(NamedTuple):
    """What ends the crawl: seconds, pages, bytes, items; inf: no limit."""

    time: float = inf
    pages: float = inf
    bytes: float = inf
    items: float = inf


class Forecast(NamedTuple):
    """Seconds until the queue is fetched, or a limit is reached; None: ``why_not`` says why (empty: it is ending)."""

    end: float | None
    why_not: str = ""
    #: The name in ``Limits`` of the one that is reached first; empty: the queue ends before.
    limit: str = ""


class Progress(NamedTuple):
    """How far a crawl is: by a limit, named as in ``Limits``, or by the URLs that are known (``queue``)."""

    what: str = "queue"
    done: float = 0.0
    #: 0: not known yet.
    of: float = 0.0


class Forecaster:
    """Keeps the counts of the last ``WINDOW`` seconds; a time in which no request may start is left out."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._counts: deque[Counts] = deque()

    def halt(self, now: float, why_not: str) -> Forecast:
        """No request may start now: there is no estimate, and the rate is measured again afterwards."""
        self._began = now if self._began is None else self._began
        self._counts.clear()
        return Forecast(None, why_not)

    def forecast(self, counts: Counts, queued: int, survey: Survey | None, limits: Limits = Limits()) -> Forecast:  # noqa: B008 - it is a value
        """With ``queued`` URLs that may be fetched. Amortised O(1)."""
        self._began = counts.now if self._began is None else self._began
        self._counts.append(counts)
        while self._counts[0].now < counts.now - WINDOW:
            self._counts.popleft()
        first = self._counts[0]
        time, done = max(1e-9, counts.now - first.now), counts.done - first.done
        left, name = limits.time - (counts.now - self._began), "time"
        if done >= MIN_DONE:
            for each, limit, count, before in zip(limits._fields[1:], limits[1:], counts[2:], first[2:], strict=True):
                left, name = min((left, name), (time * max(0.0, limit - count) / max(1e-9, count - before), each))
        queue = _queue(done / time, done, queued, survey)
        is_first = left < inf and (queue.end is None or left <= queue.end)
        return Forecast(max(0.0, left), limit=name) if is_first else queue


def progress(used: Limits, limits: Limits, forecast: Forecast, known: int, queued: int) -> Progress:
    """By what ends the crawl first; while that is not known, by the limit of which most is used. O(limits)."""
    done = used._asdict()
    found = {name: Progress(name, done[name], of) for name, of in limits._asdict().items() if 0 < of < inf}
    if forecast.limit in found:
        return found[forecast.limit]
    if forecast.end is None and found:
        return max(found.values(), key=lambda each: each.done / each.of)
    return Progress("queue", max(0, known - queued), known)


def _queue(rate: float, done: int, queued: int, survey: Survey | None) -> Forecast:
    """The slowest server decides where the rate alone would end earlier; failing ones must be given up."""
    wait = 0.0
    if survey is not None:
        wait = max(survey.longest_time, survey.failing_time)
        queued -= min(queued, survey.beyond_limits + survey.failing_urls)
    if queued and done < MIN_DONE and wait <= WINDOW:
        return Forecast(None, "too few pages yet")
    return Forecast(max(wait, queued / rate if queued and done >= MIN_DONE else 0.0))


#: Servers named in a ``Survey``; servers examined in one call, about 4 µs each.
TOP, STEP = 1000, 1000

#: Failures in a row from which a server that has answered before counts as failing.
FAILING = 2


class Surveyor:
    """``max_new_failures`` give up a server that has never answered, ``max_pages()`` fill one; 0: no such limit."""

    def __init__(self, frontier: Frontier, max_new_failures: int = 0, max_pages: Callable[[], int] = lambda: 0) -> None:
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
        found.doubted += server.guard.waiting if server.guard else 0
        if server.blocked or not urls:
            return
        if max_pages := self._max_pages():
            urls = max(0, min(urls, max_pages - server.fetched))
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
