"""Figure 4: pages per second by protocol and number of connections.

HTTP/1.0 means one request per connection on every server; with HTTP/1.1 each server has its own limit.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from crawlproject.frontier import POLICIES
from crawlproject.simulation.crawl import CrawlOptions, simulate
from crawlproject.simulation.experiment import KnownWorth, in_parallel
from crawlproject.simulation.synthetic import SyntheticSpec, build
from testbed.crawl import Conditions, crawl
from testbed.web import WebSpec

from .figure import Result, Row, line_plot

if TYPE_CHECKING:
    from crawlproject.simulation.web import SimulatedWeb

    from .figure import Plan

MODES = ("HTTP/1.0", "HTTP/1.1")
SIMULATED_POLICIES = ("breadth-first", "performance")
#: Servers and pages of the emulated web: more servers than connections, more pages than a crawl fetches in the time.
REAL_WEB = (250, 10_000)
TIME_SCALE = 3.0  # slow enough for the crawler's CPU to keep up with 128 connections
NOTES = [
    "Simulated: pages per second until half of the pages are fetched. Real: over the first seconds of a crawl that"
    " starts on all servers, without robots.txt.",
    "Pipelining, the paper's third mode, is not supported by this project's HTTP client, aiohttp.",
]


@dataclass(frozen=True)
class Point:
    """One crawl."""

    web: SyntheticSpec
    policy: str
    mode: str
    connections: int


def figure(plan: Plan) -> Result:
    """Throughput of simulated crawls, and of real ones if the plan includes them."""
    size = plan.simulated
    spec = SyntheticSpec(size.servers, size.pages, plan.seed, seed_count=min(5, size.servers))
    points = [
        Point(spec, policy, mode, connections)
        for policy in SIMULATED_POLICIES
        for mode in MODES
        for connections in plan.connections
    ]
    data = in_parallel(_simulated, points, plan.jobs)
    if plan.real is not None:
        for mode in MODES:
            data += [_real(mode, connections, plan) for connections in plan.connections]
    series: dict[tuple[str, str], dict[str, dict[int, float]]] = {}
    for row in data:
        rates = series.setdefault((str(row["crawl"]), str(row["policy"])), {}).setdefault(str(row["protocol"]), {})
        rates[int(row["connections"])] = float(row["pages_per_second"])
    table: list[Row] = []
    for (kind, policy), modes in series.items():
        for mode, rates in modes.items():
            table.append({"crawl": kind, "policy": policy, "protocol": mode, **_columns(rates)})
        ratios = {number: rate / modes["HTTP/1.0"][number] for number, rate in modes["HTTP/1.1"].items()}
        table.append({"crawl": kind, "policy": policy, "protocol": "1.1 over 1.0", **_columns(ratios)})
    lines = {
        f"{kind}, {policy}, {mode}": (list(rates), list(rates.values()))
        for (kind, policy), modes in series.items()
        for mode, rates in modes.items()
    }
    title = "Figure 4: pages per second by protocol and connections"
    plot = line_plot(lines, ("connections", "pages per second"))
    return Result("fig4", title, table, NOTES, {"fig4": data}, {"fig4": plot})


def _columns(values: dict[int, float]) -> Row:
    return {str(connections): value for connections, value in values.items()}


@lru_cache(maxsize=1)
def _web(spec: SyntheticSpec) -> SimulatedWeb:
    return build(spec)


def _simulated(point: Point) -> Row:
    web = _web(point.web)
    if point.mode == "HTTP/1.0":
        web = replace(web, keep_alive_limit=np.ones(web.servers, dtype=np.int64))
    done = simulate(web, POLICIES[point.policy](), KnownWorth(web), CrawlOptions(point.connections))
    half = len(done.ended) // 2
    return {
        "crawl": "simulated",
        "policy": point.policy,
        "protocol": point.mode,
        "connections": point.connections,
        "pages_per_second": half / float(done.ended[half - 1]),
        "seconds": float(done.ended[half - 1]),
        "cpu_share": "",
    }


def _real(mode: str, connections: int, plan: Plan) -> Row:
    servers, pages = REAL_WEB
    spec = WebSpec(
        servers=servers,
        pages=pages,
        seed=plan.seed,
        seed_count=servers,  # so that connections have servers from the start
        time_scale=TIME_SCALE,
        keep_alive_limit=1 if mode == "HTTP/1.0" else 0,
    )
    conditions = Conditions(connections, timeout=plan.seconds, settings={"ROBOTSTXT_OBEY": False})
    run = crawl("breadth-first", spec, conditions)
    seconds = min(float(plan.seconds), run.seconds)  # without requests in progress at the stop
    pages = sum(time <= seconds for time, _ in run.curve)
    print(f"# {mode}, {connections} connections: {pages} pages", file=sys.stderr, flush=True)
    return {
        "crawl": "real",
        "policy": run.policy,
        "protocol": mode,
        "connections": connections,
        "pages_per_second": pages / seconds if pages else 0.0,
        "seconds": seconds,
        "cpu_share": run.cpu.share,
    }
