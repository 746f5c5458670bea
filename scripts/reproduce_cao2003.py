#!/usr/bin/env python3
"""Reproduces the figures of Cao 2003 with this project: a markdown table for each and, with --output, a CSV file.

    scripts/reproduce_cao2003.py [--figures 3,4,5,6,7] [--real] [--output DIR] [--webs 8] [--jobs 2]

3  requests per connection: how servers differ
4  pages per second by protocol (HTTP/1.0, HTTP/1.1) and number of connections
5  where the crawler's CPU time goes (real crawls only)
6  the paper's four policies and prefix, with PageRank as page quality
7  the same with Zipf quality

Crawls are simulated; --real adds real ones of the emulated web, over loopback, in real time: about 15 minutes for all
figures.  Do not run other work meanwhile: two cores serve both the crawl and its web.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlproject.frontier import POLICIES
from crawlproject.simulation.crawl import CrawlOptions, simulate
from crawlproject.simulation.experiment import COMPARED, Experiment, KnownWorth, in_parallel, run
from crawlproject.simulation.metrics import Curve
from crawlproject.simulation.synthetic import SyntheticSpec, build
from testbed.bench import command_line
from testbed.crawl import crawl_web
from testbed.web import WebSpec

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Sequence

    from testbed.web import Record

Row: TypeAlias = "dict[str, str | float]"


class Figure(NamedTuple):
    """``table`` is printed; ``data`` are the rows of the CSV file. All rows of each have the same keys."""

    title: str
    table: list[Row]
    notes: list[str]
    data: list[Row]


# Figure 3

PAGES_PER_SERVER = 200  # so that the smallest server can show a limit of 100
#: Label -> from, to (exclusive).
CLASSES = {"1": (1, 2), "2 to 50": (2, 51), "51 to 99": (51, 100), "100": (100, 1 << 30)}
PAPER: Row = {"servers": "paper (Stanford, 500 servers)", "1": 0.24, "2 to 50": "", "51 to 99": "", "100": 0.66}


def requests_per_connection(args: Namespace) -> Figure:
    """Shares of the servers by requests per connection: as drawn, and as a crawl observes them."""
    web = build(synthetic(args, args.seed))
    counts = {f"synthetic web, {args.servers} servers": Counter(web.keep_alive_limit.tolist())}
    notes = ["Between 1 and 100 the paper's shares add up to 10%; its text gives no finer figure."]
    if args.real:
        servers = args.real_servers
        # times are irrelevant here
        spec = WebSpec(servers=servers, pages=PAGES_PER_SERVER * servers, seed=args.seed, time_scale=0.1)
        crawled = crawl_web("breadth-first", spec, args.real_sessions)
        measured = limits(crawled.records)
        counts[f"emulated web, {servers} servers, as drawn"] = Counter(s.keep_alive_limit for s in crawled.web.servers)
        counts["the same, as its log shows after a crawl"] = Counter(measured.values())
        notes.append(
            "Measured: requests on a connection when the server closed it;"
            f" {servers - len(measured)} of {servers} servers never closed one."
        )
    table, data = [PAPER], []
    for name, counter in counts.items():
        total = counter.total()
        shares: Row = {
            label: sum(number for requests, number in counter.items() if low <= requests < high) / total
            for label, (low, high) in CLASSES.items()
        }
        table.append({"servers": name} | shares)
        data += [
            {"servers": name, "requests_per_connection": requests, "count": number, "share": number / total}
            for requests, number in sorted(counter.items())
        ]
    return Figure("Figure 3: requests per connection, share of the servers", table, notes, data)


def limits(records: Iterable[Record]) -> dict[str, int]:
    """Server -> number of requests on a connection when the server closed it. O(records).

    >>> from testbed.web import Record
    >>> limits([Record("close", "127.1.0.1", 1, 7, 0.0, 0.0, 0, 0, "", "", "limit")])
    {'127.1.0.1': 7}
    """
    closed = (each for each in records if each.kind == "close" and each.note in ("limit", "silent"))
    return {each.server: each.number for each in closed}


# Figure 4

PROTOCOLS = ("HTTP/1.0", "HTTP/1.1")
#: Servers and pages of the emulated web: more servers than connections, more pages than a crawl fetches in the time.
REAL_WEB = (250, 10_000)
TIME_SCALE = 3.0  # slow enough for the crawler's CPU to keep up with 128 connections


class Point(NamedTuple):
    """A simulated crawl."""

    spec: SyntheticSpec
    policy: str
    protocol: str
    connections: int


def throughput(args: Namespace) -> Figure:
    """Pages per second; HTTP/1.0: one request per connection, HTTP/1.1: each server has its own limit."""
    spec, numbers = synthetic(args, args.seed), list(map(int, args.connections.split(",")))
    points = [
        Point(spec, policy, protocol, number)
        for policy in ("breadth-first", "performance")
        for protocol in PROTOCOLS
        for number in numbers
    ]
    found = in_parallel(_rate, points, args.jobs)
    rates = {("simulated", *point[1:]): rate for point, rate in zip(points, found, strict=True)}
    if args.real:
        for protocol in PROTOCOLS:
            for number in numbers:
                rates["real", "breadth-first", protocol, number] = _real_rate(protocol, number, args)
    heads = ("crawl", "policy", "protocol")
    table: list[Row] = []
    for crawl, policy in dict.fromkeys(key[:2] for key in rates):
        old, new = ({str(n): rates[crawl, policy, protocol, n] for n in numbers} for protocol in PROTOCOLS)
        ratios = {number: new[number] / old[number] for number in old}
        for name, values in zip((*PROTOCOLS, "1.1 over 1.0"), (old, new, ratios), strict=True):
            table.append({**dict(zip(heads, (crawl, policy, name), strict=True)), **values})
    data: list[Row] = [
        dict(zip((*heads, "connections", "pages_per_second"), (*key, rate), strict=True)) for key, rate in rates.items()
    ]
    notes = [
        "Simulated: pages per second until half of the pages are fetched. Real: over the first seconds of a crawl that"
        " starts on all servers, without robots.txt.",
        "Pipelining, the paper's third mode, is not supported by this project's HTTP client.",
    ]
    return Figure("Figure 4: pages per second by protocol and connections", table, notes, data)


def _rate(point: Point) -> float:
    web = build(point.spec)
    if point.protocol == "HTTP/1.0":
        web = replace(web, keep_alive_limit=np.ones(web.servers, dtype=np.int64))
    done = simulate(web, POLICIES[point.policy](), KnownWorth(web), CrawlOptions(point.connections))
    half = len(done.ended) // 2
    return half / float(done.ended[half - 1])


def _real_rate(protocol: str, connections: int, args: Namespace) -> float:
    servers, pages = REAL_WEB
    limit = 1 if protocol == "HTTP/1.0" else 0
    spec = WebSpec(servers=servers, pages=pages, seed=args.seed, time_scale=TIME_SCALE, keep_alive_limit=limit)
    spec = replace(spec, seed_count=servers)  # so that connections have servers from the start
    done = crawl_web("breadth-first", spec, connections, CLOSESPIDER_TIMEOUT=args.seconds, ROBOTSTXT_OBEY=False)
    seconds = min(float(args.seconds), done.seconds)  # without requests in progress at the stop
    found = sum(time <= seconds for time, _ in done.curve)
    print(f"# {protocol}, {connections} connections: {found} pages", file=sys.stderr, flush=True)
    return found / seconds if found else 0.0


# Figure 5

#: As in the paper: servers that answer within 100 ms and allow 100 requests per connection.
FAST = WebSpec(
    servers=20,
    seed_count=20,
    keep_alive_limit=100,
    response_median=0.03,
    response_sigma_servers=0.4,
    response_sigma_pages=0.4,
    response_max=0.1,
    connect_median=0.03,
    connect_sigma=0.4,
    size_exponent=0.0,
)
PAGES_PER_SECOND = 700  # more than the crawler can do


def cpu_time(args: Namespace) -> Figure:
    """Throughput, and the use of the crawling process's time, on 20 fast servers by number of connections."""
    data: list[Row] = []
    for connections in (1, 2, 4, 8, 12, 16, 20) if args.real else ():
        spec = replace(FAST, pages=PAGES_PER_SECOND * args.seconds, seed=args.seed)
        done = crawl_web("breadth-first", spec, connections, CLOSESPIDER_TIMEOUT=args.seconds)
        uses = {kind: done.stats[f"bench/{kind}"] / done.stats["bench/wall"] for kind in ("user", "system", "queued")}
        print(f"# {connections} connections: {len(done.curve)} pages", file=sys.stderr, flush=True)
        data.append(
            {
                "connections": connections,
                "pages/s": len(done.curve) / done.seconds,
                "Mbit/s": 8e-6 * sum(each.size for each in done.records) / done.seconds,
                **uses,
                "idle": max(0.0, 1 - sum(uses.values())),
                "CPU ms/page": 1e3 * done.stats["bench/cpu"] / len(done.curve),
            }
        )
    note = "Queued: waiting for a CPU that others use." if args.real else "Real crawls only: give --real."
    return Figure("Figure 5: throughput and CPU time of a crawl of 20 fast servers", data, [note], data)


