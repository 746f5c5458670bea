"""The settings ``MONITOR_*`` and ``METRICS_*``: read here and nowhere else, checked once, passed on as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlproject.options.values import SettingValues

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

DEFAULTS: dict[str, Any] = {
    "MONITOR_ENABLED": True,
    # Long enough for a mean, short enough to act before time-outs strike: two bad ones in a row lower the limit.
    "MONITOR_INTERVAL": 5.0,
    # A full-speed crawl of a web on loopback, whose CPU is at 100%, lags by 0.1 s (docs/monitoring.md).
    "MONITOR_MAX_LAG": 1.0,
    "MONITOR_MAX_MEMORY": 0,
    "METRICS_PORT": 0,
    "METRICS_HOST": "127.0.0.1",
}


@dataclass(frozen=True)
class MonitorOptions:
    """How the load is watched, checked."""

    #: Seconds between two looks.
    interval: float = 5.0
    #: Mean lag of the event loop (seconds) above which fewer sessions are opened; 0 = whatever it is.
    max_lag: float = 1.0
    #: Bytes of memory above which fewer sessions are opened; 0 = however many.
    max_memory: int = 0
    #: Seconds between two lines in the log; 0 = none (Scrapy's ``LOGSTATS_INTERVAL``).
    log_interval: float = 60.0
    #: Where Prometheus finds the metrics; port 0 = nowhere.
    metrics_host: str = "127.0.0.1"
    metrics_port: int = 0

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> MonitorOptions:
        """Read and check; raises ValueError naming setting and value."""
        values = SettingValues(settings, DEFAULTS)
        interval = values.number("MONITOR_INTERVAL")
        if not interval:
            raise ValueError(f"MONITOR_INTERVAL={values.value('MONITOR_INTERVAL')!r}: must be above 0")
        port = values.count("METRICS_PORT", least=0)
        if port > 65_535:
            raise ValueError(f"METRICS_PORT={values.value('METRICS_PORT')!r}: must be a port, at most 65535")
        return cls(
            interval=interval,
            max_lag=values.number("MONITOR_MAX_LAG"),
            max_memory=values.count("MONITOR_MAX_MEMORY", least=0) * 1024 * 1024,
            log_interval=settings.getfloat("LOGSTATS_INTERVAL"),
            metrics_host=str(values.value("METRICS_HOST")),
            metrics_port=port,
        )
