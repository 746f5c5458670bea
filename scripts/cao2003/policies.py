"""Figures 6 and 7: the paper's four policies and ``prefix``: pages and quality over time, quality over pages."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from crawlproject.frontier import POLICIES
from crawlproject.simulation.crawl import CrawlOptions
from crawlproject.simulation.experiment import Experiment, run
from crawlproject.simulation.metrics import SAMPLES, Curve
from crawlproject.simulation.report import CurveSet, curves
from crawlproject.simulation.synthetic import SyntheticSpec
from testbed.crawl import Conditions, crawl
from testbed.web import WebSpec

from .figure import Result, Row, line_plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .figure import Plan, Size

BREADTH_FIRST = "breadth-first"
NUMBERS = {"pagerank": 6, "zipf": 7}
NOTES = [
    "T is the full time of breadth-first on the same web. Lead: pages more than breadth-first's by then.",
    "work: no server takes much longer than the others; tail: sizes follow Zipf, and one slow server decides T.",
]


@dataclass(frozen=True)
class Crawled:
    """The results of the crawls of one web, by policy."""

    pages: int
    curves: dict[str, Curve]

    @property
    def unit(self) -> float:
        """T, in seconds."""
        return float(self.curves[BREADTH_FIRST].times[-1])


def figure(quality: str, plan: Plan) -> Result:
    """Simulated crawls of work-bound and tail-bound webs, and real ones if the plan includes them."""
    name = f"fig{NUMBERS[quality]}"
    table: list[Row] = []
    data: list[Row] = []
    plots: dict[str, Figure] = {}
    for kind in ("work", "tail"):
        crawled, drawn = _simulated(quality, kind, plan)
        table += _rows(f"simulated, {kind}", crawled)
        data += _points(f"simulated, {kind}", drawn)
        plots |= _plots(f"{name}-{kind}", drawn, quality)
    notes = list(NOTES)
    if plan.real is not None:
        real = _real(quality, plan.real, plan.seed)
        drawn = _curve_set(real)
        table += _rows("real", [real])
        data += _points("real", drawn)
        plots |= _plots(f"{name}-real", drawn, quality)
        size = plan.real
        notes.append(
            f"Real: {size.servers} servers, {size.pages:,} pages, {size.sessions} connections; T = {real.unit:.1f} s."
        )
    title = f"Figure {NUMBERS[quality]}: policies with {quality} quality"
    return Result(name, title, table, notes, {name: data, f"{name}-table": table}, plots)


def _plots(name: str, drawn: CurveSet, quality: str) -> dict[str, Figure]:
    time, pages, worth = "time, in full times of breadth-first", "share of the pages", f"share of the {quality}"
    shares = np.linspace(0, 1, SAMPLES + 1)
    found = {
        "pages-over-time": (drawn.times, drawn.pages, (time, pages)),
        "quality-over-time": (drawn.times, drawn.quality, (time, worth)),
        "quality-over-pages": (shares, drawn.by_pages, (pages, worth)),
    }
    return {
        f"{name}-{plot}": line_plot({policy: (x, y) for policy, y in lines.items()}, labels, "-")
        for plot, (x, lines, labels) in found.items()
    }


def _simulated(quality: str, kind: str, plan: Plan) -> tuple[list[Crawled], CurveSet]:
    size = plan.simulated
    count = min(5, size.servers)
    webs = tuple(
        SyntheticSpec(size.servers, size.pages, seed, tail=kind == "tail", seed_count=count)
        for seed in range(plan.seed, plan.seed + plan.webs)
    )
    trials = run(Experiment(webs, (quality,), tuple(POLICIES), options=CrawlOptions(size.sessions)), plan.jobs)
    crawled = [
        Crawled(
            size.pages,
            {trial.policy: trial.outcome.curve for trial in trials if trial.web == web},
        )
        for web in webs
    ]
    return crawled, curves(trials)


def _real(quality: str, size: Size, seed: int) -> Crawled:
    spec = WebSpec(servers=size.servers, pages=size.pages, seed=seed, quality=quality)
    found = {}
    for policy in POLICIES:
        done = crawl(policy, spec, Conditions(size.sessions))
        times, shares = zip(*done.curve, strict=True)
        found[policy] = Curve(np.array(times), np.array(shares))
        print(f"# {quality}, {policy}: {done.seconds:.1f} s, CPU {done.cpu.share:.0%}", file=sys.stderr, flush=True)
    return Crawled(size.pages, found)


def _curve_set(crawled: Crawled) -> CurveSet:
    """Evenly sampled curves, like those of simulated crawls."""
    unit = crawled.unit
    times = np.linspace(0, max(curve.times[-1] for curve in crawled.curves.values()) / unit, SAMPLES + 1)
    evenly = np.round(np.linspace(0, crawled.pages, SAMPLES + 1)).astype(np.int64)
    counts = {policy: curve.counts(times * unit) for policy, curve in crawled.curves.items()}
    return CurveSet(
        times,
        {policy: count / crawled.pages for policy, count in counts.items()},
        {policy: crawled.curves[policy].shares_of_first(count) for policy, count in counts.items()},
        {policy: curve.shares_of_first(evenly) for policy, curve in crawled.curves.items()},
    )


def _rows(kind: str, crawled: list[Crawled]) -> list[Row]:
    """A row for each policy: means over the webs."""
    result = []
    for policy in crawled[0].curves:
        rows = [_row(web, policy) for web in crawled]
        means = {column: fmean(row[column] for row in rows) for column in rows[0]}
        result.append({"crawl": kind, "policy": policy} | means)
    return result


def _row(web: Crawled, policy: str) -> dict[str, float]:
    curve, unit = web.curves[policy], web.unit
    quarter, half = web.unit / 4, web.unit / 2
    pages = curve.counts(np.array([quarter, half]))
    first = web.curves[BREADTH_FIRST].counts(np.array([quarter, half]))
    return {
        "lead at T/4": float(pages[0] / first[0] - 1),
        "lead at T/2": float(pages[1] / first[1] - 1),
        "pages at T/2": float(pages[1] / web.pages),
        "quality at .3 T": curve.at(0.3 * unit),
        "at T/3": curve.at(unit / 3),
        "at T/2": curve.at(half),
        "80% by (T)": curve.time_of(0.8) / unit,
        "quality of first half of pages": float(curve.shares_of_first(np.array([web.pages // 2]))[0]),
    }


def _points(kind: str, drawn: CurveSet) -> list[Row]:
    page_shares = np.linspace(0, 1, SAMPLES + 1).tolist()
    result: list[Row] = []
    for policy, pages in drawn.pages.items():
        columns = (drawn.times, pages, drawn.quality[policy], page_shares, drawn.by_pages[policy])
        names = ("time", "pages", "quality", "page_share", "quality_of_first_pages")
        points = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
        result += [{"crawl": kind, "policy": policy} | dict(zip(names, values, strict=True)) for values in points]
    return result
