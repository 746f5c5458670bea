"""The extension that writes series and snapshot of a crawl to ``FRONTIER_REPORT_DIR``, or ``JOBDIR``, and the report at
the end.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings
from scrapy.utils.asyncio import create_looping_call

from crawlproject.clock import CLOCK
from crawlproject.crawl_frontier import frontier_of
from crawlproject.engine import stats_of
from crawlproject.frontier.observed_times import TIME_BOUNDS
from crawlproject.monitor.figures import figures_of
from crawlproject.monitor.forecast import TOP
from crawlproject.monitor.quantities import budget_words, crawl_name
from crawlproject.monitor.series.samples import (
    COLUMNS,
    FILE_NAME,
    KINDS,
    SNAPSHOT_NAME,
    SNAPSHOT_VERSION,
    SeriesWriter,
    write_snapshot,
)
from crawlproject.monitor.server_state import server_terms
from crawlproject.options.all_settings import DEFAULTS
from crawlproject.options.monitor import ConsoleOptions, ReportOptions
from crawlproject.signals import frontier_closing
from crawlproject.storage.errors import plain_message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.monitor.figures import Figures
    from crawlproject.monitor.forecast import Survey
    from crawlproject.monitor.series.samples import Sample

logger = logging.getLogger(__name__)

#: Seconds between two samples of the figures: rates need regular ones.
LOOK = 1.0

#: Seconds between two snapshots, 15 ms each; and until the second one, from which on this time doubles.
SNAPSHOT_INTERVAL, FIRST_INTERVAL = 60.0, 4.0

#: Longest text kept of a server's key, of an error, of a setting or a stat.
MAX_TEXT = 120

#: Names of settings whose values are secret, and secrets in URLs.
SECRET = re.compile(r"PASS|SECRET|TOKEN|AUTH|CREDENTIAL|COOKIE|(?:^|_)KEY(?:$|_ID)", re.IGNORECASE)
USER_INFO = re.compile(r"://[^/\s]{0,200}@")


class Series:
    """Writes the two files while the crawl runs; a failure is one line in the log, and the crawl continues."""

    def __init__(self, crawler: Crawler, directory: Path) -> None:
        self._crawler = crawler
        self._directory = directory
        self._writer: SeriesWriter | None = None
        self._task: AsyncioLoopingCall | LoopingCall | None = None
        self._sampled = self._saved = 0.0
        self._interval = FIRST_INTERVAL
        self._settings: dict[str, str] = {}
        self._has_failed = False
        self._snapshot: dict[str, Any] | None = None  # of the frontier, when it is about to be closed
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closing, frontier_closing)
        crawler.signals.connect(self._closed, signals.spider_closed)
        crawler.signals.connect(self._stopped, signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        directory = ReportOptions.of(crawler).report_directory
        if directory is None:
            raise NotConfigured
        return cls(crawler, directory)

    def _opened(self) -> None:
        figures_of(self._crawler).now()
        self._settings = changed_settings(self._crawler.settings)
        self._saved = CLOCK()
        with self._failing_once():
            self._directory.mkdir(parents=True, exist_ok=True)
            path = self._directory / FILE_NAME
            self._writer = SeriesWriter(path, time.time())
            if self._writer.damaged:
                logger.warning("%s: damaged lines were dropped: %d", path, self._writer.damaged)
            self._save()
        self._task = create_looping_call(self._look)
        self._task.start(LOOK, now=False)

    def _look(self) -> None:
        now = CLOCK()
        if self._writer is not None and now - self._sampled >= self._writer.interval - LOOK / 2:
            self._sampled = now
            self._sample()
        if now - self._saved >= self._interval:
            self._saved, self._interval = now, min(SNAPSHOT_INTERVAL, 2 * self._interval)
            self._save()

    def _sample(self) -> None:
        if self._writer is not None:
            with self._failing_once():
                self._writer.add(sample_of(figures_of(self._crawler).now()))

    def _save(self) -> None:
        snapshot, crawl = self._snapshot, frontier_of(self._crawler)
        if snapshot is None and crawl is not None:
            snapshot = snapshot_of(crawl, figures_of(self._crawler).survey)
        if snapshot is not None:
            run = run_part(self._crawler, self._settings)
            with self._failing_once():
                write_snapshot(self._directory / SNAPSHOT_NAME, snapshot | run)

    def _closing(self) -> None:
        """What the run leaves, before the frontier is closed: a worker then hands its servers over."""
        figures, crawl = figures_of(self._crawler), frontier_of(self._crawler)
        figures.finish()
        self._sample()
        if crawl is not None:
            self._snapshot = snapshot_of(crawl, figures.survey)

    def _closed(self) -> None:
        if self._task is not None and self._task.running:
            self._task.stop()
        if self._snapshot is None:  # another scheduler
            self._sample()

    async def _stopped(self) -> None:
        """All stats are there now."""
        if self._writer is None:
            return
        from crawlproject.monitor.report.page import REPORT_NAME, write_report  # only now: 0.6 MB

        self._save()
        try:
            made = await asyncio.to_thread(write_report, self._directory)
        except (OSError, ValueError) as error:
            logger.error("No report; `scrapy report` makes it later: %s", plain_message(error))
            return
        for problem in made.problems:
            logger.warning("%s", problem)
        logger.info("Report: %s", self._directory / REPORT_NAME)

    @contextmanager
    def _failing_once(self) -> Iterator[None]:
        """Log the first failure, such as a full disk; later ones are not logged."""
        try:
            yield
        except (OSError, ValueError) as error:
            if not self._has_failed:
                self._has_failed = True
                reason: Any = getattr(error, "strerror", None) or error
                logger.error("FRONTIER_REPORT_DIR=%r: the report will be incomplete: %s", str(self._directory), reason)


def sample_of(figures: Figures) -> Sample:
    found = figures.flat()
    unknown = -1 if figures.quality_queued is None else figures.quality_queued
    found |= {"quality_queued": unknown, "held_back": tuple(KINDS).index(figures.held_kind)}
    return {name: found.get(name, 0) for name in COLUMNS}


def snapshot_of(crawl: CrawlFrontier, survey: Survey | None) -> dict[str, Any]:
    """Servers and times, as plain values; ``run_part`` has the rest. O(TOP), about 15 ms."""
    frontier, times, now = crawl.frontier, crawl.times, CLOCK()
    top = survey.top if survey is not None else list(frontier.servers)[:TOP]
    servers = [server for server in top if frontier.server(server.key) is server]
    rows = [
        {name: plain(value) for name, value in server_terms(frontier.policy, server, now).items() if name != "traps"}
        for server in servers
    ]
    pages, gathered, urls = (sum(row[name] for row in rows) for name in ("fetched", "gathered", "urls"))
    rest = {
        "servers": len(frontier.servers) - len(rows),
        "pages": max(0, frontier.quality.pages - pages),
        "gathered": max(0.0, frontier.quality.gathered - gathered),
        "urls": max(0, len(frontier) + frontier.blocked - urls),
    }
    budget = frontier.budgets.outlook(frontier.queue.now, frontier.queue.last_rank)
    return {
        "version": SNAPSHOT_VERSION,
        "servers": rows,
        "rest": rest,
        "budget": "" if budget is None else ", ".join(budget_words(budget)),
        "doubted": 0 if survey is None else survey.doubted,
        "bounds": TIME_BOUNDS,
        "connect": times.connect.counts,
        "response": times.response.counts,
        "waits": times.waits.counts,
        "shortest_wait": times.shortest_wait if times.waits.total else None,
        "longest_wait": times.waits.longest,
        "too_early": times.too_early,
        "examples": crawl.fates.to_state()["examples"],
    }


def run_part(crawler: Crawler, settings: Mapping[str, str]) -> dict[str, Any]:
    """Name, time, stats and settings of the run, as plain values. O(stats)."""
    stats, spider, job = stats_of(crawler).get_stats(), crawler.spider, ConsoleOptions.of(crawler).job
    return {
        "name": crawl_name("" if spider is None else spider.name, job),
        "spider": "" if spider is None else spider.name[:MAX_TEXT],
        "at": time.time(),
        "stats": {name[:MAX_TEXT]: plain(value) for name, value in stats.items()},
        "settings": dict(settings),
    }


def changed_settings(settings: BaseSettings) -> dict[str, str]:
    """Settings of this project and of Scrapy that differ from their defaults: name -> value as text.

    Those of the command line come first, then the spider's, then the project's: a reader looks for what this crawl
    was given. Secrets are not kept: neither values of settings that are named so, nor users and passwords in URLs.
    """
    changed = {}
    defaults = vars(default_settings)
    for name in sorted(map(str, settings), key=lambda name: (-(settings.getpriority(name) or 0), name)):
        was_set = (settings.getpriority(name) or 0) >= SETTINGS_PRIORITIES["project"]
        if not was_set or (name not in DEFAULTS and name not in defaults):
            continue
        value = settings[name]  # ``get`` and the module's attributes warn of names that Scrapy has deprecated
        if str(value) == str(DEFAULTS[name] if name in DEFAULTS else defaults[name]):
            continue
        value = value.copy_to_dict() if isinstance(value, BaseSettings) else value
        is_secret = SECRET.search(name) is not None and not isinstance(value, (bool, int, float))
        text = "(not shown)" if is_secret else USER_INFO.sub("://(not shown)@", repr(value)[:10_000])
        changed[name[:MAX_TEXT]] = text[: 2 * MAX_TEXT]
    return changed


def plain(value: Any) -> Any:
    """A text that is bounded; of a number, four digits are enough for a table."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    return value if value is None or isinstance(value, int) else str(value)[:MAX_TEXT]
