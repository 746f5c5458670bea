"""Estimates when what is queued now will be fetched: by the present rate, and by the waits that are known. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
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
    guarded: int = 0
    #: Queued URLs that wait until all others are fetched, because pages like theirs showed nothing new.
    doubted: int = 0
    mirrors: int = 0
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
    is_limit: bool = False


NOT_BEGUN = Forecast(None, "the crawl has not begun")


class Forecaster:
    """Keeps the counts of the last ``WINDOW`` seconds; a time in which no request may start is left out."""

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008 - it is a value
        self._limits = limits
        self._began: float | None = None
        self._counts: deque[Counts] = deque()

    def halt(self, now: float, why_not: str) -> Forecast:
        """No request may start now: there is no estimate, and the rate is measured again afterwards."""
        self._began = now if self._began is None else self._began
        self._counts.clear()
        return Forecast(None, why_not)

    def forecast(self, counts: Counts, queued: int, survey: Survey | None) -> Forecast:
        """With ``queued`` URLs that may be fetched. Amortised O(1)."""
        self._began = counts.now if self._began is None else self._began
        self._counts.append(counts)
        while self._counts[0].now < counts.now - WINDOW:
            self._counts.popleft()
        first = self._counts[0]
        time, done = max(1e-9, counts.now - first.now), counts.done - first.done
        left = self._limits.time - (counts.now - self._began)
        if done >= MIN_DONE:
            for limit, count, before in zip(self._limits[1:], counts[2:], first[2:], strict=True):
                left = min(left, time * max(0.0, limit - count) / max(1e-9, count - before))
        queue = _queue(done / time, done, queued, survey)
        is_first = left < inf and (queue.end is None or left <= queue.end)
        return Forecast(max(0.0, left), is_limit=True) if is_first else queue


def _queue(rate: float, done: int, queued: int, survey: Survey | None) -> Forecast:
    """The slowest server decides where the rate alone would end earlier; failing ones must be given up."""
    wait = 0.0
    if survey is not None:
        wait = max(survey.longest_time, survey.failing_time)
        queued -= min(queued, survey.beyond_limits + survey.failing_urls)
    if queued and done < MIN_DONE and wait <= WINDOW:
        return Forecast(None, "too few pages yet")
    return Forecast(max(wait, queued / rate if queued and done >= MIN_DONE else 0.0))
