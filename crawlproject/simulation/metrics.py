"""How good a crawl was: quality collected over time, against breadth-first and against the bound.

T is the full time of breadth-first on the same web, the unit of time of all columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crawlproject.simulation.bound import Bound
    from crawlproject.simulation.crawl import Crawl
    from crawlproject.simulation.web import FloatArray

BOUND_POINTS = 400  # at which the bound is evaluated; between them it is concave


@dataclass(frozen=True)
class Curve:
    """Share of the collectable quality over time: ``shares[i]`` from ``times[i]`` (seconds) on, 0 before."""

    times: FloatArray
    shares: FloatArray

    @classmethod
    def of(cls, crawl: Crawl) -> Curve:
        """The quality collected by ``crawl``."""
        web = crawl.web
        total = web.quality[web.collectable].sum()
        return cls(crawl.ended, np.cumsum(web.quality[crawl.pages]) / total)

    def at(self, time: float) -> float:
        """The share collected by ``time``. O(log n)."""
        index = int(np.searchsorted(self.times, time, side="right"))
        return float(self.shares[index - 1]) if index else 0.0

    def time_of(self, share: float) -> float:
        """When ``share`` was collected; nan if never. O(log n)."""
        index = int(np.searchsorted(self.shares, share - 1e-12))
        return float(self.times[index]) if index < len(self.times) else nan

    def area(self, until: float) -> float:
        """Integral from 0 to ``until``, in seconds. O(n)."""
        inside = self.times < until
        gained = np.diff(self.shares[inside], prepend=0.0)
        return float((gained * (until - self.times[inside])).sum())


def bound_area(bound: Bound, total: float, until: float) -> float:
    """Integral of the bound's share from 0 to ``until``, in seconds; ``total`` is the collectable quality.

    Trapezia on a grid that is finer where the curve is steep; at most ``total`` at any time.
    """
    times = until * np.linspace(0.0, 1.0, BOUND_POINTS) ** 2
    shares = np.minimum(1.0, bound.curve(times) / total)
    return float(np.trapezoid(shares, times))


@dataclass(frozen=True)
class Reference:
    """What a web's crawls are measured against."""

    #: Full time of breadth-first, seconds.
    unit: float
    #: Areas under breadth-first's curve and under the bound, seconds.
    breadth_first: float
    bound: float


@dataclass(frozen=True)
class Score:
    """A policy's line of the table; times in units of breadth-first's full time."""

    #: Share of the quality by 10, 20, 30 and 50% of the unit.
    collected: tuple[float, float, float, float]
    #: Time to 50, 80 and 90% of the quality.
    reached: tuple[float, float, float]
    #: Area under the curve, as a share of that under the bound.
    nauc: float
    #: Share of the way from breadth-first's area to the bound's.
    gap: float
    connections: int
    full_time: float
    busy_share: float


COLLECTED_AT = (0.1, 0.2, 0.3, 0.5)
REACHED_AT = (0.5, 0.8, 0.9)


def score(crawl: Crawl, reference: Reference) -> Score:
    """Measure a crawl."""
    curve = Curve.of(crawl)
    unit = reference.unit
    area = curve.area(unit)
    q10, q20, q30, q50 = (curve.at(share * unit) for share in COLLECTED_AT)
    t50, t80, t90 = (curve.time_of(share) / unit for share in REACHED_AT)
    room = reference.bound - reference.breadth_first
    return Score(
        collected=(q10, q20, q30, q50),
        reached=(t50, t80, t90),
        nauc=area / reference.bound,
        gap=(area - reference.breadth_first) / room if room > 0 else nan,
        connections=crawl.connections,
        full_time=crawl.full_time / unit,
        busy_share=crawl.busy_share,
    )
