"""The table of servers, a page at a time: searched and sorted in steps of a few ms; one server's page."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from crawlproject.clock import CLOCK
from crawlproject.frontier.states import ServerState
from crawlproject.monitor.console.url_query import number_in
from crawlproject.monitor.server_state import STATES, next_at, server_terms, shown_state
from crawlproject.signals import robots_asked
from crawlproject.urls.server_key import keys_of, server_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from scrapy.crawler import Crawler

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.server import Server
    from crawlproject.monitor.console.live import AnswerLog

#: Servers examined in one step: 1 to 3 ms.
STEP = 2_000

#: Rows of a page, most rows of one, rows before it, and characters of a search.
ROWS, MAX_LIMIT, MAX_OFFSET, MAX_SEARCH = 50, 200, 1_000, 200

#: Best URLs shown of a server, characters of each, and of its robots.txt.
MAX_URLS, MAX_URL, MAX_ROBOTS = 20, 2_000, 20_000

READY, WAITING = ServerState.READY, ServerState.WAITING

#: Filters besides the states: name -> whether a server is shown.
TESTS: dict[str, Callable[[Server], bool]] = {
    "with URLs": lambda server: bool(server.urls),
    "failing": lambda server: server.failures > 0,
}
FILTERS = (*STATES, *TESTS)


def shown_rank(server: Server) -> float:
    """The rank by which it is queued now, below 0 if it ranks last; -2 for one that is not queued by rank. O(1)."""
    item = server.heap_item
    return -item[0] if item is not None and (server.state is READY or server.state is WAITING) else -2.0


#: Columns that sort: name -> value.
SORTS: dict[str, Callable[[Server], Any]] = {
    "server": lambda server: server.key,
    "rank": shown_rank,
    "urls": lambda server: len(server.urls),
    "quality": lambda server: server.urls.best_quality,
    "pages": lambda server: server.fetched,
    "response_time": lambda server: server.estimates.response_time,
    "failures": lambda server: server.failures,
    "next": next_at,
}


@dataclass(frozen=True)
class Query:
    """A request for a page of the list; ``parse`` checks it."""

    search: str
    state: str
    sort: str
    descending: bool
    offset: int
    limit: int

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Query:
        """From the parameters of a URL. Raises ValueError for a wrong one."""
        choices = {"sort": tuple(SORTS), "state": ("", *FILTERS), "order": ("asc", "desc")}
        chosen = {name: given.get(name, usual) for name, usual in (("sort", "urls"), ("state", ""), ("order", "desc"))}
        if unknown := given.keys() - {"search", "offset", "limit"} - choices.keys():
            raise ValueError(f"unknown parameter: {min(unknown):.50}")
        for name, value in chosen.items():
            if value not in choices[name]:
                raise ValueError(f"{name}: one of {', '.join(filter(None, choices[name]))}")
        search = given.get("search", "").strip().lower()
        if len(search) > MAX_SEARCH:
            raise ValueError(f"search: at most {MAX_SEARCH} characters")
        offset, limit = number_in(given, "offset", MAX_OFFSET) or 0, number_in(given, "limit", 99_999)
        limit = ROWS if limit is None else min(limit, MAX_LIMIT)
        return cls(search, chosen["state"], chosen["sort"], chosen["order"] == "desc", offset, limit)


async def find(frontier: Frontier, query: Query) -> dict[str, Any]:
    """The rows of ``query``, and how many servers match. Other tasks run between steps."""
    total: int = 0
    servers: list[Server] = []
    for total, servers in select(frontier, query):  # noqa: B007 - those of the last step
        await asyncio.sleep(0)
    now = CLOCK()
    servers.sort(key=SORTS[query.sort], reverse=query.descending)  # again: values have changed between the steps
    return {
        "total": total,
        "known": len(frontier.servers),
        "offset": query.offset,
        "rows": [row(frontier, server, now) for server in servers],
    }


def select(frontier: Frontier, query: Query) -> Iterator[tuple[int, list[Server]]]:
    """(Number of servers that match, those of the page) among the servers looked at so far: the last step has all.

    O(servers log (offset + limit)).  Equal values stand in the order of discovery.
    """
    value, text, state = SORTS[query.sort], query.search, query.state
    test = TESTS.get(state) or (lambda server: shown_state(server) == state)
    choose, end = nlargest if query.descending else nsmallest, query.offset + query.limit
    left, total = iter(list(frontier.servers)), 0
    best: list[Server] = []
    while found := list(islice(left, STEP)):
        if text:
            found = [server for server in found if text in server.key]
        if state:
            found = [server for server in found if test(server)]
        total += len(found)
        best = choose(end, chain(best, found), key=value)
        yield total, best[query.offset :]


def row(frontier: Frontier, server: Server, now: float) -> dict[str, Any]:
    """One server as a row; ``rank`` only while it is queued by it. O(batch)."""
    rank = shown_rank(server)
    return server_terms(frontier.policy, server, now) | {"rank": None if rank < -1.0 else rank}


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
    orders = frontier.servers.orders
    blocked, delayed = orders.blocked.find(key), orders.delays.find(key)
    politeness = frontier.servers.politeness_of(server)
    return server_terms(frontier.policy, server, CLOCK()) | {
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