# Figures 6 and 7

FIRST = "breadth-first"
SAMPLES = 200


class Crawled(NamedTuple):
    """The crawls of one web, by policy; ``unit``: T, the full time of breadth-first in seconds."""

    curves: dict[str, Curve]

    @property
    def unit(self) -> float:
        return float(self.curves[FIRST].times[-1])


def policies(quality: str, args: Namespace) -> Figure:
    """Pages and quality over time, of simulated webs bound by work and by their slowest server, and of a real one."""
    kinds = {f"simulated, {kind}": _simulated(quality, kind, args) for kind in ("work", "tail")}
    notes = [
        "T is the full time of breadth-first on the same web. Lead: pages more than breadth-first's by then.",
        "work: no server takes much longer than the others; tail: sizes follow Zipf, and one slow server decides T.",
    ]
    if args.real:
        kinds["real"] = [_real(quality, args)]
        notes.append(
            f"Real: {args.real_servers} servers, {args.real_pages:,} pages, {args.real_sessions} connections;"
            f" T = {kinds['real'][0].unit:.1f} s."
        )
    table: list[Row] = []
    data: list[Row] = []
    for kind, webs in kinds.items():
        for policy in webs[0].curves:
            head: Row = {"crawl": kind, "policy": policy}
            rows = [_milestones(web, policy) for web in webs]
            table.append(head | {column: fmean(row[column] for row in rows) for column in rows[0]})
            data += [head | row for row in _samples(webs, policy)]
    return Figure(f"Figure {6 if quality == 'pagerank' else 7}: policies with {quality} quality", table, notes, data)


