"""Figure 5: the use of the crawler's CPU time, on 20 fast servers.

As in the paper: servers that answer within 100 ms and allow 100 requests per connection; throughput and the
crawling thread's time by number of connections. In addition: the share of each part of the program.
"""

from __future__ import annotations

import pstats
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from testbed.crawl import ROOT, Conditions, crawl, crawl_command
from testbed.web import WebSpec, running_web

from .figure import Result, Row, stacked_plot

if TYPE_CHECKING:
    from .figure import Plan

SERVERS = 20
PAGES_PER_SECOND = 700  # more than the crawler can do
CONNECTIONS = (1, 2, 4, 8, 12, 16, 20)
PROFILED_PAGES = 2000
#: Cost of a call to the profiler is spread over all parts, more on those of many small functions.
NOTES = [
    "Time of the crawling thread; waiting for a CPU used by others is shown separately, idle is the rest.",
    "Parts: share of the time measured by the profiler (cProfile) outside poll(); the time of libraries belongs to the"
    " part that called them.",
]


#: (file, line, name), as in ``pstats``.
Function: TypeAlias = tuple[str, int, str]

SCHEDULING, DOWNLOAD, PARSE, SEEN, REST = "scheduling", "download", "parse and links", "canonical and seen", "rest"
#: Part of a path -> part of the program; the first that fits. Other files belong to whoever calls them.
PARTS = (
    ("crawlproject/urls/extract", PARSE),
    ("crawlproject/urls/parse_budget", PARSE),
    ("crawlproject/spiders/", PARSE),
    ("scrapy/http/response/", PARSE),
    ("selectolax", PARSE),
    ("crawlproject/urls/", SEEN),
    ("crawlproject/seen/", SEEN),
    ("crawlproject/discovery/page_reading", PARSE),
    ("crawlproject/discovery/", SEEN),
    ("crawlproject/dupefilter", SEEN),
    ("crawlproject/frontier/", SCHEDULING),
    ("crawlproject/scheduler", SCHEDULING),
    ("crawlproject/engine", SCHEDULING),
    ("crawlproject/requests/", SCHEDULING),
    ("crawlproject/download/", DOWNLOAD),
    ("scrapy/core/downloader/handlers", DOWNLOAD),
    ("/aiohttp/", DOWNLOAD),
    ("/yarl/", DOWNLOAD),
    ("/asyncio/", DOWNLOAD),
    ("crawlproject/", REST),
    ("/scrapy/", REST),
    ("/twisted/", REST),
)
WAITING = ("poll", "select", "acquire")  # built-in functions that wait without using the CPU
ROUNDS = 40  # of passing a function's time on to its callers; deeper chains lose a negligible amount


def profiled_crawl(spec: WebSpec) -> dict[str, float]:
    """Crawl the web of ``spec`` under the profiler; seconds by part. Start-up is not counted."""
    with tempfile.TemporaryDirectory() as folder, running_web(spec) as web:
        file = Path(folder) / "profile"
        settings = {"FRONTIER_DELAY_FACTOR": 0, "FRONTIER_MIN_DELAY": 0, "LOG_LEVEL": "WARNING"}
        python, *command = crawl_command(web.seeds, settings | {"ALLOWED_NETWORKS": "127.0.0.0/8"})
        subprocess.run([python, "-m", "cProfile", "-o", file, *command], cwd=ROOT, check=True)
        stats: dict[Function, tuple[int, int, float, float, dict[Function, tuple[int, int, float, float]]]]
        stats = pstats.Stats(str(file)).stats  # type: ignore[attr-defined]
    own = {function: entry[2] for function, entry in stats.items() if not _waits(function)}
    callers = {
        function: {caller: numbers[2] for caller, numbers in entry[4].items()} for function, entry in stats.items()
    }
    return by_part(own, callers)


def part_of(function: Function) -> str | None:
    """The part of the program that a function belongs to; None: its caller's.

    >>> part_of(("/x/site-packages/aiohttp/client.py", 1, "request"))
    'download'
    """
    path = function[0].replace("\\", "/")
    return next((part for fragment, part in PARTS if fragment in path), None)


def by_part(own: dict[Function, float], callers: dict[Function, dict[Function, float]]) -> dict[str, float]:
    """Seconds by part: functions without a part pass their time on to their callers, in proportion to each one's share.

    Start-up code (imports) has no caller with a part and is dropped.  O(ROUNDS x calls).
    """
    parts: defaultdict[str, float] = defaultdict(float)
    pending = dict(own)
    for _ in range(ROUNDS):
        handed_on: defaultdict[Function, float] = defaultdict(float)
        for function, seconds in pending.items():
            part = part_of(function)
            if part is not None:
                parts[part] += seconds
                continue
            causes = {caller: share for caller, share in callers.get(function, {}).items() if caller != function}
            total = sum(causes.values())
            for caller, share in causes.items():
                handed_on[caller] += seconds * (share / total if total else 1 / len(causes))
        pending = handed_on
    return dict(parts)


def _waits(function: Function) -> bool:
    return function[0] == "~" and any(f"'{name}'" in function[2] for name in WAITING)


def figure(plan: Plan) -> Result:
    """Uses real crawls only."""
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
    """One crawl, stopped after the plan's seconds."""
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
