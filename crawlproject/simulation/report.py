"""Reports the results of an experiment as a text table and as a CSV file.

``table.csv``    a row for each crawl: ``metrics.score``, and T in seconds
``budgets.csv``  of crawls with limits: a row for each, instead
"""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from crawlproject.simulation.graph import GraphSpec
from crawlproject.simulation.metrics import SAMPLES, bound_shares

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from crawlproject.simulation.metrics import Trial, WebSpec
    from crawlproject.simulation.web import FloatArray

Row: TypeAlias = dict[str, str | float]

BOUND = "bound"
#: Printed columns: heading -> column, width, digits.
COLUMNS = {
    "q@10%": ("q10", 6, 3),
    "q@20%": ("q20", 6, 3),
    "q@30%": ("q30", 6, 3),
    "q@50%": ("q50", 6, 3),
    "t50": ("t50", 6, 3),
    "t80": ("t80", 6, 3),
    "t90": ("t90", 6, 3),
    "nauc": ("nauc", 6, 3),
    "gap": ("gap", 6, 2),
    "t80/bf": ("t80_breadth_first", 7, 2),
    "full": ("full_time", 6, 2),
    "conns": ("connections", 7, 0),
}
#: The same of crawls with limits.
BUDGET_COLUMNS = {
    "quality": ("gathered", 9, 3),
    "of oracle": ("of oracle", 11, 3),
    "of bound": ("of bound", 10, 3),
    "seconds": ("seconds", 10, 1),
    "pages": ("pages", 9, 0),
    "MB": ("MB", 9, 1),
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


def _head(trial: Trial, policy: str) -> Row:
    return {"web": web_kind(trial.web), "seed": trial.web.seed, "quality": trial.quality, "policy": policy}


def rows(trials: Iterable[Trial]) -> list[Row]:
    """A row for each trial; the unit T is in seconds."""
    return [{**_head(trial, trial.policy), **trial.score, "unit": trial.reference.unit} for trial in trials]


def text(trials: Sequence[Trial]) -> str:
    """The text to print: the webs, and for each quality a table of means over them."""
    lines = [_web_line(trial) for trial in {trial.web: trial for trial in trials}.values()]
    has_limits = _has_limits(trials)
    found, columns = (_budget_rows(trials), BUDGET_COLUMNS) if has_limits else (rows(trials), COLUMNS)
    first = max(20, *(len(str(row[name])) + 1 for row in found for name in ("policy", "quality")))
    for quality in dict.fromkeys(row["quality"] for row in found):
        lines += ["", f"{quality:{first}}" + "".join(f"{name:>{width}}" for name, (_, width, _) in columns.items())]
        for policy in dict.fromkeys(row["policy"] for row in found):
            group = [row for row in found if (row["quality"], row["policy"]) == (quality, policy)]
            lines.append(f"{policy:{first}}" + _cells(group, columns))
    return "\n".join(lines)


def _cells(group: Sequence[Row], columns: Mapping[str, tuple[str, int, int]]) -> str:
    """Means over ``group``; a dash if any value is nan: a mean of the rest would be too favourable."""
    means = [(fmean(float(row[column]) for row in group), width, digits) for column, width, digits in columns.values()]
    return "".join(f"{'-':>{width}}" if isnan(mean) else f"{mean:>{width},.{digits}f}" for mean, width, digits in means)


def _budget_rows(trials: Sequence[Trial]) -> list[Row]:
    """A row for each trial, and two for each web and quality: what the oracle and what any schedule can gather."""
    result: list[Row] = []
    for trial in trials:
        outcome, ground, quality = trial.outcome, trial.ground, trial.outcome.gathered
        row = _budget_row(trial, trial.policy, quality, quality / ground.oracle_within)
        row |= {"seconds": outcome.full_time, "pages": len(outcome.curve.shares), "MB": outcome.size / 1e6}
        result.append(row)
    for trial in {(trial.web, trial.quality): trial for trial in trials}.values():
        result.append(_budget_row(trial, "oracle", trial.ground.oracle_within, 1.0))
        result.append(_budget_row(trial, BOUND, trial.ground.most_within, nan))
    return result


def _budget_row(trial: Trial, policy: str, gathered: float, of_oracle: float) -> Row:
    row = _head(trial, policy) | {"gathered": gathered, "of oracle": of_oracle}
    return row | {"of bound": gathered / trial.ground.most_within, "seconds": nan, "pages": nan, "MB": nan}


def _web_line(trial: Trial) -> str:
    ground = trial.ground
    return (
        f"web {web_kind(trial.web)}, seed {trial.web.seed}: {ground.servers:,} servers, {ground.pages:,} pages"
        f" ({ground.collectable:,} can be fetched), {ground.links:,} links; T = {trial.reference.unit:,.1f} s,"
        f" the slowest server alone takes {ground.longest_chain:,.1f} s of {ground.work:,.1f} s in all"
    )


def curves(trials: Sequence[Trial]) -> CurveSet:
    """The curves of trials of one quality, as means over the webs. O(trials x SAMPLES log pages)."""
    end = max(trial.score["full_time"] for trial in trials)
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


def write(trials: Sequence[Trial], folder: Path) -> Path:
    """Write the rows of the table into a CSV file in ``folder``; returns its path."""
    name, lines = ("budgets.csv", _budget_rows(trials)) if _has_limits(trials) else ("table.csv", rows(trials))
    write_rows(lines, folder / name)
    return folder / name


def write_rows(lines: Sequence[Row], path: Path) -> None:
    """Floats with six digits; nan is empty."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]))
        writer.writeheader()
        writer.writerows({name: _written(value) for name, value in line.items()} for line in lines)


def _written(value: str | float) -> str:
    if isinstance(value, float):
        return "" if isnan(value) else f"{value:.6g}"
    return str(value)
