"""Draws what a limit of pages or bytes gathers, and in which time, by ``FRONTIER_CHOOSINESS``: an SVG file."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from math import ceil, floor, log10
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from crawlproject.simulation.crawl import CrawlOptions
    from crawlproject.simulation.metrics import Outcome, Trial

#: Values of the setting that are drawn.
CHOOSINESS = (0.0, 1.0, 3.0, 10.0, 30.0)
#: Size of a panel and its margins (left, top, right, bottom), in pixels; most ticks of an axis.
WIDTH, HEIGHT = 340, 290
LEFT, TOP, RIGHT, BOTTOM = 45, 28, 15, 38
TICKS = 6
COLOURS = ("#1f77b4", "#d95f02", "#2ca02c", "#7570b3", "#8c564b", "#555555")


class Line(NamedTuple):
    """Crawls that differ only in choosiness."""

    name: str
    #: Seconds and share of the quality, one for each of ``CHOOSINESS``: means over the webs.
    points: list[tuple[float, float]]
    #: The share that no crawl can exceed.
    most: float


def lines(
    trials: Sequence[Trial], usual: CrawlOptions, crawl: Callable[[list[tuple[Trial, CrawlOptions]]], list[Outcome]]
) -> dict[str, list[Line]]:
    """For each quality a line of each policy; ``trials``: with the options ``usual``, of which the rest is kept.

    ``crawl``: ``experiment.outcomes``; of each trial with each of ``CHOOSINESS``.
    """
    options = [replace(usual, choosiness=each) for each in CHOOSINESS]
    crawled = crawl([(trial, each) for trial in trials for each in options])
    groups: dict[tuple[str, str], list[int]] = {}  # places in ``trials``: one for each web
    for place, trial in enumerate(trials):
        groups.setdefault((trial.quality, trial.policy), []).append(place)
    found: dict[str, list[Line]] = {}
    for (quality, policy), places in groups.items():
        done = [[crawled[place * len(options) + at] for place in places] for at in range(len(options))]
        points = [(fmean(each.full_time for each in webs), fmean(each.gathered for each in webs)) for webs in done]
        most = fmean(trials[place].ground.most_within for place in places)
        found.setdefault(quality, []).append(Line(policy, points, most))
    return found


def svg(panels: Mapping[str, Sequence[Line]]) -> str:
    """A panel for each quality, with its lines; the bound is dashed."""
    width = WIDTH * len(panels)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}" viewBox="0 0 {width} {HEIGHT}"'
    parts = [
        f'{head} font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{HEIGHT}" fill="#fff"/>',
    ]
    for number, (quality, drawn) in enumerate(panels.items()):
        parts += [f'<g transform="translate({number * WIDTH} 0)">', *_panel(quality, drawn), "</g>"]
    return "\n".join([*parts, "</svg>\n"])


def _panel(title: str, drawn: Sequence[Line]) -> Iterable[str]:
    ticks = _ticks(max(x for line in drawn for x, _ in line.points))
    left, bottom, end = LEFT, HEIGHT - BOTTOM, ticks[-1]

    def place(seconds: float, share: float) -> tuple[float, float]:
        across = (WIDTH - LEFT - RIGHT) * seconds / end
        return round(left + across, 1), round(bottom - (bottom - TOP) * min(share, 1.0), 1)

    centre = f'x="{(LEFT + WIDTH - RIGHT) / 2}" text-anchor="middle"'
    yield f'<text {centre} y="16" font-size="13">{escape(title)}</text>'
    yield f'<text {centre} y="{HEIGHT - 6}">seconds</text>'
    yield f'<text transform="translate(12 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">quality, %</text>'
    for tick in ticks:
        x, y = place(tick, 0.0)
        yield f'<path d="M{x} {y}v4" stroke="#000"/><text x="{x}" y="{y + 16}" text-anchor="middle">{tick:g}</text>'
    for percent in range(0, 101, 20):
        x, y = place(0.0, percent / 100)
        yield f'<path d="M{x} {y}h-4" stroke="#000"/><text x="{x - 7}" y="{y + 4}" text-anchor="end">{percent}</text>'
    yield f'<path d="M{left} {TOP}V{bottom}H{WIDTH - RIGHT}" fill="none" stroke="#000"/>'
    for number, line in enumerate(drawn):
        colour = COLOURS[number % len(COLOURS)]
        places = [place(*point) for point in line.points]
        path = " ".join(f"{x},{y}" for x, y in places)
        _, most = place(0.0, line.most)
        yield f'<path d="M{left} {most}H{WIDTH - RIGHT}" stroke="{colour}" stroke-dasharray="4 3"/>'
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        for (x, y), choosiness in zip(places, CHOOSINESS, strict=True):
            yield f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>'
            yield f'<text x="{x + 4}" y="{y + 14}" font-size="9">{choosiness:g}</text>'
        y = bottom - 8 - 14 * (len(drawn) - 1 - number)
        yield f'<text x="{WIDTH - RIGHT - 4}" y="{y}" text-anchor="end" fill="{colour}">{escape(line.name)}</text>'


def _ticks(most: float) -> list[float]:
    """Round numbers from 0 to the first that is at least ``most``."""
    most = max(most, 1e-3)
    power = 10.0 ** floor(log10(most / TICKS))
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if most / (power * factor) <= TICKS)
    return [step * number for number in range(ceil(most / step) + 1)]
