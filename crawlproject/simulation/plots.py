"""Plots the curves of an experiment as PNG files: pages and quality over time, quality over pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from crawlproject.simulation.metrics import SAMPLES
from crawlproject.simulation.report import BOUND, CurveSet, curves

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from crawlproject.simulation.trial import Trial
    from crawlproject.simulation.web import FloatArray

TIME_LABEL = "time, in full times of breadth-first"


def write(trials: Sequence[Trial], folder: Path) -> list[Path]:
    """Write three plots for each quality, with means over the webs; returns their paths. 0.3 s each."""
    paths = []
    for quality in dict.fromkeys(trial.quality for trial in trials):
        of_quality = [trial for trial in trials if trial.quality == quality]
        for name, figure in figures(curves(of_quality), quality).items():
            paths.append(folder / f"{name}-{re.sub(r'[^A-Za-z0-9]+', '-', quality)}.png")
            figure.savefig(paths[-1], dpi=120)
    return paths


def figures(drawn: CurveSet, quality: str) -> dict[str, Figure]:
    """Pages and quality over time, quality over pages, by file name."""
    page_shares = np.linspace(0, 1, SAMPLES + 1)
    pages, worth = "share of the pages", f"share of the quality ({quality})"
    return {
        "pages-over-time": _figure(drawn.times, drawn.pages, (TIME_LABEL, pages)),
        "quality-over-time": _figure(drawn.times, drawn.quality, (TIME_LABEL, worth)),
        "quality-over-pages": _figure(page_shares, drawn.by_pages, (pages, worth)),
    }


def _figure(x: FloatArray, lines: dict[str, FloatArray], labels: tuple[str, str]) -> Figure:
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.add_subplot(xlim=(0, x[-1]), ylim=(0, 1), xlabel=labels[0], ylabel=labels[1])
    for policy, y in lines.items():
        axes.plot(x, y, "k--" if policy == BOUND else "-", label=policy)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="lower right")
    return figure
