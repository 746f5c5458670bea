"""The crawl's figures now: one typed object that the panel, the series, the report and the console share.

``figures_of(crawler).now()`` may be called as often as anybody likes: it computes new figures at most every
``FRESH`` seconds, in O(stats) and a bounded number of servers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from scrapy.utils.misc import load_object

from crawlproject.engine import Crawl
from crawlproject.monitor.forecast import NOT_BEGUN, Forecast, Progress
from crawlproject.monitor.quantities import share_gathered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

    from crawlproject.frontier.budgets import Outlook
    from crawlproject.monitor.forecast import Survey

#: Seconds for which figures count as those of now.
FRESH = 0.5

#: Computes figures. Loaded by its path, because it imports much and those who show figures need nothing of it.
SAMPLER = "crawlproject.monitor.sampler.CrawlFigures"


@dataclass(frozen=True, slots=True)
class ServerCounts:
    known: int = 0
    ready: int = 0
    resting: int = 0
    #: Ready, but their politeness group is busy.
    waiting: int = 0
    #: With a session.
    leased: int = 0
    #: Without a queued URL.
    idle: int = 0
    held: int = 0
    given_up: int = 0

    @property
    def with_urls(self) -> int:
        """Servers that have URLs queued, or a session."""
        return self.ready + self.resting + self.waiting + self.leased


@dataclass(frozen=True, slots=True)
class Figures:
    """A crawl at one moment; counts are of this run unless stated otherwise, times in seconds."""

    #: Since the epoch, by the clock as it was at the start.
    at: float
    #: Since the spider opened.
    elapsed: float
    pages: int = 0
    #: Of these, on the topic of the spider ``topic``.
    relevant: int = 0
    #: Over the last ``RATE_TIME`` seconds, and over the whole run.
    pages_per_second: float = 0.0
    mean_pages_per_second: float = 0.0
    #: Received.
    bytes: int = 0
    bytes_per_second: float = 0.0
    #: Sessions, each with a connection; how many are allowed now, and by ``FRONTIER_MAX_SESSIONS`` or the
    #: operator.
    sessions: int = 0
    session_limit: int = 0
    max_sessions: int = 0
    servers: ServerCounts = field(default_factory=ServerCounts)
    #: URLs, how many of them belong to servers that the operator has blocked, and how many come last, because pages
    #: like theirs showed nothing new.
    queued: int = 0
    blocked: int = 0
    doubted: int = 0
    #: URLs seen; with ``JOBDIR`` including earlier runs.
    seen: int = 0
    #: Estimated quality of the pages fetched, and of the URLs queued (None: not known); earlier runs included.
    quality_gathered: float = 0.0
    quality_queued: float | None = None
    forecast: Forecast = NOT_BEGUN
    #: What is left of the budget that ends first, and what it is worth; None: nothing is limited.
    budget: Outlook | None = None
    progress: Progress = Progress()  # noqa: RUF009 - it is a value
    #: Pages of all runs, and of all workers' runs.
    pages_all: int = 0
    #: What holds the crawl back, in words.
    held_back: str = ""
    #: Errors and refusals: kind in words -> count, most first.
    failures: Mapping[str, int] = field(default_factory=dict)
    #: Of several spiders: name -> pages, items and errors in words; those with most pages first.
    spiders: Mapping[str, str] = field(default_factory=dict)
    items: int = 0
    requests: int = 0
    #: CPU time of the process per second, over the last ``RATE_TIME`` seconds.
    cpu: float = 0.0
    #: Mean lag of the event loop (seconds) and memory (bytes), of the load monitor's last sample.
    lag: float = 0.0
    memory: int = 0
    #: Whether other workers crawl as well: what is queued, and the servers, are this worker's.
    is_worker: bool = False

    @property
    def quality_share(self) -> float | None:
        """Quality gathered as a share of what is known; None if unknown."""
        return share_gathered(self.quality_gathered, self.quality_queued)


class FiguresSource(Protocol):
    """Computes the figures of a crawl."""

    def now(self, fresh: float = FRESH) -> Figures:
        """The figures, at most ``fresh`` seconds old; from ``signals.frontier_closing`` on those of then."""

    def finish(self) -> None:
        """Keep the figures as they are now: what the run leaves. O(servers); again without effect."""

    @property
    def survey(self) -> Survey | None:
        """The last complete round over all servers; None until there is one."""


def figures_of(crawler: Crawler) -> FiguresSource:
    """The figures of ``crawler``, the same object for all who ask; the first call should be when the spider opens."""
    source: FiguresSource = Crawl.of(crawler).part(load_object(SAMPLER))
    return source
