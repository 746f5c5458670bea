"""The extension that monitors the crawl: load, lag of the event loop, fewer sessions if the process cannot keep up."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING

import psutil
from scrapy import signals
from scrapy.utils.asyncio import call_later, create_looping_call

from crawlproject.clock import CLOCK
from crawlproject.crawl_frontier import frontier_of
from crawlproject.engine import stats_of
from crawlproject.frontier.states import ServerState
from crawlproject.monitor.failure_log import failure_counts
from crawlproject.monitor.figures import figures_of
from crawlproject.monitor.server_state import rest_reason
from crawlproject.options.monitor import MonitorOptions
from crawlproject.signals import load_asked

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall, CallLaterResult
    from twisted.internet.task import LoopingCall

    from crawlproject.frontier.dispatch import Dispatcher
    from crawlproject.monitor.figures import Figures


logger = logging.getLogger(__name__)

#: Scrapy's counters -> the rates computed from them.
RATES = {"downloader/response_bytes": "bytes_per_second", "response_received_count": "pages_per_second"}

#: Not summed over the answers to ``load_asked``: the resolver is shared.
SHARED = frozenset(("dns_lookups",))

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

    def __init__(self, crawler: Crawler, options: MonitorOptions) -> None:
        self._crawler = crawler
        self._stats = stats_of(crawler)
        self._options = options
        self._lag = LoopLag()
        self._process = psutil.Process()
        self._throttle: Throttle | None = None
        self._tasks: list[AsyncioLoopingCall | LoopingCall] = []
        self._last = 0.0
        self._counts = dict.fromkeys(RATES, 0)
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
        return cls(crawler, MonitorOptions.of(crawler))

    def _opened(self) -> None:
        crawl = frontier_of(self._crawler)
        if crawl is not None:
            self._throttle = Throttle(crawl.dispatcher.max_sessions, self._options.max_lag, self._options.max_memory)
        self._last = CLOCK()
        self._lag.start()
        self._measure()
        self._repeat(self._look, self._options.interval)
        if self._options.log_interval:
            self._repeat(self._log_load, self._options.log_interval)

    def _repeat(self, function: object, interval: float) -> None:
        task = create_looping_call(function)  # type: ignore[arg-type]
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
        if self._options.log_interval:
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
        now = CLOCK()
        seconds = max(1e-3, now - self._last)
        self._last = now
        figures = figures_of(self._crawler).now()
        load = _frontier_load(figures)
        for _, answer in self._crawler.signals.send_catch_log(load_asked):
            if isinstance(answer, dict):
                for name, number in answer.items():
                    known = load.get(name, 0)
                    load[name] = max(known, number) if name in SHARED else known + number
        crawl = frontier_of(self._crawler)
        if self._throttle is not None and crawl is not None and self._throttle.full != crawl.allowed_sessions:
            self._throttle.resize(crawl.allowed_sessions)
            crawl.dispatcher.allow(self._throttle.limit)
        load["session_limit"] = self._throttle.limit if self._throttle is not None else 0
        for stat, rate in RATES.items():
            count = self._stats.get_value(stat, 0)
            load[rate] = round((count - self._counts[stat]) / seconds, 1)
            self._counts[stat] = count
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
        if self._load:
            blocked = self._load["urls/blocked"]
            logger.info(LINE, self._load | {"blocked": f" ({blocked:.0f} blocked by the operator)" if blocked else ""})
        self._log_failures()

    def _log_failures(self) -> None:
        failures = failure_counts(self._stats.get_stats())
        if failures != self._failures:
            self._failures = failures
            logger.info("Not fetched so far: %s", failures)

    def _log_waiting(self) -> None:
        """Log which server the crawl waits for, if it was idle at two measurements in a row."""
        crawl = frontier_of(self._crawler)
        waits = crawl is not None and crawl.is_waiting and not (crawl.is_paused or crawl.outage)
        waited, self._waited = self._waited, waits
        if crawl is None or not (waited and waits) or CLOCK() < self._silent_until:
            return
        self._silent_until = CLOCK() + self._options.log_interval
        words = waiting_words(crawl.dispatcher, CLOCK())
        if words:
            logger.info("Waiting: %s", words)


def _frontier_load(figures: Figures) -> dict[str, float]:
    load: dict[str, float] = {"connections": 0, "dns_lookups": 0, "sessions": figures.sessions}
    load |= {"urls": figures.queued, "urls/blocked": figures.blocked}
    return load | {f"servers/{state}": getattr(figures.servers, state) for state in (*STATES, "given_up")}


def waiting_words(dispatcher: Dispatcher, now: float) -> str:
    """``3 servers rest; next https://a.example in 12 s (Crawl-delay 30 s)``; empty if nothing is queued."""
    found = dispatcher.waits_for()
    if found is None:
        return ""
    server, at = found
    counts = dispatcher.frontier.counts()
    resting = counts["resting"] + counts["waiting"] + counts["leased"]
    servers = "1 server rests" if resting == 1 else f"{resting} servers rest"
    return f"{servers}; next {server.key} in {max(0.0, at - now):.0f} s ({rest_reason(server)})"


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
