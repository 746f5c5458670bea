"""The table of servers, a page at a time: searched and sorted in steps of a few ms."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from crawlproject.clock import CLOCK
from crawlproject.frontier.states import ServerState
from crawlproject.monitor.server_state import STATES, next_at, shown_state, wait_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.server import Server

#: Servers examined in one step: 1 to 3 ms.
STEP = 2_000

#: Most rows of a page, rows before it, and characters of a search.
MAX_LIMIT, MAX_OFFSET, MAX_SEARCH = 200, 1_000, 200

READY, WAITING = ServerState.READY, ServerState.WAITING

#: Filters besides the states: name -> whether a server is shown.
TESTS: dict[str, Callable[[Server], bool]] = {
    "guarded": lambda server: bool(server.demoted_because),
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

    search: str = ""
    state: str = ""
    sort: str = "urls"
    descending: bool = True
    offset: int = 0
    limit: int = 50

    @classmethod
    def parse(cls, given: dict[str, str]) -> Query:
        """From the parameters of a URL. Raises ValueError for a wrong one."""
        unknown = given.keys() - {"search", "state", "sort", "order", "offset", "limit"}
        if unknown:
            raise ValueError(f"unknown parameter: {min(unknown):.50}")
        sort, state, order = given.get("sort", "urls"), given.get("state", ""), given.get("order", "desc")
        if sort not in SORTS:
            raise ValueError(f"sort: one of {', '.join(SORTS)}")
        if state and state not in FILTERS:
            raise ValueError(f"state: one of {', '.join(FILTERS)}")
        if order not in ("asc", "desc"):
            raise ValueError("order: asc or desc")
        search = given.get("search", "").strip().lower()
        if len(search) > MAX_SEARCH:
            raise ValueError(f"search: at most {MAX_SEARCH} characters")
        offset, limit = _count(given, "offset", 0), _count(given, "limit", 50)
        if offset > MAX_OFFSET:
            raise ValueError(f"offset: at most {MAX_OFFSET}: search, or sort the other way round")
        return cls(search, state, sort, order == "desc", offset, min(limit, MAX_LIMIT))


def _count(given: dict[str, str], name: str, default: int) -> int:
    text = given.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f"{name}: a whole number >= 0")
    return int(text)


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
        "rows": [row(server, now) for server in servers],
    }


def select(frontier: Frontier, query: Query) -> Iterator[tuple[int, list[Server]]]:
    """(Number of servers that match, those of the page) among the servers looked at so far: the last step has all.

    O(servers log (offset + limit)).  Equal values stand in the order of discovery.
    """
    value, matches = SORTS[query.sort], _matcher(query)
    choose, end = nlargest if query.descending else nsmallest, query.offset + query.limit
    left, total = iter(list(frontier.servers)), 0
    best: list[Server] = []
    while step := list(islice(left, STEP)):
        found = step if matches is None else [server for server in step if matches(server)]
        total += len(found)
        best = choose(end, chain(best, found), key=value)
        yield total, best[query.offset :]


def _matcher(query: Query) -> Callable[[Server], bool] | None:
    text, state = query.search, query.state
    test = TESTS.get(state) or (lambda server: shown_state(server) == state)
    if not text:
        return test if state else None
    if not state:
        return lambda server: text in server.key
    return lambda server: text in server.key and test(server)


def row(server: Server, now: float) -> dict[str, Any]:
    """One server as a row; ``rank`` only while it is queued by it. O(1)."""
    estimates = server.estimates
    return {
        "server": server.key,
        "state": shown_state(server),
        "rank": None if (rank := shown_rank(server)) < -1.0 else rank,
        "urls": len(server.urls),
        "quality": server.urls.best_quality if server.urls else 0.0,
        "pages": server.fetched,
        "measured": server.answered,
        "response_time": estimates.response_time,
        "failures": server.failures,
        "next": wait_of(server, now),
        "error": server.last_error,
        "guarded": server.demoted_because,
    }
