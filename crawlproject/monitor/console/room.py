"""The content of the console: figures, charts, servers, workers, log."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

from crawlproject.clock import CLOCK
from crawlproject.engine import Crawl, is_closing, stats_of
from crawlproject.frontier.live_limits import LIMITS
from crawlproject.links import Links
from crawlproject.monitor.console.order_book import in_words
from crawlproject.monitor.console.server_list import FILTERS, Query, find
from crawlproject.monitor.console.server_view import server_view
from crawlproject.monitor.console.url_view import UrlView
from crawlproject.monitor.figures import figures_of
from crawlproject.monitor.quantities import Rate, budget_words, crawl_folder, crawl_name, share_gathered
from crawlproject.monitor.spider_rows import spider_names, spider_of, spider_rows
from crawlproject.options.monitor import ConsoleOptions
from crawlproject.requests.owners import Owners
from crawlproject.urls.fates import STATS, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.monitor.console.api import Views
    from crawlproject.monitor.console.live import AnswerLog, Charts, LineLog
    from crawlproject.monitor.console.order_book import OrderBook

#: Orders of one kind that the page lists.
MAX_LISTED = 500

#: Kinds of failures that the page lists.
MAX_FAILURES = 12

#: Limits whose words are others where there are several workers.
SHARED_WORDS = {
    "sessions": "Connections at once, of each worker",
    "pages": "Pages of all workers and runs",
    "time": "Seconds of this run, of each worker",
}

#: Seconds for which what the workers say counts as new.
FRESH = 2.0

#: Names of stats of spiders.
SPIDER_PAGES = re.compile(r"spiders/(.{1,60})/pages")

#: Figures of workers that are added up, and rates: name -> what is counted.
SUMMED = (
    *("queued", "seen", "blocked", "bytes", "items", "sessions", "session_limit", "quality_gathered"),
    *("servers/known", "servers/ready", "servers/resting", "servers/leased", "servers/given_up"),
)
RATED = {"pages_per_second": "pages", "bytes_per_second": "bytes"}


@dataclass
class CrawlRoom:
    """All answers are JSON values."""

    crawler: Crawler
    crawl: CrawlFrontier
    book: OrderBook
    answers: AnswerLog
    charts: Charts
    #: Those of the whole crawl, if there are several workers.
    whole_charts: Charts
    log: LineLog

    _searching: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))  # each may take 50 ms of CPU

    def __post_init__(self) -> None:
        #: FRONTIER_MAX_SESSIONS.
        self.setting = self.crawl.allowed_sessions
        self.whole = WholeCrawl(self.crawl, self.whole_charts)
        crawl = self.crawl
        self.url_view = UrlView(
            crawl.store.urls,
            crawl.fates,
            lambda: (server.key for server in list(crawl.frontier.servers)),
            lambda url: next(iter(crawl.intake.canonical(Links(None, [url]))), None),
            crawl.store.saved,
            lambda: spider_names(self.crawler),
            lambda key: spider_of(self.crawler, key),
        )

    def views(self) -> Views:
        """What ``api`` offers below ``/api/`` and changes nothing."""
        return {
            "state": lambda _: self.state(),
            "history": self.history,
            "parts": self.parts,
            "servers": self.servers,
            "server": lambda given: server_view(self.crawler, self.crawl.frontier, given.get("key", ""), self.answers),
            "urls": self.urls,
            "url": self.url_view.one,
            "workers": lambda _: self.workers(),
            "spiders": lambda _: spider_rows(self.crawler, self.crawl.frontier.servers),
            "stats": lambda _: dict(sorted(stats_of(self.crawler).get_stats().items())),
            "log": lambda _: {"lines": list(self.log.lines)},
        }

    def state(self) -> dict[str, Any]:
        reasons = dict.fromkeys(reason for (stage, reason) in STATS if stage is not Stage.LINK)
        return {
            "crawl": self.crawl_name(),
            "figures": self.figures(),
            "whole": self.whole.figures,
            "has_workers": self.crawl.store.orders is not None,
            "orders": self.orders(),
            "states": list(FILTERS),
            "spiders": spider_names(self.crawler),
            "reloads": Crawl.of(self.crawler).part(Owners).reload is not None,
            "reasons": [
                {"reason": reason, "title": reason.replace("_", " "), "words": reason.words} for reason in reasons
            ],
        }

    def crawl_name(self) -> dict[str, Any]:
        spider, job = self.crawler.spider, ConsoleOptions.of(self.crawler).job
        now = figures_of(self.crawler).now()
        name = "" if spider is None else spider.name
        return {
            "name": crawl_name(name, job),
            "spider": name,
            "job": None if job is None else str(job),
            "folder": None if job is None else str(crawl_folder(job)),
            "began": now.at - now.elapsed,
        }

    def event(self) -> dict[str, Any]:
        """The message that every page gets once a second."""
        return {
            "figures": self.figures(),
            "whole": self.whole.figures,
            "orders": self.orders(),
            "lines": self.log.count,
            "reason": stats_of(self.crawler).get_value("finish_reason"),
        }

    def figures(self) -> dict[str, Any]:
        """The figures now, those of servers as ``servers/<state>``. O(stats) at most twice a second."""
        now = figures_of(self.crawler).now()
        shown = {each.name: getattr(now, each.name) for each in fields(now)}
        servers, forecast = shown.pop("servers"), shown.pop("forecast")
        shown["progress"] = now.progress._asdict()
        return shown | {
            **{f"servers/{name}": count for name, count in asdict(servers).items()},
            "failures": dict(islice(now.failures.items(), MAX_FAILURES)),
            "budget": "" if now.budget is None else ", ".join(budget_words(now.budget)[now.progress.what != "queue" :]),
            "end": forecast.end,
            "why_no_end": forecast.why_not,
            "is_limit": forecast.is_limit,
            "quality_share": now.quality_share,
            "paused": self.crawl.is_paused,
            "closing": is_closing(self.crawler),
        }

    def orders(self) -> dict[str, Any]:
        """The overrides in force; long lists are cut."""
        orders, limits = self.book.orders, self.crawl.limits
        sessions = None if orders.sessions is None else orders.sessions[0]
        rows: list[tuple[str, str, int | None, float]] = [("sessions", "Connections at once", sessions, self.setting)]
        rows += [(name, words, orders.limits.get(name), limits.settings[name]) for name, words in LIMITS.items()]
        if self.crawl.store.orders is not None:
            rows = [(name, SHARED_WORDS.get(name, words), value, setting) for name, words, value, setting in rows]
        return {
            "paused": self.crawl.is_paused,
            "sessions": self.crawl.allowed_sessions,
            "limits": [dict(zip(("name", "words", "override", "setting"), row, strict=True)) for row in rows],
            "delays": dict(list(orders.delays.items())[:MAX_LISTED]),
            "blocked": orders.blocked[:MAX_LISTED],
            "released": orders.released[:MAX_LISTED],
            "patterns": [{"kind": kind, "pattern": each} for kind, found in orders.patterns.items() for each in found],
            "kept": self.book.is_kept or self.crawl.store.orders is not None,
        }

    def history(self, given: Mapping[str, str]) -> dict[str, Any]:
        charts = self.whole_charts if given.get("of") == "crawl" else self.charts
        return charts.shown(given.get("range", "all"))

    def parts(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The run's URLs in parts: by what became of them, status, media type, depth, spider. O(stats)."""
        fates = self.crawl.fates
        tallies: Mapping[str, Mapping[str, int]] = fates.tallies
        ends: Mapping[str, int] = {f"{stage}/{reason}": n for (stage, reason), n in fates.counts.items()}
        spiders: dict[str, int] = {}
        if given.get("of") == "crawl" and self.whole.tallies:
            tallies, ends = self.whole.tallies, self.whole.tallies.get("ends", {})
            spiders = dict(tallies.get("spider", {}))
        else:
            for name, value in stats_of(self.crawler).get_stats().items():
                if (found := SPIDER_PAGES.fullmatch(name)) is not None and isinstance(value, int):
                    spiders[found[1]] = value
        rows = [
            {
                "stage": stage,
                "reason": reason,
                "title": reason.replace("_", " "),
                "words": reason.words,
                "is_page": reason.is_page,
                "count": count,
            }
            for (stage, reason) in STATS
            if stage is not Stage.LINK and (count := ends.get(f"{stage}/{reason}", 0))
        ]
        return {
            **{name: dict(tally) for name, tally in tallies.items() if name != "ends"},
            "spider": spiders,
            "reasons": sorted(rows, key=lambda row: -int(row["count"])),
        }

    async def servers(self, given: Mapping[str, str]) -> dict[str, Any]:
        """A page of the table of servers. Raises ValueError for wrong parameters."""
        async with self._searching:
            return await find(self.crawl.frontier, Query.parse(dict(given)))

    async def urls(self, given: Mapping[str, str]) -> dict[str, Any]:
        """A page of a search of URLs. Raises ValueError for wrong parameters."""
        async with self._searching:
            return await self.url_view.find(given)

    async def workers(self) -> dict[str, Any]:
        """All workers, and the operator's last actions, the latest first."""
        if self.crawl.store.orders is None:
            return {"workers": None, "actions": list(reversed(self.book.actions))}
        return await self.whole.look()


