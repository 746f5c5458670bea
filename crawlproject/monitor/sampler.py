"""Computes the crawl's figures: rates, forecasts, and what holds the crawl back (``figures.figures_of``)."""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING, Any
from weakref import proxy

import psutil

from crawlproject.clock import CLOCK
from crawlproject.crawl_frontier import frontier_of
from crawlproject.engine import is_closing, stats_of
from crawlproject.monitor.failure_log import failures_by_kind
from crawlproject.monitor.figures import FRESH, Figures, ServerCounts
from crawlproject.monitor.forecast import Counts, Forecaster, Limits, Surveyor, progress
from crawlproject.monitor.held_back import Moment, held_back
from crawlproject.monitor.quantities import Rate
from crawlproject.monitor.spider_rows import spiders_in_words
from crawlproject.options.limits import LimitOptions, RobotsOptions
from crawlproject.signals import frontier_closing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from scrapy.crawler import Crawler

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.monitor.forecast import Forecast, Survey

#: Servers examined for each second since the last figures, and at most in one call (about 4 µs each).
EXAMINED_PER_SECOND, MAX_EXAMINED = 1000, 2500


class CrawlFigures:
    """Computes the figures of a crawl; one for each crawler (``figures_of``)."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = proxy(crawler)
        self._stats = stats_of(crawler)
        self._started, self._began = CLOCK(), time.time()
        self._last = -inf
        self._figures = Figures(at=self._began, elapsed=0.0)
        self._pages, self._bytes, self._cpu = Rate(), Rate(), Rate()
        self._process = psutil.Process()
        limits = LimitOptions.of(crawler)
        self._forecaster = Forecaster()
        self._limits = limits
        self._max_new_failures = RobotsOptions.of(crawler).max_failures
        self._surveyor: Surveyor | None = None
        self._is_final = False
        crawler.signals.connect(self.finish, frontier_closing)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Those of a crawl."""
        return cls(crawler)

    @property
    def survey(self) -> Survey | None:
        return None if self._surveyor is None else self._surveyor.survey

    def now(self, fresh: float = FRESH) -> Figures:
        now = CLOCK()
        if now - self._last >= fresh and not self._is_final:
            self._figures = self._look(now, min(now - self._last, 1e6))
            self._last = now
        return self._figures

    def finish(self) -> None:
        if self._is_final:
            return
        self.now(fresh=0.0)
        self._is_final = True
        if self._surveyor is not None:
            self._surveyor.finish(CLOCK())

    def _look(self, now: float, since: float) -> Figures:
        stats: Mapping[str, Any] = self._stats.get_stats()
        elapsed = now - self._started
        pages, received = stats.get("frontier/pages", 0), stats.get("downloader/response_bytes", 0)
        times = self._process.cpu_times()
        self._pages.add(now, pages, elapsed)
        self._bytes.add(now, received, elapsed)
        self._cpu.add(now, times.user + times.system, elapsed)
        common: dict[str, Any] = {
            "at": self._began + elapsed,  # a clock that is set moves no point of a chart
            "elapsed": elapsed,
            "pages": pages,
            "pages_per_second": self._pages.rate,
            "mean_pages_per_second": pages / elapsed if elapsed > 0 else 0.0,
            "bytes": received,
            "bytes_per_second": self._bytes.rate,
            "failures": failures_by_kind(stats),
            "spiders": spiders_in_words(self._crawler),
            "relevant": stats.get("topic/relevant", 0),
            "items": stats.get("item_scraped_count", 0),
            "requests": stats.get("downloader/request_count", 0),
            "cpu": self._cpu.rate,
            "lag": stats.get("monitor/lag", 0.0),
            "memory": stats.get("monitor/memory", 0),
        }
        crawl = frontier_of(self._crawler)
        return Figures(**common) if crawl is None else self._of_frontier(crawl, now, since, stats, common)

    def _of_frontier(
        self, crawl: CrawlFrontier, now: float, since: float, stats: Mapping[str, Any], common: dict[str, Any]
    ) -> Figures:
        frontier, dispatcher = crawl.frontier, crawl.dispatcher
        if self._surveyor is None:
            self._surveyor = Surveyor(frontier, self._max_new_failures, lambda: int(crawl.limits["server"]))
        self._surveyor.step(now, round(min(MAX_EXAMINED, max(FRESH, since) * EXAMINED_PER_SECOND)))
        counts = frontier.counts()
        servers = ServerCounts(
            known=counts["servers"],
            given_up=frontier.given_up,
            **{state: counts[state] for state in ("ready", "resting", "waiting", "leased", "idle", "held")},
        )
        survey = self._surveyor.survey
        waiting = frontier.quality.queued(counts["urls"] + counts["blocked"])
        done = stats.get("scheduler/dequeued", 0) - len(crawl.started)
        look = Counts(now, done, common["pages"], common["bytes"], common["items"])
        limits = Limits(
            time=crawl.limits["time"] or inf,
            pages=min(crawl.limits["pages"] or inf, self._limits.close_at_pages),
            bytes=self._limits.ends_at_bytes,
            items=self._limits.ends_at_items,
        )
        forecast = self._forecast(crawl, look, survey, limits)
        return Figures(
            **common,
            sessions=dispatcher.open_sessions,
            session_limit=dispatcher.max_sessions,
            max_sessions=crawl.allowed_sessions,
            servers=servers,
            queued=crawl.queued,
            blocked=counts["blocked"],
            doubted=0 if survey is None else survey.doubted,
            is_worker=crawl.store.orders is not None,
            seen=crawl.urls_seen(),
            quality_gathered=frontier.quality.gathered,
            quality_queued=waiting,
            forecast=forecast,
            budget=frontier.budgets.outlook(now, frontier.queue.last_rank),
            progress=progress(Limits(common["elapsed"], *look[2:]), limits, forecast, crawl.urls_seen(), crawl.queued),
            pages_all=frontier.quality.pages,
            held_back=held_back(
                Moment(
                    crawl=crawl,
                    now=now,
                    servers=servers,
                    survey=survey,
                    max_sessions=crawl.allowed_sessions,
                    cpu=common["cpu"],
                    lag=common["lag"],
                    dns_lookups=stats.get("monitor/dns_lookups", 0),
                    is_closing=is_closing(self._crawler),
                )
            ),
        )

    def _forecast(self, crawl: CrawlFrontier, look: Counts, survey: Survey | None, limits: Limits) -> Forecast:
        if is_closing(self._crawler):  # at once, whatever is queued
            return self._forecaster.halt(look.now, "")
        if crawl.is_paused:
            return self._forecaster.halt(look.now, "the crawl is paused")
        if crawl.outage is not None:
            return self._forecaster.halt(look.now, crawl.outage)
        if not crawl.store.may_start():
            return self._forecaster.halt(look.now, "the store cannot be reached")
        return self._forecaster.forecast(look, len(crawl), survey, limits)
