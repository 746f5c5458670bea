"""The present servers, stats, settings and times of a crawl, for the report."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings

from crawlproject.clock import CLOCK
from crawlproject.engine import stats_of
from crawlproject.frontier.observed_times import TIME_BOUNDS
from crawlproject.monitor.forecast import TOP
from crawlproject.monitor.quantities import budget_words, crawl_name
from crawlproject.monitor.series.samples import SNAPSHOT_VERSION
from crawlproject.monitor.server_state import server_terms
from crawlproject.options.all_settings import DEFAULTS
from crawlproject.options.console import ConsoleOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.monitor.forecast import Survey

#: Longest text kept of a server's key, of an error, of a setting or a stat.
MAX_TEXT = 120

#: Names of settings whose values are secret, and secrets in URLs.
SECRET = re.compile(r"PASS|SECRET|TOKEN|AUTH|CREDENTIAL|COOKIE|(?:^|_)KEY(?:$|_ID)", re.IGNORECASE)
USER_INFO = re.compile(r"://[^/\s]{0,200}@")


def snapshot_of(crawl: CrawlFrontier, survey: Survey | None) -> dict[str, Any]:
    """Servers and times, as plain values; ``run_part`` has the rest. O(TOP), about 15 ms."""
    frontier, times, now = crawl.frontier, crawl.times, CLOCK()
    top = survey.top if survey is not None else list(frontier.servers)[:TOP]
    servers = [server for server in top if frontier.server(server.key) is server]
    rows = [
        {name: plain(value) for name, value in server_terms(frontier.policy, server, now).items() if name != "traps"}
        for server in servers
    ]
    pages, gathered, urls = (sum(row[name] for row in rows) for name in ("fetched", "gathered", "urls"))
    rest = {
        "servers": len(frontier.servers) - len(rows),
        "pages": max(0, frontier.quality.pages - pages),
        "gathered": max(0.0, frontier.quality.gathered - gathered),
        "urls": max(0, len(frontier) + frontier.blocked - urls),
    }
    budget = frontier.budgets.outlook(frontier.queue.now, frontier.queue.last_rank)
    return {
        "version": SNAPSHOT_VERSION,
        "servers": rows,
        "rest": rest,
        "budget": "" if budget is None else ", ".join(budget_words(budget)),
        "guarded": 0 if survey is None else survey.guarded,
        "doubted": 0 if survey is None else survey.doubted,
        "mirrors": 0 if survey is None else survey.mirrors,
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
        "stats": {name[:MAX_TEXT]: plain(value) for name, value in stats.items()},
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


def plain(value: Any) -> Any:
    """A text that is bounded; of a number, four digits are enough for a table."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    return value if value is None or isinstance(value, int) else str(value)[:MAX_TEXT]
