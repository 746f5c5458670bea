"""Figure 5: what the crawler's CPU does, on 20 fast servers.

As in the paper: servers that answer within 100 ms and carry 100 requests per connection; throughput and the
crawling thread's time by number of connections. Besides: the parts of the program that this time goes to.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from testbed.crawl import Conditions, crawl
from testbed.web import WebSpec

from .output import Result, Row, stacked_plot
from .profile import profiled_crawl

if TYPE_CHECKING:
    from .plan import Plan

SERVERS = 20
PAGES_PER_SECOND = 700  # more than the crawler can do
CONNECTIONS = (1, 2, 4, 8, 12, 16, 20)
PROFILED_PAGES = 2000
#: Cost of a call to the profiler is spread over all parts, more on those of many small functions.
NOTES = [
    "Time of the crawling thread; waiting for a CPU that others use is counted as its own time, idle is the rest.",
    "Parts: share of the time that the profiler (cProfile) saw outside poll(); what libraries take belongs to the"
    " part that called them.",
]


def figure(plan: Plan) -> Result:
    """Real crawls only."""
    data = [_point(connections, plan) for connections in CONNECTIONS]
    parts = profiled_crawl(_spec(plan, PROFILED_PAGES, time_scale=0.0))
    total = sum(parts.values())
    shares: list[Row] = [
        {"part": part, "share": seconds / total, "ms_per_page": 1e3 * seconds / PROFILED_PAGES}
        for part, seconds in sorted(parts.items(), key=lambda item: -item[1])
    ]
    notes = [*NOTES, "Parts: " + ", ".join(f"{row['part']} {row['share']:.0%}" for row in shares) + "."]
    names = [str(row["connections"]) for row in data]
    kinds = ("user", "system", "waiting for a CPU", "idle")
    plots = {
        "fig5": stacked_plot(
            names, {kind: [float(row[kind]) for row in data] for kind in kinds}, ("connections", "share of the time")
        ),
        "fig5-parts": stacked_plot(
            [str(row["part"]) for row in shares],
            {"share of the CPU": [float(row["share"]) for row in shares]},
            ("part of the program", "share of the CPU"),
        ),
    }
    title = "Figure 5: throughput and time of the crawling thread on 20 fast servers"
    return Result("fig5", title, data, notes, {"fig5": data, "fig5-parts": shares}, plots)


def _spec(plan: Plan, pages: int, time_scale: float = 1.0) -> WebSpec:
    return WebSpec(
        servers=SERVERS,
        pages=pages,
        seed=plan.seed,
        seed_count=SERVERS,
        time_scale=time_scale,
        keep_alive_limit=100,
        response_median=0.03,
        response_sigma_servers=0.4,
        response_sigma_pages=0.4,
        response_max=0.1,
        connect_median=0.03,
        connect_sigma=0.4,
        size_exponent=0.0,
    )


def _point(connections: int, plan: Plan) -> Row:
    """One crawl, cut off after the plan's seconds."""
    run = crawl(
        "breadth-first",
        _spec(plan, PAGES_PER_SECOND * plan.seconds),
        Conditions(connections, timeout=plan.seconds),
    )
    cpu = run.cpu
    bits = 8 * sum(each.size for each in run.records)
    print(f"# {connections} connections: {len(run.curve)} pages", file=sys.stderr, flush=True)
    return {
        "connections": connections,
        "pages/s": len(run.curve) / run.seconds,
        "Mbit/s": bits / run.seconds / 1e6,
        "user": cpu.user / cpu.seconds,
        "system": cpu.system / cpu.seconds,
        "waiting for a CPU": cpu.queued / cpu.seconds,
        "idle": max(0.0, 1 - cpu.share),
        "CPU ms/page": 1e3 * (cpu.user + cpu.system) / len(run.curve),
    }
