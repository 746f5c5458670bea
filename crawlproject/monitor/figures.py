"""The crawl's figures at one moment: one typed object for panel, series, report, console and metrics.

``figures_of(crawler).now()`` may be called as often as anybody likes: it computes new figures at most every ``FRESH``
seconds, in O(stats) and a bounded number of servers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

from scrapy.utils.misc import load_object

from crawlproject.engine import Crawl
from crawlproject.frontier.states import ServerState
from crawlproject.monitor.forecast import Forecast, Progress
from crawlproject.monitor.quantities import budget_words, share_gathered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

    from crawlproject.frontier.budgets import Outlook
    from crawlproject.monitor.forecast import Survey

#: Seconds for which figures count as those of now.
FRESH = 0.5

#: Computes figures. Loaded by its path: it imports much, and those who show figures need nothing of it.
SAMPLER = "crawlproject.monitor.sampler.CrawlFigures"

#: Names in ``Figures.servers``.
SERVERS = ("known", *(state.value for state in ServerState), "given_up")


@dataclass(frozen=True, slots=True)
class Figures:
    """A crawl at one moment; counts are of this run unless stated otherwise, times in seconds."""

    #: Since the epoch, by the clock as it was at the start: a clock that is set moves no point of a chart.
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
    #: Sessions, each with a connection; how many are allowed now, and by ``FRONTIER_MAX_SESSIONS`` or the operator.
    sessions: int = 0
    session_limit: int = 0
    max_sessions: int = 0
    #: One of ``SERVERS`` -> how many: in each state, in all, given up.
    servers: Mapping[str, int] = field(default_factory=Counter)
    #: URLs; how many of them belong to servers that the operator has blocked, and how many come last, because pages
    #: like theirs showed nothing new.
    queued: int = 0
    blocked: int = 0
    doubted: int = 0
    #: URLs seen; with ``JOBDIR`` including earlier runs.
    seen: int = 0
    #: Estimated quality of the pages fetched, and of the URLs queued (None: not known); earlier runs included.
    quality_gathered: float = 0.0
    quality_queued: float | None = None
    forecast: Forecast = Forecast(None, "the crawl has not begun")  # noqa: RUF009 - it is a value
    #: What is left of the budget that ends first, and what it is worth; None: nothing is limited.
    budget: Outlook | None = None
    progress: Progress = Progress()  # noqa: RUF009 - it is a value
    #: Pages of all runs, and of all workers' runs.
    pages_all: int = 0
    #: What holds the crawl back: one of ``held_back.KINDS``, and in words.
    held_kind: str = ""
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

    def flat(self) -> dict[str, Any]:
        """As values of JSON, the names of ``servers`` with ``servers/`` before them. O(failures)."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        forecast, servers = found.pop("forecast"), found.pop("servers")
        budget = "" if self.budget is None else ", ".join(budget_words(self.budget)[self.progress.what != "queue" :])
        return found | {
            **{f"servers/{name}": servers[name] for name in SERVERS if name in servers},
            "failed": sum(self.failures.values()),
            "progress": self.progress._asdict(),
            "budget": budget,
            "end": forecast.end,
            "why_no_end": forecast.why_not,
            "is_limit": bool(forecast.limit),
            "quality_share": self.quality_share,
        }


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
