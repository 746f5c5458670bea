"""The extension that monitors the crawl: load, lag of the event loop, fewer sessions if the process cannot keep up."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any

import psutil
from scrapy import signals
from scrapy.utils.asyncio import call_later, create_looping_call

from crawlproject.clock import CLOCK
from crawlproject.crawl_frontier import frontier_of
from crawlproject.engine import stats_of
from crawlproject.frontier.states import ServerState
from crawlproject.monitor.failure_log import failure_counts
from crawlproject.monitor.figures import figures_of
from crawlproject.options.monitor import MonitorOptions
from crawlproject.signals import load_asked

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall, CallLaterResult
    from twisted.internet.task import LoopingCall


logger = logging.getLogger(__name__)

#: States of servers.
STATES = tuple(state.value for state in ServerState)

LINE = (
    "%(sessions)d of %(session_limit)d sessions, %(connections)d connections, %(dns_lookups)d DNS look-ups open; "
    "%(pages_per_second).1f pages/s, %(bytes_per_second)d bytes/s; loop lag %(lag).3f s, memory %(memory_mb)d MB; "
    "%(urls)d URLs queued%(blocked)s; servers: %(servers/ready)d ready, %(servers/resting)d resting, "
    "%(servers/waiting)d waiting, %(servers/leased)d leased, %(servers/idle)d idle, %(servers/held)d held"
)


class LoadMonitor:
    """Extension: measures the load every ``FRONTIER_MONITOR_INTERVAL`` seconds and writes it to the stats and the log.

    If the process is the bottleneck (the event loop lags, or memory is short), ``Throttle`` lowers the limit on
    sessions, and raises it again when the process has recovered.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._stats = stats_of(crawler)
        self._options = options = MonitorOptions.of(crawler)
        self._lag = LoopLag()
        self._process = psutil.Process()
        self._throttle: Throttle | None = None
        self._tasks: list[AsyncioLoopingCall | LoopingCall] = []
        self._load: dict[str, float] = {}
        self._failures = ""
        self._waited = False
        self._silent_until = 0.0
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)
        if options.metrics_port:
            from crawlproject.monitor.metrics import MetricsServer  # with prometheus_client: only where it is used

            self._metrics = MetricsServer(self._stats, options.metrics_host, options.metrics_port)
            crawler.signals.connect(self._metrics.start, signals.spider_opened)
            crawler.signals.connect(self._metrics.stop, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def _opened(self) -> None:
        crawl = frontier_of(self._crawler)
        if crawl is not None:
            self._throttle = Throttle(crawl.dispatcher.max_sessions, self._options.max_lag, self._options.max_memory)
        self._lag.start()
        self._measure()
        for function, interval in ((self._look, self._options.interval), (self._log_load, self._options.log_interval)):
            if interval:
                task = create_looping_call(function)
                task.start(interval, now=False)
                self._tasks.append(task)

    def _closed(self) -> None:
        for task in self._tasks:
            if task.running:
                task.stop()
        self._lag.stop()
        self._measure()
        self._log_failures()

    def _look(self) -> None:
        self._measure()
        self._log_waiting()
        crawl = frontier_of(self._crawler)
        throttle = self._throttle
        if throttle is None or crawl is None:
            return
        before = throttle.limit
        limit = throttle.look(self._load["lag"], int(self._load["memory"]))
        if limit == before:
            return
        crawl.dispatcher.allow(limit)
        self._stats.set_value("monitor/session_limit", limit)
        self._stats.min_value("monitor/session_limit/lowest", limit)
        if limit < before:
            self._stats.inc_value("monitor/throttled")
        if before == throttle.full:
            load = self._load
            message = "The process cannot keep up (loop lag %.1f s, memory %d MB): fewer sessions, %d for now"
            logger.warning(message, load["lag"], load["memory_mb"], limit)
        elif limit == throttle.full:
            logger.info("The process keeps up again: all %d sessions are allowed", limit)

    def _measure(self) -> None:
        figures = figures_of(self._crawler).now()
        load: dict[str, float] = {"connections": 0, "dns_lookups": 0, "sessions": figures.sessions}
        load |= {"urls": figures.queued, "urls/blocked": figures.blocked}
        load |= {f"servers/{state}": figures.servers[state] for state in (*STATES, "given_up")}
        for _, answer in self._crawler.signals.send_catch_log(load_asked):
            if isinstance(answer, dict):
                for name, number in answer.items():
                    # the resolver is shared
                    known = load.get(name, 0)
                    load[name] = max(known, number) if name == "dns_lookups" else known + number
        crawl = frontier_of(self._crawler)
        if self._throttle is not None and crawl is not None and self._throttle.full != crawl.allowed_sessions:
            self._throttle.resize(crawl.allowed_sessions)
            crawl.dispatcher.allow(self._throttle.limit)
        load["session_limit"] = self._throttle.limit if self._throttle is not None else 0
        load["pages_per_second"] = round(figures.pages_per_second, 1)
        load["bytes_per_second"] = round(figures.bytes_per_second, 1)
        load["cpu"] = round(figures.cpu, 3)
        load["quality_gathered"] = round(figures.quality_gathered, 3)
        if figures.quality_share is not None:
            load["quality_share"] = round(figures.quality_share, 4)
        load["lag"] = round(self._lag.take_mean(), 4)
        load["memory"] = self._process.memory_info().rss
        for name, number in load.items():
            self._stats.set_value(f"monitor/{name}", number)
        self._stats.max_value("monitor/memory/max", load["memory"])
        self._stats.max_value("monitor/lag/max", load["lag"])
        self._stats.set_value("monitor/lag/longest", round(self._lag.longest, 4))
        self._load = load | {"memory_mb": load["memory"] / 1024**2}

    def _log_load(self) -> None:
        blocked = self._load["urls/blocked"]
        words: dict[str, Any] = {"blocked": f" ({blocked:.0f} blocked by the operator)" if blocked else ""}
        logger.info(LINE, self._load | words)
        self._log_failures()

    def _log_failures(self) -> None:
        failures = failure_counts(self._stats.get_stats())
        if failures != self._failures:
            self._failures = failures
            logger.info("Not fetched so far: %s", failures)

    def _log_waiting(self) -> None:
        """Log what the crawl waits for, if it was idle at two measurements in a row."""
        crawl, figures = frontier_of(self._crawler), figures_of(self._crawler).now()
        waits = crawl is not None and crawl.is_waiting and figures.held_kind in ("politeness", "one", "failures")
        waited, self._waited = self._waited, waits
        if waited and waits and self._options.log_interval and CLOCK() >= self._silent_until:
            self._silent_until = CLOCK() + self._options.log_interval
            logger.info("Waiting: %s", figures.held_back)


#: Seconds between two samples.
SAMPLE = 0.1


class LoopLag:
    """Samples the lag (seconds) from ``start`` to ``stop``; a sample costs a timer call, about 20 µs."""

    def __init__(self) -> None:
        self._timer: CallLaterResult | None = None
        self._due = 0.0
        self._sum = 0.0
        self._count = 0
        #: The longest lag since the start, seconds.
        self.longest = 0.0

    def start(self) -> None:
        self._due = CLOCK() + SAMPLE
        self._timer = call_later(SAMPLE, self._called)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def take_mean(self) -> float:
        """Mean of the samples since the last call (seconds), including a sample that is overdue."""
        late = max(0.0, CLOCK() - self._due)
        mean = (self._sum + late) / (self._count + 1)
        self._sum, self._count = 0.0, 0
        return mean

    def _called(self) -> None:
        late = max(0.0, CLOCK() - self._due)
        self._sum += late
        self._count += 1
        self.longest = max(self.longest, late)
        self.start()


#: Consecutive overloaded measurements before the limit is lowered, so that one long callback does not lower it.
PATIENCE = 2

#: Number of increments in which the limit grows from 1 to ``full``; it is halved to lower it.
STEPS = 16

#: The limit grows if lag and memory are below these fractions of their maxima.
LAG_MARGIN, MEMORY_MARGIN = 0.5, 0.9


@dataclass
class Throttle:
    """The limit on open sessions, between 1 and ``full``; O(1), no clock.

    ``max_lag`` (seconds) and ``max_memory`` (bytes): above these the process is overloaded; 0 = no maximum.
    """

    full: int
    max_lag: float
    max_memory: int
    limit: int = field(init=False)
    _bad: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.limit = self.full

    def resize(self, full: int) -> None:
        """Change ``full``: at full speed ``limit`` becomes the new one, else it stays below it. O(1)."""
        self.limit = full if self.limit >= self.full else min(self.limit, full)
        self.full = full

    def look(self, lag: float, memory: int) -> int:
        """The new limit, given the loop's mean lag since the last call and the memory in use."""
        if self._exceeds(lag, memory):
            self._bad += 1
            if self._bad >= PATIENCE:
                self.limit = max(1, self.limit // 2)
        else:
            self._bad = 0
            if not self._exceeds(lag / LAG_MARGIN, memory / MEMORY_MARGIN):
                self.limit = min(self.full, self.limit + ceil(self.full / STEPS))
        return self.limit

    def _exceeds(self, lag: float, memory: float) -> bool:
        return lag > self.max_lag > 0 or memory > self.max_memory > 0
