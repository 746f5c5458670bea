"""The settings ``MONITOR_*``, ``METRICS_*`` and ``FRONTIER_LOG_FAILURES`` (docs/monitoring.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from crawlproject.options.values import Options, Reader

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class MonitorOptions(Options):
    """Measurement and reports of the load."""

    enabled: bool
    #: Seconds between two measurements.
    interval: float
    #: Mean lag of the event loop (seconds) above which fewer sessions are opened; 0 = no limit.
    max_lag: float
    #: Bytes of memory above which fewer sessions are opened; 0 = no limit.
    max_memory: int
    #: Seconds between two lines in the log; 0 = none.
    log_interval: float
    #: Where Prometheus finds the metrics; port 0 = nowhere.
    metrics_host: str
    metrics_port: int
    #: Whether failed pages are counted in the log by kind, instead of a line for each.
    counts_failures: bool
    #: Whether lines of the log are JSON objects; whether it leaves out lists of components and settings.
    log_json: bool
    log_brief: bool
    #: Scrapy's: where the log goes, and how; None: to standard error.
    log_file: Path | None
    log_encoding: str
    log_level: str
    #: File that gets the stats as JSON; None = no file.
    stats_file: Path | None

    @property
    def sorts_stats(self) -> bool:
        """Whether the closing stats are logged sorted, with an object for programs, instead of by Scrapy."""
        return self.log_brief or self.log_json

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """See ``Options``."""
        return cls(
            enabled=reader.switch("MONITOR_ENABLED", True),
            # Long enough for a mean, short enough to act before time-outs: two bad intervals in a row lower the limit.
            interval=reader.positive("MONITOR_INTERVAL", 5.0),
            # A full-speed crawl of a web on loopback, with its CPU at 100%, lags by 0.1 s (docs/monitoring.md).
            max_lag=reader.number("MONITOR_MAX_LAG", 1.0),
            max_memory=reader.count("MONITOR_MAX_MEMORY", 0) * 1024 * 1024,
            log_interval=reader.number("LOGSTATS_INTERVAL", 60.0),
            metrics_host=str(reader.value("METRICS_HOST", "127.0.0.1")),
            metrics_port=reader.count("METRICS_PORT", 0, most=65_535),
            # Lines are what Scrapy does; this project's settings and its spider ``web`` choose counts.
            counts_failures=reader.choice("FRONTIER_LOG_FAILURES", "lines", ("lines", "counts")) == "counts",
            log_json=reader.switch("LOG_FORMAT_JSON", False),
            log_brief=reader.switch("LOG_BRIEF", False),
            log_file=reader.path("LOG_FILE"),
            log_encoding=str(reader.value("LOG_ENCODING", "utf-8") or "utf-8"),
            log_level=str(reader.value("LOG_LEVEL", "DEBUG")).upper(),
            stats_file=reader.path("MONITOR_STATS_FILE"),
        )
