"""The extension that writes series and snapshot to ``FRONTIER_REPORT_DIR``, or ``JOBDIR``, and the report at the
end.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from crawlproject.clock import CLOCK
from crawlproject.crawl_frontier import frontier_of
from crawlproject.monitor.figures import figures_of
from crawlproject.monitor.series.samples import COLUMNS, FILE_NAME, KINDS, SNAPSHOT_NAME, SeriesWriter, write_snapshot
from crawlproject.monitor.series.snapshot import changed_settings, run_part, snapshot_of
from crawlproject.options.monitor import ReportOptions
from crawlproject.signals import frontier_closing
from crawlproject.storage.errors import plain_message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from crawlproject.monitor.figures import Figures
    from crawlproject.monitor.series.samples import Sample

logger = logging.getLogger(__name__)

#: Seconds between two samples of the figures: rates need regular ones.
LOOK = 1.0

#: Seconds between two snapshots, 15 ms each; and until the second one, from which on this time doubles.
SNAPSHOT_INTERVAL, FIRST_INTERVAL = 60.0, 4.0


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
            try:
                self._writer = SeriesWriter(path, time.time())
            except ValueError as error:  # written by another version: keep it, begin a new one
                path.rename(path.with_name(f"{FILE_NAME}.{time.time():.0f}"))
                logger.warning("%s; it was renamed, and a new one begins", error)
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