def _shown(action: dict[str, Any]) -> dict[str, Any]:
    changes = action.pop("changes")
    try:
        words = [in_words(order, value) for order, value in changes.items()]
    except ValueError:  # damaged
        words = []
    return action | {"what": words[0] if words else "?"}


class WholeCrawl:
    """The sums of what all workers of a crawl say of themselves, at most ``FRESH`` seconds old."""

    def __init__(self, crawl: CrawlFrontier, charts: Charts) -> None:
        self._crawl = crawl
        self._charts = charts
        self._looking = asyncio.Lock()
        self._looked_at = -inf
        self._workers: dict[str, Any] = {}
        self._rates = {name: Rate() for name in RATED}
        self._began = CLOCK()
        #: As ``CrawlRoom.figures``, of all workers; None: not known.
        self.figures: dict[str, Any] | None = None
        #: What ``Fates.tallies`` has, of all workers; and ``ends``.
        self.tallies: dict[str, Counter[str]] = {}

    async def look(self) -> dict[str, Any]:
        """All workers, the sums newly made. O(workers)."""
        async with self._looking:  # one question to Redis at a time, whoever asks
            if (now := CLOCK()) - self._looked_at >= FRESH:
                found = await self._crawl.store.workers() or {"workers": []}
                found["actions"] = [_shown(action) for action in found.get("actions", ())]
                if "error" not in found:
                    self._add(found, now)
                self._workers, self._looked_at = found, now
        return self._workers

    def _add(self, found: dict[str, Any], now: float) -> None:
        workers = [worker for worker in found["workers"] if worker["lease"] > 0]
        tallies = found.pop("tallies")

        def total(name: str) -> float:
            return sum(worker.get(name) or 0 for worker in workers)

        self.tallies = {}
        for each in tallies:
            for name, tally in each.items():
                self.tallies.setdefault(name, Counter()).update(tally)
        sums = {name: total(name) for name in SUMMED}
        pages = total("pages")
        rates = {name: self._rates[name].add(now, total(counted), now - self._began) for name, counted in RATED.items()}
        elapsed = max((worker["elapsed"] or 0 for worker in workers), default=0)
        known, queued = sums["seen"], sums["queued"]
        waiting = None if any(worker.get("quality_queued") is None for worker in workers) else total("quality_queued")
        most = self._crawl.limits["pages"]
        reasons = Counter(worker["held_back"] for worker in workers if worker.get("held_back"))
        self.figures = {
            **sums,
            **rates,
            "at": time.time(),
            "pages": pages,
            "pages_all": found["pages"],
            "mean_pages_per_second": pages / elapsed if elapsed else 0.0,
            "queued": queued,
            "quality_share": share_gathered(sums["quality_gathered"], waiting),
            "progress": {"what": "pages", "done": found["pages"], "of": most}
            if most
            else {"what": "queue", "done": max(0.0, known - queued), "of": known},
            "failures": {"all": total("failed")},
            "held_back": reasons.most_common(1)[0][0] if reasons else "",
            "workers": len(workers),
            "held_by": reasons.most_common(1)[0][1] if reasons else 0,
        }
        self._charts.add(self.figures)
