"""Writes a crawl's stats to a file (``MONITOR_STATS_FILE``), for programs that start crawls."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawlproject.engine import stats_of
from crawlproject.options.monitor import MonitorOptions
from crawlproject.storage.replacing import replace_file

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)


class StatsFile:
    """An extension. The file is one JSON object; it has a ``finish_reason`` only if the crawl has ended."""

    def __init__(self, path: Path, stats: StatsCollector) -> None:
        self._path = path
        self._stats = stats
        self._reason: str | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy. Raises NotConfigured without ``MONITOR_STATS_FILE``."""
        path = MonitorOptions.of(crawler).stats_file
        if path is None:
            raise NotConfigured
        extension = cls(path, stats_of(crawler))
        for signal in (signals.spider_opened, signals.engine_stopped):  # the latter: all stats are there
            crawler.signals.connect(extension.write, signal=signal)
        crawler.signals.connect(extension.closed, signal=signals.spider_closed)
        return extension

    def closed(self, reason: str) -> None:
        """Note why the crawl ends: who reads the file decides by that, whatever collects the stats."""
        self._reason = reason

    def write(self) -> None:
        """Replace the file in one step. A failure is logged."""
        stats = self._stats.get_stats()
        if self._reason is not None:
            stats = {**stats, "finish_reason": self._reason}
        try:
            replace_file(self._path, json.dumps(stats, default=str, indent=1), is_durable=False)
        except (OSError, TypeError, ValueError) as error:
            logger.error("MONITOR_STATS_FILE=%r: %s", str(self._path), getattr(error, "strerror", None) or error)
