"""A short log (``FRONTIER_LOG_BRIEF``), without lists of components and settings; one of JSON (``FRONTIER_LOG_JSON``);
the closing stats in the log, and in a file.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.log import get_scrapy_root_handler

from crawlproject.engine import stats_of
from crawlproject.options.monitor import MonitorOptions
from crawlproject.storage.replacing import replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Self

    from pythonjsonlogger.json import JsonFormatter
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector


logger = logging.getLogger(__name__)

#: Family of the stats whose names have no slash.
CRAWL = "crawl"

#: Logger of Scrapy -> beginnings of messages that are logged at DEBUG instead.
LISTS = {
    "scrapy.addons": ("Enabled addons",),
    "scrapy.crawler": ("Overridden settings",),
    "scrapy.middleware": ("Enabled ",),
    "scrapy.utils.log": ("Versions:",),
}


def shorten_lists() -> None:
    """Log Scrapy's lists at DEBUG, in this process. O(1); again without effect."""
    for name in LISTS:
        logging.getLogger(name).addFilter(_to_debug)  # added only once


def _to_debug(record: logging.LogRecord) -> bool:
    if record.levelno == logging.INFO and str(record.msg).startswith(LISTS.get(record.name, ())):
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
    return True


class BriefStats:
    """Extension: logs the closing stats, sorted, a line for each family; replaces Scrapy's ``STATS_DUMP``."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = stats_of(crawler)
        crawler.signals.connect(self._log, signals.engine_stopped)  # all stats are there

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not MonitorOptions.of(crawler).sorts_stats:
            raise NotConfigured
        return cls(crawler)

    def _log(self) -> None:
        stats = dict(sorted(self._stats.get_stats().items()))
        logger.info("Stats (docs/stats.md):\n%s", "\n".join(stat_lines(stats)), extra={"stats": stats})


def stat_lines(stats: Mapping[str, Any]) -> list[str]:
    """``downloader: request_count 5, response_count 4``: a line for each family. O(stats)."""
    families: dict[str, list[str]] = {}
    for name, value in sorted(stats.items()):
        family, slash, rest = name.partition("/")
        shown = str(value)
        if isinstance(value, float):
            shown = f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"  # without an exponent
        families.setdefault(family if slash else CRAWL, []).append(f"{rest or family} {shown}")
    return [f"{family}: {', '.join(values)}" for family, values in sorted(families.items())]


class StatsFile:
    """An extension. The file is one JSON object; it has a ``finish_reason`` only if the crawl has ended."""

    def __init__(self, path: Path, stats: StatsCollector) -> None:
        self._path = path
        self._stats = stats
        self._reason: str | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
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
            logger.error(
                "FRONTIER_MONITOR_STATS_FILE=%r: %s", str(self._path), getattr(error, "strerror", None) or error
            )


#: Name of the handler.
JSON = "crawlproject.json"

#: Names of a record's attributes in the log. Others that somebody gave it, such as ``stats``, keep theirs.
_NAMES = {"levelname": "level", "name": "logger", "exc_info": "exception", "stack_info": "stack"}


def json_formatter() -> JsonFormatter:
    """``{"level": ..., "logger": ..., "message": ..., "time": ...}``, and ``exception`` if there is one."""
    from pythonjsonlogger.core import RESERVED_ATTRS  # only where it is wanted: it takes 0.03 s
    from pythonjsonlogger.json import JsonFormatter

    return JsonFormatter(
        "{levelname}{name}{message}",
        style="{",
        timestamp="time",
        rename_fields=_NAMES,
        json_ensure_ascii=False,
        reserved_attrs=[*RESERVED_ATTRS, "spider"],
    )


def use_json(settings: BaseSettings, options: MonitorOptions) -> None:
    """Write the log as JSON where Scrapy would write it as text.

    Scrapy replaces its own handler several times at the start: ``LOG_ENABLED`` and ``LOG_FILE`` make these write
    nothing.  Does nothing if Scrapy does not log (``LOG_INSTALL_ROOT_HANDLER``) or is configured not to.
    """
    if any(handler.get_name() == JSON for handler in logging.root.handlers):
        _silence(settings)
        return
    if not settings.getbool("LOG_ENABLED") and options.log_file is None:
        return
    handler: logging.Handler
    if options.log_file is not None:
        mode = "a" if settings.getbool("LOG_FILE_APPEND") or get_scrapy_root_handler() is not None else "w"
        handler = logging.FileHandler(options.log_file, mode, options.log_encoding)
    else:
        handler = logging.StreamHandler()
    handler.set_name(JSON)
    handler.setFormatter(json_formatter())
    handler.setLevel(options.log_level)
    logging.root.setLevel(logging.NOTSET)
    logging.root.addHandler(handler)
    scrapys = get_scrapy_root_handler()
    if scrapys is not None:
        logging.root.removeHandler(scrapys)
    _silence(settings)


def _silence(settings: BaseSettings) -> None:
    settings.set("LOG_ENABLED", False, priority="cmdline")
    settings.set("LOG_FILE", None, priority="cmdline")
