"""The table of servers, a page at a time: sorted and searched without a copy of the whole table.

Runs of servers are sorted, the page's place in each of them is searched, and only the page is merged.  A query of
100,000 servers takes some 50 ms of CPU, in steps of a few ms between which the crawl continues.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from heapq import merge
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

from crawlproject.clock import CLOCK
from crawlproject.frontier.states import ServerState
from crawlproject.monitor.server_state import STATES, next_at, shown_state, wait_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.server import Server

#: Servers examined in one step: 1 to 3 ms.
STEP = 2_000

#: Most rows of a page, and characters of a search.
MAX_LIMIT, MAX_SEARCH = 200, 200

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
        return cls(search, state, sort, order == "desc", offset, min(limit, MAX_LIMIT))


def _count(given: dict[str, str], name: str, default: int) -> int:
    text = given.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f"{name}: a whole number >= 0")
    return int(text)


async def find(frontier: Frontier, query: Query) -> dict[str, Any]:
    """The rows of ``query``, and how many servers match. Other tasks run between steps."""
    steps = select(frontier, query)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            total, servers = end.value
            break
        await asyncio.sleep(0)
    now = CLOCK()
    servers.sort(key=SORTS[query.sort], reverse=query.descending)  # again: values have changed between the steps
    return {
        "total": total,
        "known": len(frontier.servers),
        "offset": query.offset,
        "rows": [row(server, now) for server in servers],
    }


def select(frontier: Frontier, query: Query) -> Generator[None, None, tuple[int, list[Server]]]:
    """(Number of servers that match, those of the page), in steps. O(servers log servers).

    Equal values stand in the order of discovery, descending ones in the reverse.
    """
    value, matches = SORTS[query.sort], _matcher(query)
    left = iter(list(frontier.servers))
    servers: list[Server] = []
    values: list[Any] = []
    while step := list(islice(left, STEP)):
        if matches is not None:
            step = [server for server in step if matches(server)]
        servers += step
        values += map(value, step)
        yield
    count = len(values)
    begin, end = (min(place, count) for place in (query.offset, query.offset + query.limit))
    if query.descending:
        begin, end = count - end, count - begin
    runs = []
    for start in range(0, count, STEP):
        runs.append(sorted(range(start, min(start + STEP, count)), key=values.__getitem__))
        yield
    places = yield from _places(runs, values, begin)
    parts = (run[place : place + end - begin] for run, place in zip(runs, places, strict=True))
    page = [servers[number] for number in islice(merge(*parts, key=values.__getitem__), end - begin)]
    return count, page[::-1] if query.descending else page


def _places(runs: list[list[int]], values: list[Any], before: int) -> Generator[None, None, list[int]]:
    """How many of the first ``before`` numbers, ordered by their values, are in each run, in steps.

    Each step excludes at least a quarter of what is left, as the pivot is the weighted median of the runs' middles:
    O(runs log(run) log(numbers)).
    """

    def key(number: int) -> tuple[Any, int]:
        return values[number], number

    lows, highs = [0] * len(runs), [len(run) for run in runs]
    while sum(lows) < before:
        middles = sorted(
            (key(run[(low + high) // 2]), high - low)
            for run, low, high in zip(runs, lows, highs, strict=True)
            if low < high
        )
        half = sum(size for _, size in middles) / 2
        sums = accumulate(size for _, size in middles)
        pivot = next(middle for (middle, _), total in zip(middles, sums, strict=True) if total >= half)
        ends = [bisect_right(run, pivot, key=key) for run in runs]
        if sum(ends) <= before:
            lows = ends
        else:
            highs = [bisect_left(run, pivot, key=key) for run in runs]
        yield
    return lows


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
        "response_time": estimates.response_time,
        "failures": server.failures,
        "next": wait_of(server, now),
        "error": server.last_error,
        "guarded": server.demoted_because,
    }
