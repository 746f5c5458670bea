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
    """What a figure shows. The table's columns are those of its rows."""

    name: str
    title: str
    table: list[Row]
    notes: list[str]
    #: File name without its ending -> rows.
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
    """Write the CSV files and plots into ``folder``; their paths."""
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
    """A bar for each of ``names``, made up of ``parts``."""
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
    #: Of real crawls; None: none are made.
    real: Size | None = None
    #: The first seed, and how many synthetic webs.
    seed: int = 1
    webs: int = 1
    #: Connections at a time of figure 4.
    connections: tuple[int, ...] = (8, 16, 32, 64, 96, 128)
    #: How long a real crawl of figures 4 and 5 runs.
    seconds: int = 15
    #: Processes for simulated crawls; real ones are made one by one.
    jobs: int = 1
