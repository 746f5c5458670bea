"""The content of the console: figures, charts, servers, workers, log."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

from crawlproject.clock import CLOCK
from crawlproject.engine import Crawl, is_closing, stats_of
from crawlproject.frontier.live_limits import KINDS, LIMITS
from crawlproject.links import Links
from crawlproject.monitor.console.live import AnswerLog, Charts, LineLog
from crawlproject.monitor.console.order_book import BLOCK, DELAY, LIMIT, RELEASE, SESSIONS, in_words
from crawlproject.monitor.console.server_list import FILTERS, Query, find, server_view
from crawlproject.monitor.console.url_query import REASONS, chosen_by, number_in, parse
from crawlproject.monitor.figures import figures_of
from crawlproject.monitor.quantities import Rate, crawl_folder, crawl_name, share_gathered
from crawlproject.monitor.server_state import spider_names, spider_of, spider_rows
from crawlproject.options.monitor import ConsoleOptions
from crawlproject.requests.owners import Owners
from crawlproject.urls.fates import STATS, Stage
from crawlproject.urls.server_key import server_key
from crawlproject.urls.url_rows import LOST, QUEUED, UrlQuery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.monitor.console.api import Views
    from crawlproject.monitor.console.order_book import OrderBook
    from crawlproject.urls.url_rows import UrlRow

#: Orders of one kind that the page lists, and kinds of failures.
MAX_LISTED, MAX_FAILURES = 500, 12

#: Limits whose words are others where there are several workers.
SHARED_WORDS = {
    "sessions": "Connections at once, of each worker",
    "pages": "Pages of all workers and runs",
    "time": "Seconds of this run, of each worker",
}

#: Seconds for which what the workers say counts as new.
FRESH = 2.0

#: Seconds that an answer to a search of URLs may take, and its turns of the event loop; its rows; characters of a URL.
SEARCH_TIME, TURN, MAX_ROWS, MAX_URL = 0.05, 0.003, 200, 2_000

#: Seconds for which the servers of a host or spider count as known: those of a search in several requests.
SERVERS_FRESH = 30.0

#: Figures of workers that are added up, and rates: name -> what is counted.
SUMMED = (
    *("queued", "seen", "blocked", "bytes", "items", "sessions", "session_limit", "quality_gathered", "failed"),
    *("pages", "servers/known", "servers/ready", "servers/resting", "servers/leased", "servers/given_up"),
)
RATED = {"pages_per_second": "pages", "bytes_per_second": "bytes"}


class CrawlRoom:
    """All answers are JSON values."""

    def __init__(self, crawler: Crawler, crawl: CrawlFrontier, book: OrderBook) -> None:
        self._crawler, self._crawl, self._book = crawler, crawl, book
        self._setting = crawl.allowed_sessions  # FRONTIER_MAX_SESSIONS
        self._searching = asyncio.Semaphore(2)  # each may take 50 ms of CPU
        self.answers, self.log, self.charts = AnswerLog(), LineLog(), Charts()
        self.whole = WholeCrawl(crawl)
        self.url_view = UrlView(crawler, crawl)

    def views(self) -> Views:
        """What ``api`` offers below ``/api/`` and changes nothing."""
        frontier = self._crawl.frontier
        return {
            "state": lambda _: self.state(),
            "history": self.history,
            "parts": self.parts,
            "servers": self.servers,
            "server": lambda given: server_view(self._crawler, frontier, given.get("key", ""), self.answers),
            "urls": self.urls,
            "url": self.url_view.one,
            "workers": lambda _: self.workers(),
            "spiders": lambda _: spider_rows(self._crawler, frontier.servers),
            "stats": lambda _: dict(sorted(stats_of(self._crawler).get_stats().items())),
            "log": lambda _: {"lines": list(self.log.lines)},
        }

    def state(self) -> dict[str, Any]:
        return {
            "crawl": self.crawl_name(),
            "figures": self.figures(),
            "whole": self.whole.figures,
            "has_workers": self._crawl.store.orders is not None,
            "orders": self.orders(),
            "states": list(FILTERS),
            "spiders": spider_names(self._crawler),
            "reloads": Crawl.of(self._crawler).part(Owners).reload is not None,
            "reasons": list(dict.fromkeys(reason for stage, reason in STATS if stage is not Stage.LINK)),
        }

    def crawl_name(self) -> dict[str, Any]:
        spider, job = self._crawler.spider, ConsoleOptions.of(self._crawler).job
        now = figures_of(self._crawler).now()
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
            "reason": stats_of(self._crawler).get_value("finish_reason"),
        }

    def figures(self) -> dict[str, Any]:
        """The figures now, those of servers as ``servers/<state>``. O(stats) at most twice a second."""
        found = figures_of(self._crawler).now().flat()
        return found | {
            "failures": dict(islice(found["failures"].items(), MAX_FAILURES)),
            "paused": self._crawl.is_paused,
            "closing": is_closing(self._crawler),
        }

    def orders(self) -> dict[str, Any]:
        """The overrides in force; long lists are cut."""
        limits, of, is_shared = self._crawl.limits, self._book.of, self._crawl.store.orders is not None
        overrides = of(LIMIT) | {SESSIONS: self._book.orders.get(SESSIONS)}
        settings = {"sessions": self._setting, **limits.settings}
        words = {"sessions": "Connections at once", **LIMITS} | (SHARED_WORDS if is_shared else {})
        return {
            "paused": self._crawl.is_paused,
            "sessions": self._crawl.allowed_sessions,
            "limits": [
                {
                    "name": name,
                    "words": words[name],
                    "override": None if (value := overrides.get(name)) is None else int(value),
                    "setting": setting,
                }
                for name, setting in settings.items()
            ],
            "delays": {name: float(seconds) for name, seconds in islice(of(DELAY).items(), MAX_LISTED)},
            "blocked": list(islice(of(BLOCK), MAX_LISTED)),
            "released": list(islice(of(RELEASE), MAX_LISTED)),
            "patterns": [{"kind": kind, "pattern": pattern} for kind in KINDS for pattern in of(kind)],
            "kept": self._book.is_kept or is_shared,
        }

    def history(self, given: Mapping[str, str]) -> dict[str, Any]:
        charts = self.whole.charts if given.get("of") == "crawl" else self.charts
        return charts.shown(given.get("range", "all"))

    def parts(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The run's URLs in parts: by what became of them, status, media type, depth, spider. O(stats)."""
        tallies: dict[str, Mapping[str, int]]
        ends: Mapping[str, int]
        if given.get("of") == "crawl" and self.whole.tallies:
            tallies = {"spider": {}, "ends": {}, **self.whole.tallies}
        else:
            fates = self._crawl.fates
            owners = {owner.name: owner.pages for owner in Crawl.of(self._crawler).part(Owners) if owner.pages}
            ends = {f"{stage}/{reason}": count for (stage, reason), count in fates.counts.items()}
            tallies = {**fates.tallies, "spider": owners, "ends": ends}
        ends = tallies.pop("ends")
        rows = [
            {"stage": stage, "reason": reason, "is_page": reason.is_page, "count": count}
            for stage, reason in STATS
            if stage is not Stage.LINK and (count := ends.get(f"{stage}/{reason}", 0))
        ]
        return {**tallies, "reasons": sorted(rows, key=lambda row: -int(row["count"]))}

    async def servers(self, given: Mapping[str, str]) -> dict[str, Any]:
        """A page of the table of servers. Raises ValueError for wrong parameters."""
        async with self._searching:
            return await find(self._crawl.frontier, Query.parse(given))

    async def urls(self, given: Mapping[str, str]) -> dict[str, Any]:
        """A page of a search of URLs. Raises ValueError for wrong parameters."""
        async with self._searching:
            return await self.url_view.find(given)

    async def workers(self) -> dict[str, Any]:
        """All workers, and the operator's last actions, the latest first."""
        if self._crawl.store.orders is None:
            return {"workers": None, "actions": list(reversed(self._book.actions))}
        return await self.whole.look()


