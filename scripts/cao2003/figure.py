"""The crawls of a figure, and its results: a markdown table, CSV files and plots."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from matplotlib.figure import Figure

from crawlproject.simulation.report import Row, write_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

#: Label -> (x, y) of its points.
Lines: TypeAlias = "Mapping[str, tuple[Sequence[float], Sequence[float]]]"


@dataclass(frozen=True)
class Result:
    """The contents of a figure. The table's columns are the keys of its rows."""

    name: str
    title: str
    table: list[Row]
    notes: list[str]
    #: File name without extension -> rows.
    data: dict[str, list[Row]]
    plots: dict[str, Figure] = field(default_factory=dict)


def markdown(result: Result) -> str:
    """Title, table and notes. Numbers below 10 with two decimals, below 100 with one."""
    columns = list(result.table[0])
    lines = [f"## {result.title}", "", _line(columns), _line(["---"] * len(columns))]
    lines += [_line([_cell(row[column]) for column in columns]) for row in result.table]
    lines += ["", *(f"{note}  " for note in result.notes)]
    return "\n".join(lines).rstrip()


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: str | float) -> str:
    if isinstance(value, str | int):
        return str(value)
    size = abs(value)
    return f"{value:.{2 if size < 9.995 else 1 if size < 99.95 else 0}f}"


def write(result: Result, folder: Path) -> list[Path]:
    """Write the CSV files and plots to ``folder``; returns their paths."""
    paths = []
    for name, rows in result.data.items():
        paths.append(folder / f"{name}.csv")
        write_rows(rows, paths[-1])
    for name, figure in result.plots.items():
        paths.append(folder / f"{name}.png")
        figure.savefig(paths[-1], dpi=120)
    return paths


def line_plot(lines: Lines, labels: tuple[str, str], style: str = "o-") -> Figure:
    """Lines with a legend; axes start at 0."""
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.add_subplot(xlabel=labels[0], ylabel=labels[1])
    for label, (x, y) in lines.items():
        axes.plot(x, y, style, label=label)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    return figure


def stacked_plot(names: Sequence[str], parts: Mapping[str, Sequence[float]], labels: tuple[str, str]) -> Figure:
    """A stacked bar for each of ``names``, composed of ``parts``."""
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.add_subplot(xlabel=labels[0], ylabel=labels[1])
    below = [0.0] * len(names)
    for label, heights in parts.items():
        axes.bar(names, heights, bottom=below, label=label)
        below = [low + height for low, height in zip(below, heights, strict=True)]
    figure.legend(loc="outside upper center", ncols=len(parts))
    return figure


@dataclass(frozen=True)
class Size:
    """A web and the connections of its crawl."""

    servers: int
    pages: int
    sessions: int


@dataclass(frozen=True)
class Plan:
    """The options of the command line."""

    simulated: Size = field(default_factory=lambda: Size(500, 30_000, 64))
    #: Size of real crawls; None: no real crawls.
    real: Size | None = None
    #: The first seed, and the number of synthetic webs.
    seed: int = 1
    webs: int = 1
    #: Numbers of concurrent connections in figure 4.
    connections: tuple[int, ...] = (8, 16, 32, 64, 96, 128)
    #: Duration of a real crawl in figures 4 and 5, seconds.
    seconds: int = 15
    #: Processes for simulated crawls; real crawls run one by one.
    jobs: int = 1