def _simulated(quality: str, kind: str, args: Namespace) -> list[Crawled]:
    specs = tuple(
        replace(synthetic(args, seed), tail=kind == "tail") for seed in range(args.seed, args.seed + args.webs)
    )
    trials = run(Experiment(specs, (quality,), COMPARED, CrawlOptions(args.sessions)), args.jobs)
    return [Crawled({trial.policy: trial.outcome.curve for trial in trials if trial.web == spec}) for spec in specs]


def _real(quality: str, args: Namespace) -> Crawled:
    spec = WebSpec(servers=args.real_servers, pages=args.real_pages, seed=args.seed, quality=quality)
    found = {}
    for policy in COMPARED:
        done = crawl_web(policy, spec, args.real_sessions)
        times, shares = zip(*done.curve, strict=True)
        found[policy] = Curve(np.array(times), np.array(shares))
        print(f"# {quality}, {policy}: {done.seconds:.1f} s", file=sys.stderr, flush=True)
    return Crawled(found)


def _milestones(web: Crawled, policy: str) -> dict[str, float]:
    curve, unit = web.curves[policy], web.unit
    whole = len(curve.times)
    moments = np.array([unit / 4, unit / 2])
    pages, first = (web.curves[each].counts(moments) for each in (policy, FIRST))
    return {
        "lead at T/4": float(pages[0] / first[0] - 1),
        "lead at T/2": float(pages[1] / first[1] - 1),
        "pages at T/2": float(pages[1] / whole),
        "quality at .3 T": curve.at(0.3 * unit),
        "at T/3": curve.at(unit / 3),
        "at T/2": curve.at(unit / 2),
        "80% by (T)": curve.time_of(0.8) / unit,
        "quality of first half of pages": float(curve.shares_of_first(np.array([whole // 2]))[0]),
    }


def _samples(webs: list[Crawled], policy: str) -> list[Row]:
    """Shares of the pages and of the quality at regular times up to the end of the longest crawl, in T; means."""
    longest = max(curve.times[-1] / web.unit for web in webs for curve in web.curves.values())
    times = np.linspace(0, longest, SAMPLES + 1)
    found = [(web.curves[policy], web.curves[policy].counts(times * web.unit)) for web in webs]
    pages = np.mean([counts / len(curve.times) for curve, counts in found], axis=0).tolist()
    quality = np.mean([curve.shares_of_first(counts) for curve, counts in found], axis=0).tolist()
    return [
        dict(zip(("time", "pages", "quality"), row, strict=True))
        for row in zip(times.tolist(), pages, quality, strict=True)
    ]


# The command

FIGURES: dict[str, Callable[[Namespace], Figure]] = {
    "3": requests_per_connection,
    "4": throughput,
    "5": cpu_time,
    "6": lambda args: policies("pagerank", args),
    "7": lambda args: policies("zipf", args),
}


def synthetic(args: Namespace, seed: int) -> SyntheticSpec:
    """A synthetic web of the size that the command line gives."""
    return SyntheticSpec(args.servers, args.pages, seed, seed_count=min(5, args.servers))


def markdown(figure: Figure) -> str:
    """Title, table and notes. Numbers below 10 with two decimals, below 100 with one."""
    lines = [f"## {figure.title}", ""]
    if figure.table:
        rows = [list(figure.table[0]), ["---"] * len(figure.table[0]), *(row.values() for row in figure.table)]
        lines += [f"| {' | '.join(map(_cell, row))} |" for row in rows] + [""]
    return "\n".join(lines + [f"{note}  " for note in figure.notes]).rstrip()


def _cell(value: str | float) -> str:
    if isinstance(value, str | int):
        return str(value)
    size = abs(value)
    return f"{value:.{2 if size < 9.995 else 1 if size < 99.95 else 0}f}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print each figure's table and write its file; 2 on bad arguments."""
    parser = command_line(
        __doc__,
        **{"figures": ",".join(FIGURES), "real": False, "output": "", "seed": 1, "webs": 1, "jobs": 1, "servers": 500},
        **{"pages": 30_000, "sessions": 64, "connections": "8,16,32,64,96,128", "real_servers": 120},
        **{"real_pages": 4000, "real_sessions": 16, "seconds": 15},
    )
    args = parser.parse_args(argv)
    chosen = args.figures.split(",")
    if unknown := set(chosen) - FIGURES.keys():
        print(f"--figures {args.figures}: no figure {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    for number in chosen:
        figure = FIGURES[number](args)
        print(markdown(figure), end="\n\n", flush=True)
        if args.output and figure.data:
            Path(args.output).mkdir(parents=True, exist_ok=True)
            with Path(args.output, f"fig{number}.csv").open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, figure.data[0])
                writer.writeheader()
                writer.writerows(figure.data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
