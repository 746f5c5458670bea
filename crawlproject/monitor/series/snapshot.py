"""The present figures of a crawl, and its servers, stats, settings and times, for the report."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings

from crawlproject.engine import stats_of
from crawlproject.frontier.observed_times import TIME_BOUNDS
from crawlproject.monitor.forecast import TOP
from crawlproject.monitor.quantities import budget_words, crawl_name
from crawlproject.monitor.series.samples import HELD_BACK
from crawlproject.monitor.series.snapshot_file import VERSION
from crawlproject.monitor.server_state import shown_state, state_reason
from crawlproject.options.all_settings import DEFAULTS
from crawlproject.options.monitor import ConsoleOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.server import Server
    from crawlproject.monitor.figures import Figures
    from crawlproject.monitor.forecast import Survey
    from crawlproject.monitor.series.samples import Sample

#: Longest text kept of a server's key, of an error, of a setting or a stat.
MAX_TEXT = 120

#: Names of settings whose values are secret, and secrets in URLs.
SECRET = re.compile(r"PASS|SECRET|TOKEN|AUTH|CREDENTIAL|COOKIE|(?:^|_)KEY(?:$|_ID)", re.IGNORECASE)
USER_INFO = re.compile(r"://[^/\s]{0,200}@")


def sample_of(figures: Figures) -> Sample:
    words = figures.held_back.split(" ", 2)
    word = " ".join(words[: 2 if words[0] == "the" else 1]).rstrip(":")
    return {
        "elapsed": round(figures.elapsed, 1),
        "pages": figures.pages,
        "relevant": figures.relevant,
        "bytes": figures.bytes,
        "requests": figures.requests,
        "failures": sum(figures.failures.values()),
        "sessions": figures.sessions,
        "session_limit": figures.session_limit,
        "ready": figures.servers.ready,
        "resting": figures.servers.resting + figures.servers.waiting,
        "leased": figures.servers.leased,
        "given_up": figures.servers.given_up,
        "servers": figures.servers.known,
        "queued": figures.queued,
        "blocked": figures.blocked,
        "seen": figures.seen,
        "gathered": figures.quality_gathered,
        "waiting": -1 if figures.quality_queued is None else figures.quality_queued,
        "cpu": figures.cpu,
        "lag": figures.lag,
        "memory": figures.memory,
        "held_back": HELD_BACK.index(word) if word in HELD_BACK else 0,
        "handed_over": 0,
    }


def server_row(server: Server, frontier: Frontier) -> dict[str, Any]:
    """What the table of the report shows, by its names in the console's API; times in seconds. About 10 µs."""
    urls, estimates = server.urls, server.estimates
    return {
        "server": server.key[:MAX_TEXT],
        "pages": server.fetched,
        "measured": server.answered,
        "gathered": _short(server.gathered),
        "urls": len(urls),
        "rank": _short(frontier.policy.rank(server)) if urls else 0,
        "state": shown_state(server),
        "error": _reason(server)[:MAX_TEXT],
        "failures": server.failures,
        "quality": _short(urls.best_quality),
        "batch": server.expected_pages,
        "connect_time": _short(estimates.connect_time),
        "response_time": _short(estimates.response_time),
        "bonus": _short(server.bonus),
        "worth": _short(server.worth),
        "urgency": _short(server.urgency),
        "session_time": _short(server.expected_time) if urls else 0,
        "copies": server.copies,
    }


def _reason(server: Server) -> str:
    guarded = f"guarded: {server.demoted_because}" if server.demoted_because else ""
    return "; ".join(filter(None, (guarded, state_reason(server) or server.last_error)))


def snapshot_of(crawl: CrawlFrontier, survey: Survey | None) -> dict[str, Any]:
    """Servers and times, as plain values; ``run_part`` has the rest. O(TOP), about 15 ms."""
    frontier, times = crawl.frontier, crawl.times
    top = survey.top if survey is not None else list(frontier.servers)[:TOP]
    rows = [server_row(server, frontier) for server in top if frontier.server(server.key) is server]
    pages, gathered, urls = (sum(row[name] for row in rows) for name in ("pages", "gathered", "urls"))
    rest = {
        "servers": len(frontier.servers) - len(rows),
        "pages": max(0, frontier.quality.pages - pages),
        "gathered": max(0.0, frontier.quality.gathered - gathered),
        "urls": max(0, len(frontier) + frontier.blocked - urls),
    }
    budget = frontier.budgets.outlook(frontier.queue.now, frontier.queue.last_rank)
    return {
        "version": VERSION,
        "servers": rows,
        "rest": rest,
        "budget": "" if budget is None else ", ".join(budget_words(budget)),
        "guarded": 0 if survey is None else survey.guarded,
        "doubted": 0 if survey is None else survey.doubted,
        "bounds": TIME_BOUNDS,
        "connect": times.connect.counts,
        "response": times.response.counts,
        "waits": times.waits.counts,
        "shortest_wait": times.shortest_wait if times.waits.total else None,
        "longest_wait": times.waits.longest,
        "too_early": times.too_early,
        "examples": crawl.fates.to_state()["examples"],
    }


def run_part(crawler: Crawler, settings: Mapping[str, str]) -> dict[str, Any]:
    """Name, time, stats and settings of the run, as plain values. O(stats)."""
    stats, spider, job = stats_of(crawler).get_stats(), crawler.spider, ConsoleOptions.of(crawler).job
    return {
        "name": crawl_name("" if spider is None else spider.name, job),
        "spider": "" if spider is None else spider.name[:MAX_TEXT],
        "at": time.time(),
        "stats": {name[:MAX_TEXT]: _plain(value) for name, value in stats.items()},
        "settings": dict(settings),
    }


def changed_settings(settings: BaseSettings) -> dict[str, str]:
    """Settings of this project and of Scrapy that differ from their defaults: name -> value as text.

    Those of the command line come first, then the spider's, then the project's: a reader looks for what this crawl
    was given. Secrets are not kept: neither values of settings that are named so, nor users and passwords in URLs.
    """
    changed = {}
    defaults = vars(default_settings)
    for name in sorted(map(str, settings), key=lambda name: (-(settings.getpriority(name) or 0), name)):
        was_set = (settings.getpriority(name) or 0) >= SETTINGS_PRIORITIES["project"]
        if not was_set or (name not in DEFAULTS and name not in defaults):
            continue
        value = settings[name]  # ``get`` and the module's attributes warn of names that Scrapy has deprecated
        if str(value) == str(DEFAULTS[name] if name in DEFAULTS else defaults[name]):
            continue
        value = value.copy_to_dict() if isinstance(value, BaseSettings) else value
        is_secret = SECRET.search(name) is not None and not isinstance(value, (bool, int, float))
        text = "(not shown)" if is_secret else USER_INFO.sub("://(not shown)@", repr(value)[:10_000])
        changed[name[:MAX_TEXT]] = text[: 2 * MAX_TEXT]
    return changed


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, bool)) else str(value)[:MAX_TEXT]


def _short(value: float) -> float:
    """Four digits are enough for a table."""
    return float(f"{value:.4g}")
