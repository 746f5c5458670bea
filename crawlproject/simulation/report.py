"""Reports the results of an experiment as a text table and as CSV files.

``table.csv``    a row for each crawl: all of ``Score``, and times relative to breadth-first's and capacity's
``summary.csv``  the same as mean, minimum and maximum over the webs
``budgets.csv``  of crawls with limits: a row for each, instead of the first two
``curves.csv``   pages and quality collected, and the bounds of both, at regular intervals of each web's T
"""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import asdict, dataclass
from math import isnan, nan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from crawlproject.simulation.graph import GraphSpec
from crawlproject.simulation.metrics import SAMPLES, bound_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from crawlproject.simulation.trial import Trial, WebSpec
    from crawlproject.simulation.web import FloatArray

Row: TypeAlias = dict[str, str | float]

BOUND = "bound"
#: Printed columns: heading, column, aggregation over the webs, format.
COLUMNS: tuple[tuple[str, str, Callable[[list[float]], float], str], ...] = (
    ("q@10%", "q10", fmean, "5.3f"),
    ("q@20%", "q20", fmean, "5.3f"),
    ("q@30%", "q30", fmean, "5.3f"),
    ("q@50%", "q50", fmean, "5.3f"),
    ("t50", "t50", fmean, "5.3f"),
    ("t80", "t80", fmean, "5.3f"),
    ("t90", "t90", fmean, "5.3f"),
    ("nauc", "nauc", fmean, "5.3f"),
    ("worst", "nauc", min, "5.3f"),
    ("gap", "gap", fmean, "5.2f"),
    ("t80/bf", "t80_breadth_first", fmean, "6.2f"),
    ("t80/cap", "t80_capacity", fmean, "7.2f"),
    ("full", "full_time", fmean, "5.2f"),
    ("conns", "connections", fmean, "6.0f"),
    ("busy", "busy_share", fmean, "5.2f"),
)


#: Printed columns of crawls with limits: width and digits.
BUDGET_COLUMNS = {
    "quality": (9, 3),
    "of oracle": (11, 3),
    "of bound": (10, 3),
    "seconds": (10, 1),
    "pages": (9, 0),
    "MB": (9, 1),
}


@dataclass(frozen=True)
class CurveSet:
    """Curves of one web and quality, or their means over webs, by policy and for the bound.

    Values at 0 and at the end of each of ``SAMPLES`` equal parts of time or of pages.
    """

    #: In T, up to the end of the longest crawl.
    times: FloatArray
    #: Shares over time.
    pages: dict[str, FloatArray]
    quality: dict[str, FloatArray]
    #: Share of the quality over share of the pages.
    by_pages: dict[str, FloatArray]


def _has_limits(trials: Sequence[Trial]) -> bool:
    return not isnan(trials[0].ground.most_within)


def web_kind(web: WebSpec) -> str:
    """Common name of the webs that differ from this one only in the seed."""
    if isinstance(web, GraphSpec):
        return Path(web.path).name
    return "tail" if web.tail else "work"


def rows(trials: Iterable[Trial]) -> list[Row]:
    """A row for each trial; the unit T is in seconds."""
    result: list[Row] = []
    for trial in trials:
        row = _head(trial.web, trial.quality, trial.policy) | asdict(trial.score)
        row |= {"t80_breadth_first": trial.t80_breadth_first, "t80_capacity": trial.t80_capacity}
        result.append(row | {"unit": trial.reference.unit})
    return result


def _head(web: WebSpec, quality: str, policy: str) -> Row:
    return {"web": web_kind(web), "seed": web.seed, "quality": quality, "policy": policy}


