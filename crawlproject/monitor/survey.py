"""The result of examining all servers of a frontier (``surveyor``)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crawlproject.frontier.server import Server


#: Servers named in a result.
TOP = 1000

#: Drain times are added up in classes, each this much longer than the one before; the first ends at one second.
DRAIN_CLASS = 1.25
DRAIN_CLASSES = 80

#: How sharply a crawl's pace bends from one limit to the other (``joint_pace``).
SHARPNESS = 4.0

#: Share of what politeness allows that a crawl reaches at most.
MAX_SHARE = 0.99

#: Maximum share of the queued quality on servers that fail.
MAX_LOST = 0.95


@dataclass(slots=True)
class Drains:
    """Servers with queued URLs, in classes by the time that fetching these takes: O(1) memory."""

    servers: list[int] = field(default_factory=lambda: [0] * DRAIN_CLASSES)
    urls: list[int] = field(default_factory=lambda: [0] * DRAIN_CLASSES)
    #: Sum of their times, seconds.
    seconds: list[float] = field(default_factory=lambda: [0.0] * DRAIN_CLASSES)
    #: Sum of the seconds of connections that all URLs take.
    work: float = 0.0

    def add(self, urls: int, seconds: float, work: float = 0.0) -> None:
        """Add a server; ``work``: seconds of connections, without rests."""
        place = bisect_right(_DRAIN_BOUNDS, seconds)
        self.servers[place] += 1
        self.urls[place] += urls
        self.seconds[place] += seconds
        self.work += work

    @property
    def work_per_url(self) -> float:
        """Seconds of a connection for a queued URL; 0 without URLs. O(classes)."""
        urls = sum(self.urls)
        return self.work / urls if urls else 0.0

    @property
    def pace(self) -> float:
        """URLs per second that politeness allows now, with any number of connections. O(classes)."""
        return sum(pace for pace, _ in self._classes())

    def time(self, urls: float, growth: float, own_pace: float, factor: float) -> float:
        """Seconds until ``urls`` URLs are fetched, if every server gets ``growth`` times its present ones.

        The crawl fetches ``own_pace`` URLs a second while many servers are ready, and ``factor`` times what politeness
        allows while few are.  At first all servers are left; then the large and slow ones.  O(classes).
        """
        classes = [(factor * pace, growth * time / factor) for pace, time in self._classes()]
        polite = sum(pace for pace, _ in classes)
        seconds = before = 0.0
        for allowed, time in classes:
            pace = joint_pace(own_pace, polite)
            fetched = polite * (time - before)
            if fetched >= urls:
                break
            urls -= fetched
            seconds += fetched / pace
            polite, before = max(1e-9, polite - allowed), time
        else:
            pace = own_pace  # more than there is
        return seconds + urls / pace

    def _classes(self) -> list[tuple[float, float]]:
        """(URLs per second that politeness allows, seconds that a server takes) of each class, quick servers first."""
        return [
            (urls * servers / seconds, seconds / servers)
            for servers, urls, seconds in zip(self.servers, self.urls, self.seconds, strict=True)
            if servers and seconds > 0
        ]

    def polite_time(self, urls: float, growth: float) -> float:
        """Seconds in which politeness allows to fetch ``urls`` URLs if every server gets ``growth`` times its present
        ones, with any number of connections. O(classes)."""
        classes = [
            (count, seconds / servers)
            for servers, count, seconds in zip(self.servers, self.urls, self.seconds, strict=True)
            if servers
        ]
        low, high = 0.0, growth * max((time for _, time in classes), default=0.0)
        for _ in range(24):
            middle = (low + high) / 2
            if sum(count * min(growth, middle / time if time else growth) for count, time in classes) >= urls:
                high = middle
            else:
                low = middle
        return high


def joint_pace(own: float, polite: float) -> float:
    """The pace of a crawl that could do ``own`` and may do ``polite``: near the lower of both, below each. O(1)."""
    return float((own**-SHARPNESS + polite**-SHARPNESS) ** (-1 / SHARPNESS))


def own_pace(pace: float, polite: float) -> tuple[float, float]:
    """Inverse of ``joint_pace``: the own pace, and a factor on ``polite`` if the crawl is faster than that. O(1)."""
    if pace >= MAX_SHARE * polite:
        factor = pace / (MAX_SHARE * polite)
        polite *= factor
    else:
        factor = 1.0
    return (pace**-SHARPNESS - polite**-SHARPNESS) ** (-1 / SHARPNESS), factor


_DRAIN_BOUNDS = [DRAIN_CLASS**power for power in range(DRAIN_CLASSES - 1)]


@dataclass(slots=True)
class Survey:
    """The result of a round over all servers; times in seconds."""

    #: Servers with queued URLs.
    with_urls: int = 0
    drains: Drains = field(default_factory=Drains)
    #: The server that takes longest, and how long; at the time it was examined.
    longest: Server | None = None
    longest_time: float = 0.0
    #: Servers that fail, their queued URLs, and the longest time until one is given up if it continues to fail.
    failing: int = 0
    failing_urls: int = 0
    failing_time: float = 0.0
    #: Quality of the best of these URLs, and the number of the others.
    failing_quality: float = 0.0
    failing_others: int = 0
    #: Queued URLs that will not be fetched: their server, or its domain, will be full before.
    beyond_limits: int = 0
    #: Their quality, at most.
    beyond_quality: float = 0.0
    guarded: int = 0
    mirrors: int = 0
    #: The servers with the most pages, failures and URLs, at most ``TOP``, most first.
    top: list[Server] = field(default_factory=list)


def fetchable(queued: int, waiting: float | None, survey: Survey | None) -> tuple[int, float | None]:
    """Of the queued URLs those for which page limits leave room; and their quality, without that of failing servers.

    Of servers that fail nothing is gathered. O(1).
    """
    if survey is None or not queued:
        return queued, waiting
    left = queued - min(queued, survey.beyond_limits)
    if waiting is None:
        return left, None
    waiting -= min(survey.beyond_quality, waiting * (1 - left / queued))
    return left, waiting - _lost(waiting, left, survey)


def _lost(waiting: float, queued: int, survey: Survey) -> float:
    """Queued quality on servers that fail.

    Its share is larger than that of the URLs: nothing of it is fetched, and other servers still link to it.
    """
    if not survey.failing_urls:
        return 0.0
    best = survey.failing_urls - survey.failing_others
    others = min(waiting / max(1, queued), survey.failing_quality / max(1, best))
    return min(MAX_LOST * waiting, survey.failing_quality + survey.failing_others * others)
