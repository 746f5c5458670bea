"""Figure 5: the use of the crawler's CPU time, on 20 fast servers.

As in the paper: servers that answer within 100 ms and allow 100 requests per connection; throughput and the
crawling thread's time by number of connections.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from testbed.crawl import Conditions, crawl
from testbed.web import WebSpec

from .figure import Result, Row, stacked_plot

if TYPE_CHECKING:
    from .figure import Plan

SERVERS = 20
PAGES_PER_SECOND = 700  # more than the crawler can do
CONNECTIONS = (1, 2, 4, 8, 12, 16, 20)
NOTES = ["Time of the crawling thread; waiting for a CPU used by others is shown separately, idle is the rest."]


def figure(plan: Plan) -> Result:
    """Uses real crawls only."""
    data = [_point(connections, plan) for connections in CONNECTIONS]
    names = [str(row["connections"]) for row in data]
    kinds = ("user", "system", "waiting for a CPU", "idle")
    plot = stacked_plot(
        names, {kind: [float(row[kind]) for row in data] for kind in kinds}, ("connections", "share of the time")
    )
    title = "Figure 5: throughput and time of the crawling thread on 20 fast servers"
    return Result("fig5", title, data, NOTES, {"fig5": data}, {"fig5": plot})


def _spec(plan: Plan) -> WebSpec:
    return WebSpec(
        servers=SERVERS,
        pages=PAGES_PER_SECOND * plan.seconds,
        seed=plan.seed,
        seed_count=SERVERS,
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
    """One crawl, stopped after the plan's seconds."""
    run = crawl(
        "breadth-first",
        _spec(plan),
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