def _shown(action: dict[str, Any]) -> dict[str, Any]:
    changes = action.pop("changes")
    try:
        words = next((in_words(order, value) for order, value in changes.items()), "?")
    except ValueError:  # damaged
        words = "?"
    return action | {"what": words}


class WholeCrawl:
    """The sums of what all workers of a crawl say of themselves, at most ``FRESH`` seconds old."""

    def __init__(self, crawl: CrawlFrontier) -> None:
        self._crawl = crawl
        self._looking = asyncio.Lock()
        self._looked_at = -inf
        self._workers: dict[str, Any] = {}
        self._rates = {name: Rate() for name in RATED}
        self._began = CLOCK()
        self.charts = Charts()
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
        self.tallies = {}
        for each in found.pop("tallies"):
            for name, tally in each.items():
                self.tallies.setdefault(name, Counter()).update(tally)
        sums = {name: sum(worker.get(name) or 0 for worker in workers) for name in SUMMED}
        waiting = [worker.get("quality_queued") for worker in workers]
        elapsed = max((worker["elapsed"] or 0 for worker in workers), default=0)
        known, queued, most = sums["seen"], sums["queued"], self._crawl.limits["pages"]
        reasons = Counter(worker["held_back"] for worker in workers if worker.get("held_back"))
        reason, held_by = next(iter(reasons.most_common(1)), ("", 0))
        self.figures = {
            **sums,
            **{name: self._rates[name].add(now, sums[of], now - self._began) for name, of in RATED.items()},
            "at": time.time(),
            "pages_all": found["pages"],
            "mean_pages_per_second": sums["pages"] / elapsed if elapsed else 0.0,
            "quality_share": share_gathered(sums["quality_gathered"], None if None in waiting else sum(waiting)),
            "progress": {"what": "pages", "done": found["pages"], "of": most}
            if most
            else {"what": "queue", "done": max(0.0, known - queued), "of": known},
            "held_back": reason,
            "workers": len(workers),
            "held_by": held_by,
        }
        self.charts.add(self.figures)