def summary(trials: Sequence[Trial]) -> list[Row]:
    """Mean, minimum and maximum of each column over the webs, for each quality and policy."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for trial, row in zip(trials, rows(trials), strict=True):
        groups.setdefault((trial.quality, trial.policy), []).append(row)
    result: list[Row] = []
    for (quality, policy), group in groups.items():
        columns = [name for name, value in group[0].items() if name != "seed" and not isinstance(value, str)]
        for statistic, reduce in (("mean", fmean), ("min", min), ("max", max)):
            values = {name: _over_webs(reduce, [float(row[name]) for row in group]) for name in columns}
            result.append({"quality": quality, "policy": policy, "statistic": statistic, "webs": len(group), **values})
    return result


def _over_webs(reduce: Callable[[list[float]], float], values: list[float]) -> float:
    """nan if any value is nan: a mean of the rest would be too favourable."""
    return nan if any(isnan(value) for value in values) else reduce(values)


def text(trials: Sequence[Trial]) -> str:
    """The text to print: the webs, and for each quality a table of means over them."""
    lines = [_web_line(trial) for trial in {trial.web: trial for trial in trials}.values()]
    first = max(20, *(len(name) + 1 for trial in trials for name in (trial.policy, trial.quality)))
    if _has_limits(trials):
        return "\n".join(lines + _budget_lines(trials, first))
    for quality in dict.fromkeys(trial.quality for trial in trials):
        lines += ["", f"{quality:{first}}" + " ".join(f"{name:>{_width(form)}}" for name, _, _, form in COLUMNS)]
        for name in dict.fromkeys(trial.policy for trial in trials):
            group = rows(trial for trial in trials if (trial.quality, trial.policy) == (quality, name))
            cells = [_cell([float(row[column]) for row in group], reduce, form) for _, column, reduce, form in COLUMNS]
            lines.append(f"{name:{first}}" + " ".join(cells))
    return "\n".join(lines)


def _budget_lines(trials: Sequence[Trial], first: int) -> list[str]:
    """What each policy gathers within the limits, as means over the webs; ``oracle`` and ``bound`` beside them."""
    found = _budget_rows(trials)
    heads = "".join(f"{name:>{width}}" for name, (width, _) in BUDGET_COLUMNS.items())
    lines = []
    for quality in dict.fromkeys(trial.quality for trial in trials):
        lines += ["", f"{quality:{first}}{heads}"]
        for policy in dict.fromkeys(str(row["policy"]) for row in found):
            group = [row for row in found if (row["quality_of"], row["policy"]) == (quality, policy)]
            values = {name: fmean(float(row[name]) for row in group) for name in BUDGET_COLUMNS}
            cells = (
                f"{'-':>{width}}" if isnan(values[name]) else f"{values[name]:>{width},.{digits}f}"
                for name, (width, digits) in BUDGET_COLUMNS.items()
            )
            lines.append(f"{policy:{first}}" + "".join(cells))
    return lines


def _budget_rows(trials: Iterable[Trial]) -> list[Row]:
    """A row for each trial, and three for each web and quality: what the oracles and what any schedule can gather."""
    result: list[Row] = []
    grounds: dict[tuple[WebSpec, str], Trial] = {}
    for trial in trials:
        outcome, ground = trial.outcome, trial.ground
        grounds[trial.web, trial.quality] = trial
        pages, quality = len(outcome.curve.shares), outcome.gathered
        shares = quality / ground.oracle_within, quality / ground.most_within
        row = _budget_row(trial, trial.policy, quality, *shares)
        result.append(row | {"seconds": outcome.full_time, "pages": pages, "MB": outcome.size / 1e6})
    for trial in grounds.values():
        oracle, most, means = trial.ground.oracle_within, trial.ground.most_within, trial.ground.means_within
        result.append(_budget_row(trial, "oracle of means", means, means / oracle, means / most))
        result.append(_budget_row(trial, "oracle", oracle, 1.0, oracle / most))
        result.append(_budget_row(trial, BOUND, most, nan, 1.0))
    return result


def _budget_row(trial: Trial, policy: str, quality: float, of_oracle: float, of_bound: float) -> Row:
    row: Row = {"web": web_kind(trial.web), "seed": trial.web.seed, "quality_of": trial.quality, "policy": policy}
    row |= {"quality": quality, "of oracle": of_oracle, "of bound": of_bound}
    return row | {"seconds": nan, "pages": nan, "MB": nan}


def _width(form: str) -> int:
    return int(form.partition(".")[0])


def _cell(values: list[float], reduce: Callable[[list[float]], float], form: str) -> str:
    value = _over_webs(reduce, values)
    return "-".rjust(_width(form)) if isnan(value) else format(value, form)


def _web_line(trial: Trial) -> str:
    ground = trial.ground
    return (
        f"web {web_kind(trial.web)}, seed {trial.web.seed}: {ground.servers:,} servers, {ground.pages:,} pages"
        f" ({ground.collectable:,} can be fetched), {ground.links:,} links; T = {trial.reference.unit:,.1f} s,"
        f" the slowest server alone takes {ground.longest_chain:,.1f} s of {ground.work:,.1f} s in all"
    )


def curves(trials: Sequence[Trial]) -> CurveSet:
    """The curves of trials of one quality, as means over the webs. O(trials x SAMPLES log pages)."""
    end = max(trial.score.full_time for trial in trials)
    times = np.linspace(0, end, SAMPLES + 1)
    found: defaultdict[str, list[tuple[FloatArray, FloatArray, FloatArray]]] = defaultdict(list)
    for trial in trials:
        curve, ground = trial.outcome.curve, trial.ground
        counts = curve.counts(times * trial.reference.unit)
        evenly = np.round(np.linspace(0, ground.collectable, SAMPLES + 1)).astype(np.int64)
        by_pages = curve.shares_of_first(evenly)
        found[trial.policy].append((counts / ground.collectable, curve.shares_of_first(counts), by_pages))
    for trial in {trial.web: trial for trial in trials}.values():
        ground, seconds = trial.ground, times * trial.reference.unit
        quality = bound_shares(ground.bound, ground.total, seconds)
        found[BOUND].append((bound_shares(ground.page_bound, 1.0, seconds), quality, ground.best_first))
    means = {name: np.mean(each, axis=0) for name, each in found.items()}
    return CurveSet(times, *({name: mean[kind] for name, mean in means.items()} for kind in range(3)))


def write(trials: Sequence[Trial], folder: Path) -> list[Path]:
    """Write the CSV files into ``folder``; returns their paths."""
    files = {"budgets.csv": _budget_rows(trials)}
    if not _has_limits(trials):
        files = {"table.csv": rows(trials), "summary.csv": summary(trials)}
    files["curves.csv"] = _curve_rows(trials)
    for name, lines in files.items():
        write_rows(lines, folder / name)
    return [folder / name for name in files]


def write_rows(lines: Sequence[Row], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]))
        writer.writeheader()
        writer.writerows({column: _written(value) for column, value in line.items()} for line in lines)


def _written(value: str | float) -> str:
    if isinstance(value, float):
        return "" if isnan(value) else f"{value:.6g}"
    return str(value)


def _curve_rows(trials: Sequence[Trial]) -> list[Row]:
    result: list[Row] = []
    for web, quality in dict.fromkeys((trial.web, trial.quality) for trial in trials):
        of_web = [trial for trial in trials if (trial.web, trial.quality) == (web, quality)]
        drawn = curves(of_web)
        unit = of_web[0].reference.unit
        for policy, pages in drawn.pages.items():
            points = zip(drawn.times.tolist(), pages.tolist(), drawn.quality[policy].tolist(), strict=True)
            head = _head(web, quality, policy)
            result += [head | {"time": t, "seconds": t * unit, "pages": p, "collected": q} for t, p, q in points]
    return result
