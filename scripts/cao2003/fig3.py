"""Figure 3: requests per connection, as specified by the servers and as observed by a crawl."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from crawlproject.simulation.synthetic import SyntheticSpec, build
from testbed.crawl import Conditions, crawl
from testbed.web import WebSpec

from .figure import Result, Row, line_plot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from testbed.web import Record

    from .figure import Plan, Size

PAPER = "paper (Stanford, 500 servers)"
PAGES_PER_SERVER = 200  # so that the smallest server can show a limit of 100
TIME_SCALE = 0.1  # times are irrelevant here
#: Label -> from, to (exclusive).
CLASSES = {"1": (1, 2), "2 to 50": (2, 51), "51 to 99": (51, 100), "100": (100, 1 << 30)}
PAPER_ROW: Row = {"servers": PAPER, "1": 0.24, "2 to 50": "", "51 to 99": "", "100": 0.66}


def figure(plan: Plan) -> Result:
    """The shares of servers by requests per connection."""
    counts: dict[str, Counter[int]] = {}
    size = plan.simulated
    web = build(SyntheticSpec(size.servers, size.pages, plan.seed, seed_count=min(5, size.servers)))
    counts[f"synthetic web, {size.servers} servers"] = Counter(web.keep_alive_limit.tolist())
    notes = ["Between 1 and 100 the paper's shares add up to 10%; its text gives no finer figure."]
    if plan.real is not None:
        drawn, measured, silent = _crawled(plan.real, plan.seed)
        counts[f"emulated web, {plan.real.servers} servers, as drawn"] = drawn
        counts["the same, as its log shows after a crawl"] = measured
        notes.append(
            f"Measured: requests on a connection when the server closed it; {silent} of"
            f" {plan.real.servers} servers never closed one."
        )
    table: list[Row] = [PAPER_ROW]
    table += [{"servers": name, **_shares(counter)} for name, counter in counts.items()]
    data: list[Row] = [
        {"servers": name, "requests_per_connection": requests, "count": count, "share": count / counter.total()}
        for name, counter in counts.items()
        for requests, count in sorted(counter.items())
    ]
    plot = line_plot(
        {name: _cumulative(counter) for name, counter in counts.items()},
        ("requests per connection", "share of the servers, cumulative"),
        "-",
    )
    title = "Figure 3: requests per connection, share of the servers"
    return Result("fig3", title, table, notes, {"fig3": data}, {"fig3": plot})


def _crawled(size: Size, seed: int) -> tuple[Counter[int], Counter[int], int]:
    """Limits as drawn, limits as measured, and the number of servers whose limit was not reached."""
    spec = WebSpec(servers=size.servers, pages=PAGES_PER_SERVER * size.servers, seed=seed, time_scale=TIME_SCALE)
    run = crawl("breadth-first", spec, Conditions(size.sessions))
    measured = limits(run.records)
    return (
        Counter(server.keep_alive_limit for server in run.web.servers),
        Counter(measured.values()),
        size.servers - len(measured),
    )


def limits(records: Iterable[Record]) -> dict[str, int]:
    """Server -> number of requests on a connection when the server closed it. O(records).

    >>> from testbed.web import Record
    >>> limits([Record("close", "127.1.0.1", 1, 7, 0.0, 0.0, 0, 0, "", "", "limit")])
    {'127.1.0.1': 7}
    """
    closed = (each for each in records if each.kind == "close" and each.note in ("limit", "silent"))
    return {each.server: each.number for each in closed}


def _shares(counter: Counter[int]) -> Row:
    total = counter.total()
    return {
        label: sum(count for requests, count in counter.items() if low <= requests < high) / total
        for label, (low, high) in CLASSES.items()
    }


def _cumulative(counter: Counter[int]) -> tuple[list[float], list[float]]:
    """The corners of the step function."""
    x, y, reached = [0.0], [0.0], 0.0
    for requests, count in sorted(counter.items()):
        x += [requests, requests]
        y += [reached, reached := reached + count / counter.total()]
    return x, y