class UrlView:
    """The URLs of a running crawl. All answers are JSON values."""

    def __init__(self, crawler: Crawler, crawl: CrawlFrontier) -> None:
        self._crawler, self._crawl = crawler, crawl
        # host and spider of the last search, when it began, and their servers
        self._chosen: tuple[tuple[str, str], float, frozenset[str]] = (("", ""), 0.0, frozenset())

    async def find(self, given: Mapping[str, str]) -> dict[str, Any]:
        """A page of the URLs that ``given`` asks for, and where the next one begins (``next``; None: this is the last).

        Takes ``SEARCH_TIME`` at most, so a page may be empty although others follow; others run every ``TURN`` seconds.
        ``count``: how many there are, without the rows.
        """
        query = parse(given, await self._servers(*(given.get(name, "").strip() for name in ("host", "spider"))))
        limit = min(number_in(given, "limit", 99_999) or MAX_ROWS, MAX_ROWS)
        rows: list[UrlRow] = []
        begun = turn = CLOCK()
        only_counts = bool(given.get("count"))
        count, after, share, most = 0, "", 0.0, 10**9 if only_counts else limit
        for after, share, found in self._crawl.store.urls.rows(query, given.get("next", ""), most):  # noqa: B007
            count += len(found)
            rows += () if only_counts else found
            if count >= most or CLOCK() - begun >= SEARCH_TIME:
                break
            if CLOCK() - turn >= TURN:
                await asyncio.sleep(0)
                turn = CLOCK()
        else:
            after, share = "", 1.0
        links = [] if only_counts or given.get("next") else self._refused_links(query)
        return {
            "rows": [{**row._asdict(), "url": row.url[:MAX_URL]} for row in rows] + links,
            "count": count,
            "next": after or None,
            "share": share,
            "note": f"the first ones: {REASONS[query.reason].words}" if links else "",
        }

    async def _servers(self, host: str, spider: str) -> frozenset[str] | None:
        """The servers that a search is for; None: all. O(servers), in turns, unless the last search was for them."""
        names = spider_names(self._crawler) if spider else ()
        is_wanted = chosen_by(host, spider, names, lambda key: spider_of(self._crawler, key))
        if is_wanted is None:
            return None
        named, at, found = self._chosen
        if named != (host, spider) or CLOCK() - at > SERVERS_FRESH:
            wanted, turn = [], CLOCK()
            for server in list(self._crawl.frontier.servers):
                if is_wanted(server.key):
                    wanted.append(server.key)
                if CLOCK() - turn >= TURN:
                    await asyncio.sleep(0)
                    turn = CLOCK()
            found = frozenset(wanted)
            self._chosen = (host, spider), CLOCK(), found
        return found

    def _refused_links(self, query: UrlQuery) -> list[dict[str, Any]]:
        """Links that were refused before they were queued, of which only the first ones are kept."""
        if query.state not in ("", LOST):
            return []
        return [
            {"url": url, "state": LOST, "stage": stage, "reason": reason}
            for stage, reason in STATS
            if stage is Stage.LINK and reason == query.reason
            for url in self._crawl.fates.examples(stage, reason)
            if query.pattern is None or query.pattern.match(url)
        ]

    async def one(self, given: Mapping[str, str]) -> dict[str, Any]:
        """What became of a URL, as a person writes it, and its history. Raises ValueError for what is none."""
        (url,) = self._crawl.intake.canonical(Links(None, [given.get("url", "")]))
        if url is None:
            raise ValueError("url: no URL with http or https and a server")
        await self._crawl.store.saved()  # a search reads the store
        query = UrlQuery(servers=frozenset((server_key(url),)), state=QUEUED)
        queued = None
        for _, _, found in self._crawl.store.urls.rows(query, most=10**9):
            queued = next((row for row in found if row.url == url), None)
            if queued is not None:
                break
            await asyncio.sleep(0)
        ends = self._crawl.store.urls.history(url)
        last = queued or next(iter(ends), None)
        reason = REASONS[last.reason] if last is not None and last.reason else None
        if last is None:
            words = "not queued, and not among those that are kept: never found, refused as a link, or lost long ago"
        else:
            words = "queued, or in progress" if reason is None else reason.words
        history = [
            {"at": end.at, "what": f"{end.state}: {REASONS[end.reason].words}", "status": end.status or None}
            for end in ends
        ]
        return ({} if last is None else last._asdict()) | {
            "url": url[:MAX_URL],
            "server": server_key(url),
            "url_state": words,
            "change": "" if reason is None else reason.change,
            "at": ends[0].at if ends else None,
            "history": history,
        }
