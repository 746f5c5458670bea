"""One server's page: its best URLs, its rank term by term, why it waits, its last answers, its robots.txt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlproject.clock import CLOCK
from crawlproject.monitor.server_state import server_terms
from crawlproject.signals import robots_asked
from crawlproject.urls.server_key import keys_of, server_name

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.server import Server
    from crawlproject.monitor.console.live import AnswerLog

#: Best URLs shown, and characters of each.
MAX_URLS, MAX_URL = 20, 2_000

#: Characters of a robots.txt shown.
MAX_ROBOTS = 20_000

#: Patterns shown.
MAX_PATTERNS = 100


def server_view(crawler: Crawler, frontier: Frontier, name: str, answers: AnswerLog) -> dict[str, Any] | None:
    """A description of the server that a person calls ``name``; None if it is unknown.

    O(batch), and some reads of the store.
    """
    try:
        found = [server for key in keys_of(server_name(name)) if (server := frontier.server(key)) is not None]
    except ValueError:
        found = []
    if not found:
        return None
    server, key = found[0], found[0].key
    now = CLOCK()
    terms = server_terms(frontier.policy, server, now)
    terms["traps"] = terms["traps"][:MAX_PATTERNS]
    orders = frontier.servers.orders
    blocked, delayed = orders.blocked.find(key), orders.delays.find(key)
    politeness = frontier.servers.politeness_of(server)
    return terms | {
        "group": None if server.group is None else server.group.key,
        "request_delay": politeness.request_delay,
        "blocked_by": None if blocked is None else blocked[0],
        "delayed_by": None if delayed is None else delayed[0],
        "best": _best(server),
        "answers": answers.of(key),
        "robots": _robots(crawler, key),
    }


def _best(server: Server) -> list[dict[str, Any]]:
    try:
        entries = server.urls.first(server.key, MAX_URLS)
    except LookupError:  # the store is damaged: the crawl will say so
        return []
    return [
        {"url": each.url[:MAX_URL], "quality": each.quality, "priority": each.priority, "depth": each.depth}
        for each in entries
    ]


def _robots(crawler: Crawler, key: str) -> dict[str, Any] | None:
    for _, text in crawler.signals.send_catch_log(robots_asked, server_key=key):
        if isinstance(text, str):
            return {"text": text[:MAX_ROBOTS], "cut": len(text) > MAX_ROBOTS}
    return None
