"""Reports the results of an experiment as a text table and as a CSV file.

``table.csv``    a row for each crawl: ``metrics.score``, and T in seconds
``budgets.csv``  of crawls with limits: a row for each, instead
"""

from __future__ import annotations

import csv
from math import isnan, nan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

from crawlproject.simulation.graph import GraphSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from crawlproject.simulation.metrics import Trial, WebSpec

Row: TypeAlias = dict[str, str | float]

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
    "of bound": ("of bound", 10, 3),
    "seconds": ("seconds", 10, 1),
    "pages": ("pages", 9, 0),
    "MB": ("MB", 9, 1),
}


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
    """A row for each trial, and one for each web and quality: what any schedule can gather, at most."""
    result: list[Row] = []
    for trial in trials:
        outcome = trial.outcome
        row = _budget_row(trial, trial.policy, outcome.gathered)
        row |= {"seconds": outcome.full_time, "pages": len(outcome.curve.shares), "MB": outcome.size / 1e6}
        result.append(row)
    grounds = {(trial.web, trial.quality): trial for trial in trials}.values()
    return result + [_budget_row(trial, "bound", trial.ground.most_within) for trial in grounds]


def _budget_row(trial: Trial, policy: str, gathered: float) -> Row:
    row = _head(trial, policy) | {"gathered": gathered, "of bound": gathered / trial.ground.most_within}
    return row | {"seconds": nan, "pages": nan, "MB": nan}


def _web_line(trial: Trial) -> str:
    ground = trial.ground
    return (
        f"web {web_kind(trial.web)}, seed {trial.web.seed}: {ground.servers:,} servers, {ground.pages:,} pages"
        f" ({ground.collectable:,} can be fetched), {ground.links:,} links; T = {trial.reference.unit:,.1f} s,"
        f" the slowest server alone takes {ground.longest_chain:,.1f} s of {ground.work:,.1f} s in all"
    )


def write(trials: Sequence[Trial], folder: Path) -> Path:
    """Write the rows of the table into a CSV file in ``folder``, nan as an empty cell; returns its path."""
    name, lines = ("budgets.csv", _budget_rows(trials)) if _has_limits(trials) else ("table.csv", rows(trials))
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]))
        writer.writeheader()
        writer.writerows({column: _written(value) for column, value in line.items()} for line in lines)
    return folder / name


def _written(value: str | float) -> str:
    if isinstance(value, float):
        return "" if isnan(value) else f"{value:.6g}"
    return str(value)
