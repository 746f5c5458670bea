"""The content of the console: figures, charts, servers, workers, log."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, field, fields
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

from crawlproject.clock import CLOCK
from crawlproject.engine import is_closing, stats_of
from crawlproject.monitor.console.live import CHARTED
from crawlproject.monitor.console.order_book import in_words
from crawlproject.monitor.console.server_list import FILTERS, Query, find
from crawlproject.monitor.console.server_view import server_view
from crawlproject.monitor.figures import figures_of
from crawlproject.monitor.quantities import budget_words
from crawlproject.monitor.spider_rows import spider_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.monitor.console.api import Views
    from crawlproject.monitor.console.live import AnswerLog, History, LineLog
    from crawlproject.monitor.console.order_book import OrderBook

#: Orders of one kind that the page lists.
MAX_LISTED = 500

#: Kinds of failures that the page lists.
MAX_FAILURES = 12

#: Seconds for which what the workers say counts as new.
FRESH = 2.0


@dataclass
class CrawlRoom:
    """All answers are JSON values."""

    crawler: Crawler
    crawl: CrawlFrontier
    book: OrderBook
    answers: AnswerLog
    charts: History
    log: LineLog

    _searching: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))  # each may take 50 ms of CPU
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _looked_at: float = -inf
    _workers: dict[str, Any] = field(default_factory=dict)

    def views(self) -> Views:
        """What ``api`` offers below ``/api/`` and changes nothing."""
        return {
            "state": lambda _: self.state(),
            "history": lambda _: self.history(),
            "servers": self.servers,
            "server": lambda given: server_view(self.crawler, self.crawl.frontier, given.get("key", ""), self.answers),
            "workers": lambda _: self.workers(),
            "spiders": lambda _: spider_rows(self.crawler, self.crawl.frontier),
            "stats": lambda _: dict(sorted(stats_of(self.crawler).get_stats().items())),
            "log": lambda _: {"lines": list(self.log.lines)},
        }

    def state(self) -> dict[str, Any]:
        spider = self.crawler.spider
        return {
            "spider": "" if spider is None else spider.name,
            "figures": self.figures(),
            "orders": self.orders(),
            "states": list(FILTERS),
        }

    def event(self) -> dict[str, Any]:
        """The message that every page gets once a second."""
        return {"figures": self.figures(), "orders": self.orders(), "lines": self.log.count}

    def figures(self) -> dict[str, Any]:
        """The figures now, those of servers as ``servers/<state>``. O(stats) at most twice a second."""
        now = figures_of(self.crawler).now()
        shown = {each.name: getattr(now, each.name) for each in fields(now)}
        servers, forecast = shown.pop("servers"), shown.pop("forecast")
        return shown | {
            **{f"servers/{name}": count for name, count in asdict(servers).items()},
            "failures": dict(islice(now.failures.items(), MAX_FAILURES)),
            "budget": "" if now.budget is None else ", ".join(budget_words(now.budget)),
            "end": forecast.end,
            "why_no_end": forecast.why_not,
            "is_limit": forecast.is_limit,
            "quality_share": now.quality_share,
            "paused": self.crawl.is_paused,
            "closing": is_closing(self.crawler),
        }

    def orders(self) -> dict[str, Any]:
        """The orders in force; long lists are cut."""
        orders = self.book.orders
        return {
            "paused": self.crawl.is_paused,
            "sessions": self.crawl.allowed_sessions,
            "delays": dict(list(orders.delays.items())[:MAX_LISTED]),
            "blocked": orders.blocked[:MAX_LISTED],
            "released": orders.released[:MAX_LISTED],
            "kept": self.book.is_kept or self.crawl.shared_orders is not None,
        }

    def history(self) -> dict[str, Any]:
        return {"names": ["at", *CHARTED], "interval": self.charts.interval, "points": self.charts.points}

    async def servers(self, given: Mapping[str, str]) -> dict[str, Any]:
        """A page of the table of servers. Raises ValueError for wrong parameters."""
        async with self._searching:
            return await find(self.crawl.frontier, Query.parse(dict(given)))

    async def workers(self) -> dict[str, Any]:
        async with self._looking:  # one question to Redis at a time, whoever asks
            if CLOCK() - self._looked_at >= FRESH:
                found = await self.crawl.workers() or {"workers": None}
                if "actions" in found:
                    found["actions"] = [_shown(action) for action in found["actions"]]
                self._workers, self._looked_at = found, CLOCK()
        return self._workers


def _shown(action: dict[str, Any]) -> dict[str, Any]:
    changes = action.pop("changes")
    try:
        words = [in_words(order, value) for order, value in changes.items()]
    except ValueError:  # damaged
        words = []
    return action | {"what": words[0] if words else "?"}
