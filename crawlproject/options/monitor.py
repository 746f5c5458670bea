"""The settings of logs, metrics, progress, report and console (docs/watch.md)."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING

from crawlproject.options.values import Options, Reader, setting

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class MonitorOptions(Options):
    """Measurement and reports of the load.

    FRONTIER_MONITOR_INTERVAL: seconds between two samples
    FRONTIER_MONITOR_MAX_LAG: mean lag of the event loop, seconds, above which fewer sessions are allowed; 0: never
    FRONTIER_MONITOR_MAX_MEMORY: memory of the process, MB, above which fewer sessions are allowed; 0: never
    FRONTIER_MONITOR_STATS_FILE: file that gets the stats as JSON at the start and at the end
    FRONTIER_METRICS_PORT: port of the metrics for Prometheus; 0: none
    FRONTIER_METRICS_HOST: address of that port; everybody who reaches it can read the metrics
    FRONTIER_LOG_FAILURES: `lines`: a line for each failed page; `counts`: their number by kind now and then
    FRONTIER_LOG_JSON: each line of the log is a JSON object
    FRONTIER_LOG_BRIEF: lists of components and settings only at DEBUG, the closing stats sorted
    LOGSTATS_INTERVAL: Scrapy's: seconds between two lines of progress; 0: none
    """

    # Long enough for a mean, short enough to act before time-outs: two bad intervals in a row lower the limit.
    interval: float = setting(Reader.positive, "FRONTIER_MONITOR_INTERVAL", 5.0)
    # A full-speed crawl of a web on loopback, with its CPU at 100%, lags by 0.1 s (docs/watch.md).
    max_lag: float = setting(Reader.number, "FRONTIER_MONITOR_MAX_LAG", 1.0)
    #: Bytes of memory above which fewer sessions are opened; 0 = no limit.
    max_memory: int = setting(lambda reader: reader.count("FRONTIER_MONITOR_MAX_MEMORY", 0) * 1024 * 1024)
    log_interval: float = setting(Reader.number, "LOGSTATS_INTERVAL", 60.0)
    metrics_host: str = setting(lambda reader: str(reader.value("FRONTIER_METRICS_HOST", "127.0.0.1")))
    metrics_port: int = setting(Reader.count, "FRONTIER_METRICS_PORT", 0, most=65_535)
    # Lines are what Scrapy does; this project's settings and its spider ``web`` choose counts.
    counts_failures: bool = setting(
        lambda reader: reader.choice("FRONTIER_LOG_FAILURES", "lines", ("lines", "counts")) == "counts"
    )
    log_json: bool = setting(Reader.switch, "FRONTIER_LOG_JSON", False)
    log_brief: bool = setting(Reader.switch, "FRONTIER_LOG_BRIEF", False)
    #: Scrapy's: where the log goes, and how; None: to standard error.
    log_file: Path | None = setting(Reader.path, "LOG_FILE")
    log_encoding: str = setting(lambda reader: str(reader.value("LOG_ENCODING", "utf-8") or "utf-8"))
    log_level: str = setting(lambda reader: str(reader.value("LOG_LEVEL", "DEBUG")).upper())
    stats_file: Path | None = setting(Reader.path, "FRONTIER_MONITOR_STATS_FILE")

    @property
    def sorts_stats(self) -> bool:
        """Whether the closing stats are logged sorted, with an object for programs, instead of by Scrapy."""
        return self.log_brief or self.log_json


#: Folder of series and report in a ``JOBDIR``.
REPORT_FOLDER = "report"


def _directory(reader: Reader) -> Path | None:
    directory, job = reader.path("FRONTIER_REPORT_DIR"), reader.path("JOBDIR")
    return directory or (job and job / REPORT_FOLDER)


@dataclass(frozen=True)
class ReportOptions(Options):
    """Progress in the terminal, and the report.

    FRONTIER_PROGRESS: the panel in the terminal: `auto` (if standard error is one) or `off`
    FRONTIER_REPORT_DIR: directory of the report; default: `report` in `JOBDIR`
    """

    has_panel: bool = setting(lambda reader: reader.choice("FRONTIER_PROGRESS", "auto", ("auto", "off")) == "auto")
    #: Directory of the series and of the report; None: neither is written.
    report_directory: Path | None = setting(_directory)


#: Characters of a token set by hand, at least: nobody guesses it.
MIN_TOKEN = 16


@dataclass(frozen=True)
class ConsoleOptions(Options):
    """Address of the console, and access to it.

    FRONTIER_CONSOLE_PORT: port of the console; 0: none. With `scrapy workers` it counts up
    FRONTIER_CONSOLE_HOST: address of that port; one that other machines reach needs a token
    FRONTIER_CONSOLE_TOKEN: the token, at least 16 characters; default: a new one for each run
    """

    port: int = setting(Reader.count, "FRONTIER_CONSOLE_PORT", 0, most=65_535)
    host: str = setting(lambda reader: str(reader.value("FRONTIER_CONSOLE_HOST", "127.0.0.1")).strip())
    #: The token set by hand; empty: one is made at the start.
    token: str = setting(lambda reader: str(reader.value("FRONTIER_CONSOLE_TOKEN", "") or ""))
    #: Directory of the crawl, where address and token are written; None: into a private directory for temporary files.
    job: Path | None = setting(Reader.path, "JOBDIR")

    def __post_init__(self) -> None:
        token = self.token
        if token and (len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token):
            raise ValueError(f"FRONTIER_CONSOLE_TOKEN: must have at least {MIN_TOKEN} ASCII characters, and no space")
        if self.port and not self.is_local and not token:
            raise ValueError(
                f"FRONTIER_CONSOLE_HOST={self.host!r}: others can reach it, so FRONTIER_CONSOLE_TOKEN must be set"
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach ``host``."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"
