"""Computes the crawl's figures: rates, forecasts, and what holds the crawl back (``figures.figures_of``)."""

from __future__ import annotations

import time
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any
from weakref import proxy

import psutil

from crawlproject.clock import CLOCK
from crawlproject.crawl_frontier import frontier_of
from crawlproject.engine import is_closing, stats_of
from crawlproject.monitor.failure_log import failures_by_kind
from crawlproject.monitor.figures import FRESH, Figures
from crawlproject.monitor.forecast import Counts, Forecaster, Limits, Surveyor, progress
from crawlproject.monitor.held_back import held_back
from crawlproject.monitor.quantities import Rate, counted
from crawlproject.monitor.server_state import spiders_in_words
from crawlproject.options.limits import LimitOptions, RobotsOptions
from crawlproject.signals import frontier_closing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from scrapy.crawler import Crawler

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.monitor.forecast import Survey

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
        self._forecaster = Forecaster()
        self._limits = LimitOptions.of(crawler)
        self._max_new_failures = RobotsOptions.of(crawler).max_failures
        self._surveyor: Surveyor | None = None
        self._is_final = False
        crawler.signals.connect(self.finish, frontier_closing)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
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
        figures = Figures(
            at=self._began + elapsed,
            elapsed=elapsed,
            pages=pages,
            pages_per_second=self._pages.add(now, pages, elapsed),
            mean_pages_per_second=pages / elapsed if elapsed > 0 else 0.0,
            bytes=received,
            bytes_per_second=self._bytes.add(now, received, elapsed),
            failures=failures_by_kind(stats),
            spiders=spiders_in_words(self._crawler),
            relevant=stats.get("topic/relevant", 0),
            items=stats.get("item_scraped_count", 0),
            requests=stats.get("downloader/request_count", 0),
            cpu=self._cpu.add(now, times.user + times.system, elapsed),
            lag=stats.get("monitor/lag", 0.0),
            memory=stats.get("monitor/memory", 0),
        )
        crawl = frontier_of(self._crawler)
        return figures if crawl is None else self._of_frontier(crawl, now, since, figures)

    def _of_frontier(self, crawl: CrawlFrontier, now: float, since: float, figures: Figures) -> Figures:
        frontier, closing = crawl.frontier, is_closing(self._crawler)
        if self._surveyor is None:
            self._surveyor = Surveyor(frontier, self._max_new_failures, lambda: int(crawl.limits["server"]))
        self._surveyor.step(now, round(min(MAX_EXAMINED, max(FRESH, since) * EXAMINED_PER_SECOND)))
        survey, counts = self._surveyor.survey, frontier.counts()
        done = self._stats.get_value("scheduler/dequeued", 0) - len(crawl.started)
        look = Counts(now, done, figures.pages, figures.bytes, figures.items)
        limits = Limits(
            time=crawl.limits["time"] or inf,
            pages=min(crawl.limits["pages"] or inf, self._limits.close_at_pages),
            bytes=self._limits.ends_at_bytes,
            items=self._limits.ends_at_items,
        )
        halted = (
            ""  # at once, whatever is queued
            if closing
            else "the crawl is paused"
            if crawl.is_paused
            else crawl.outage or (None if crawl.store.may_start() else "the store cannot be reached")
        )
        forecast = (
            self._forecaster.forecast(look, len(crawl), survey, limits)
            if halted is None
            else self._forecaster.halt(now, halted)
        )
        seen, queued = crawl.urls_seen(), crawl.queued
        figures = replace(
            figures,
            sessions=crawl.dispatcher.open_sessions,
            session_limit=crawl.dispatcher.max_sessions,
            max_sessions=crawl.allowed_sessions,
            servers=counts | {"known": counts["servers"], "given_up": frontier.given_up},
            queued=queued,
            blocked=counts["blocked"],
            doubted=0 if survey is None else survey.doubted,
            is_worker=crawl.store.orders is not None,
            seen=seen,
            quality_gathered=frontier.quality.gathered,
            quality_queued=frontier.quality.queued(counts["urls"] + counts["blocked"]),
            forecast=forecast,
            budget=frontier.budgets.outlook(now, frontier.queue.last_rank),
            progress=progress(Limits(figures.elapsed, *look[2:]), limits, forecast, seen, queued),
            pages_all=frontier.quality.pages,
        )
        if closing:
            kind, words = "ending", f"the crawl is ending: {counted(len(crawl.started), 'request')} in progress"
        else:
            kind, words = held_back(figures, crawl, survey, self._stats.get_value("monitor/dns_lookups", 0))
        return replace(figures, held_kind=kind, held_back=words)
