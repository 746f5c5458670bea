"""The settings ``MONITOR_*``, ``METRICS_*`` and ``FRONTIER_LOG_FAILURES`` (docs/watch.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlproject.options.values import Options, Reader, setting

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class MonitorOptions(Options):
    """Measurement and reports of the load.

    MONITOR_ENABLED: monitor the load
    MONITOR_INTERVAL: seconds between two samples
    MONITOR_MAX_LAG: mean lag of the event loop, seconds, above which fewer sessions are allowed; 0: never
    MONITOR_MAX_MEMORY: memory of the process, MB, above which fewer sessions are allowed; 0: never
    MONITOR_STATS_FILE: file that gets the stats as JSON at the start and at the end
    METRICS_PORT: port of the metrics for Prometheus; 0: none
    METRICS_HOST: address of that port; everybody who reaches it can read the metrics
    FRONTIER_LOG_FAILURES: `lines`: a line for each failed page; `counts`: their number by kind now and then
    LOG_FORMAT_JSON: each line of the log is a JSON object
    LOG_BRIEF: lists of components and settings only at DEBUG, the closing stats sorted
    LOGSTATS_INTERVAL: Scrapy's: seconds between two lines of progress; 0: none
    """

    enabled: bool = setting(Reader.switch, "MONITOR_ENABLED", True)
    #: Seconds between two measurements.
    # Long enough for a mean, short enough to act before time-outs: two bad intervals in a row lower the limit.
    interval: float = setting(Reader.positive, "MONITOR_INTERVAL", 5.0)
    #: Mean lag of the event loop (seconds) above which fewer sessions are opened; 0 = no limit.
    # A full-speed crawl of a web on loopback, with its CPU at 100%, lags by 0.1 s (docs/watch.md).
    max_lag: float = setting(Reader.number, "MONITOR_MAX_LAG", 1.0)
    #: Bytes of memory above which fewer sessions are opened; 0 = no limit.
    max_memory: int = setting(lambda reader: reader.count("MONITOR_MAX_MEMORY", 0) * 1024 * 1024)
    #: Seconds between two lines in the log; 0 = none.
    log_interval: float = setting(Reader.number, "LOGSTATS_INTERVAL", 60.0)
    #: Where Prometheus finds the metrics; port 0 = nowhere.
    metrics_host: str = setting(lambda reader: str(reader.value("METRICS_HOST", "127.0.0.1")))
    metrics_port: int = setting(Reader.count, "METRICS_PORT", 0, most=65_535)
    #: Whether failed pages are counted in the log by kind, instead of a line for each.
    # Lines are what Scrapy does; this project's settings and its spider ``web`` choose counts.
    counts_failures: bool = setting(
        lambda reader: reader.choice("FRONTIER_LOG_FAILURES", "lines", ("lines", "counts")) == "counts"
    )
    #: Whether lines of the log are JSON objects; whether it leaves out lists of components and settings.
    log_json: bool = setting(Reader.switch, "LOG_FORMAT_JSON", False)
    log_brief: bool = setting(Reader.switch, "LOG_BRIEF", False)
    #: Scrapy's: where the log goes, and how; None: to standard error.
    log_file: Path | None = setting(Reader.path, "LOG_FILE")
    log_encoding: str = setting(lambda reader: str(reader.value("LOG_ENCODING", "utf-8") or "utf-8"))
    log_level: str = setting(lambda reader: str(reader.value("LOG_LEVEL", "DEBUG")).upper())
    #: File that gets the stats as JSON; None = no file.
    stats_file: Path | None = setting(Reader.path, "MONITOR_STATS_FILE")

    @property
    def sorts_stats(self) -> bool:
        """Whether the closing stats are logged sorted, with an object for programs, instead of by Scrapy."""
        return self.log_brief or self.log_json
