"""The table of servers: what it finds, and what that costs with 100,000 servers."""

import asyncio
import random
import time
from statistics import median

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier, Politeness, Server
from crawlproject.monitor.console.server_list import SORTS, STEP, Query, find, select


def new_frontier(servers: int) -> Frontier:
    frontier = Frontier(BestPrefix(), Politeness())
    chance = random.Random(1)
    for number in range(servers):
        key = f"http://s{chance.randrange(10**9)}.domain{number % 97}.example"
        frontier.push([Entry(f"{key}/{path}", chance.random()) for path in range(number % 3 + 1)])
    return frontier


def page(frontier: Frontier, **given: str) -> tuple[int, list[Server], float, float]:
    """(Number that match, servers, CPU seconds in all, of the longest step)."""
    found, times, start = [], [], time.thread_time()
    for step in select(frontier, Query.parse(given)):
        times.append(time.thread_time() - start)
        found, start = [step], time.thread_time()
    return *found[0], sum(times), max(times)


@pytest.fixture(scope="module")
def frontier() -> Frontier:
    return new_frontier(6_000)


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("sort", SORTS)
def test_pages_are_those_of_the_sorted_table(frontier: Frontier, sort: str, order: str) -> None:
    """From the first to the last that can be reached."""
    value = SORTS[sort]
    expected = sorted(frontier.servers, key=value, reverse=order == "desc")
    for offset in (0, 7, 50, 999, 1_000):
        total, found, *_ = page(frontier, sort=sort, order=order, offset=str(offset), limit="20")
        assert total == 6_000
        assert found == expected[offset : offset + 20]


def test_search_and_state(frontier: Frontier) -> None:
    """Part of the address, in either case, and a state."""
    expected = {server.key for server in frontier.servers if "domain5." in server.key}
    total, found, *_ = page(frontier, search=" DOMAIN5. ", limit="200")
    assert total == len(expected)
    assert {server.key for server in found} == expected
    assert page(frontier, state="ready")[0] == 6_000
    assert page(frontier, state="blocked", search="domain5.")[:2] == (0, [])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sort": "x"}, "sort: one of"),
        ({"state": "x"}, "state: one of"),
        ({"order": "x"}, "order: one of asc, desc"),
        ({"offset": "-1"}, "offset: a whole number"),
        ({"offset": "1001"}, "offset: a whole number from 0 to 1000"),
        ({"limit": "1" * 5000}, "limit: a whole number"),
        ({"limit": "¹"}, "limit: a whole number"),
        ({"search": "x" * 201}, "search: at most"),
        ({"x" * 5000: ""}, "unknown parameter: x{50}$"),
    ],
)
def test_wrong_questions(given: dict[str, str], message: str) -> None:
    """One line each."""
    with pytest.raises(ValueError, match=f"^{message}"):
        Query.parse(given)


@pytest.mark.long
@pytest.mark.alone
def test_a_hundred_thousand_servers() -> None:
    """A page costs at most 100 ms of CPU, and no step holds the event loop for more than 10 ms."""
    frontier = new_frontier(100_000)
    for given in (
        {},
        {"sort": "server", "order": "asc"},
        {"sort": "server", "offset": "500"},
        {"sort": "quality", "offset": "1000"},
        {"sort": "failures", "offset": "1000"},
        {"search": "domain9", "sort": "next"},
        {"state": "ready", "sort": "rank"},
    ):
        times = [page(frontier, **given)[2:] for _ in range(5)]
        assert median(total for total, _ in times) < 0.1, given
        assert median(longest for _, longest in times) < 0.01, given


def test_rows_are_in_the_order_of_the_values_that_they_show() -> None:
    """Also if a server gets URLs while the table is made."""
    frontier = new_frontier(3 * STEP)
    growing = max(frontier.servers, key=SORTS["urls"])  # the first with three URLs

    async def grow() -> None:
        frontier.push([Entry(f"{growing.key}/more/{path}", 1.0) for path in range(50)])

    async def found() -> list[int]:
        query = Query.parse({"sort": "urls", "limit": "10"})
        table, _ = await asyncio.gather(find(frontier, query), grow())
        return [row["urls"] for row in table["rows"]]

    counts = asyncio.run(found())
    assert counts == [53, *[3] * 9]
