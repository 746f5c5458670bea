"""Scores a crawl: quality collected over time, compared with breadth-first and with the bound.

The unit of time is T, the full time of breadth-first on the same web under the same conditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from crawlproject.simulation.graph import GraphSpec
from crawlproject.simulation.synthetic import SyntheticSpec

if TYPE_CHECKING:
    from crawlproject.simulation.bound import Bound
    from crawlproject.simulation.web import Crawl, FloatArray, IntArray, SimulatedWeb

WebSpec: TypeAlias = SyntheticSpec | GraphSpec

BOUND_POINTS = 400  # points at which the bound is evaluated; the bound is concave between them
SAMPLES = 200  # points of a written or drawn curve, besides 0


@dataclass(frozen=True)
class Curve:
    """Share of the collectable quality over time: ``shares[i]`` from ``times[i]`` (seconds) on, 0 before."""

    times: FloatArray
    shares: FloatArray

    @classmethod
    def of(cls, crawl: Crawl) -> Curve:
        """The quality collected by ``crawl``."""
        web = crawl.web
        return cls(crawl.ended, np.cumsum(web.quality[crawl.pages]) / collectable_quality(web))

    def at(self, time: float) -> float:
        """Share collected by ``time``. O(log n)."""
        index = int(np.searchsorted(self.times, time, side="right"))
        return float(self.shares[index - 1]) if index else 0.0

    def time_of(self, share: float) -> float:
        """Time at which ``share`` was collected; nan if never. O(log n)."""
        index = int(np.searchsorted(self.shares, share - 1e-12))
        return float(self.times[index]) if index < len(self.times) else nan

    def counts(self, times: FloatArray) -> IntArray:
        """Number of pages fetched by each of ``times``. O(times log n)."""
        return np.searchsorted(self.times, times, side="right").astype(np.int64)

    def shares_of_first(self, counts: IntArray) -> FloatArray:
        """Share in the first pages fetched, for each number of pages in ``counts``. O(counts)."""
        return np.concatenate(([0.0], self.shares))[np.minimum(counts, len(self.shares))]

    def area(self, until: float) -> float:
        """Integral from 0 to ``until``, in seconds. O(n)."""
        inside = self.times < until
        gained = np.diff(self.shares[inside], prepend=0.0)
        return float((gained * (until - self.times[inside])).sum())


def collectable_quality(web: SimulatedWeb) -> float:
    """Total quality of all collectable pages."""
    return float(web.quality[web.collectable].sum())


def best_first(web: SimulatedWeb) -> FloatArray:
    """Share of the collectable quality in the best 0, 1/SAMPLES, ... 1 of the pages. O(pages log pages)."""
    quality = np.sort(web.quality[web.collectable])[::-1]
    held = np.concatenate(([0.0], np.cumsum(quality))) / quality.sum()
    shares: FloatArray = held[np.round(np.linspace(0, len(quality), SAMPLES + 1)).astype(np.int64)]
    return shares


def bound_shares(bound: Bound, total: float, times: FloatArray) -> FloatArray:
    """The bound as a share of ``total``, the collectable quality, at ``times`` (seconds)."""
    return np.minimum(1.0, bound.curve(times) / total)


def bound_area(bound: Bound, total: float, until: float) -> float:
    """Integral of ``bound_shares`` from 0 to ``until``, in seconds.

    Trapezoidal rule on a grid that is finer where the curve is steep; too small by less than 1e-5 of ``until``.
    """
    times = until * np.linspace(0.0, 1.0, BOUND_POINTS) ** 2
    return float(np.trapezoid(bound_shares(bound, total, times), times))


@dataclass(frozen=True)
class Outcome:
    """The results of a crawl that its score needs; times in seconds."""

    curve: Curve
    full_time: float
    connections: int
    #: Requests that timed out.
    failures: int
    #: Bytes of the pages.
    size: float

    @property
    def gathered(self) -> float:
        """Share of the quality."""
        return float(self.curve.shares[-1]) if len(self.curve.shares) else 0.0

    @classmethod
    def of(cls, crawl: Crawl) -> Outcome:
        return cls(Curve.of(crawl), crawl.full_time, crawl.connections, crawl.failures, crawl.size)


@dataclass(frozen=True)
class Reference:
    """The reference for crawls of a web; seconds."""

    #: T: full time of breadth-first.
    unit: float
    #: Breadth-first's time to 80% of the quality.
    t80: float
    #: Areas under breadth-first's curve and under the bound, up to T.
    breadth_first: float
    bound: float

    @classmethod
    def of(cls, breadth_first: Outcome, bound: Bound, total: float) -> Reference:
        """From a breadth-first crawl and the bound of its web; ``total``: the collectable quality."""
        unit, curve = breadth_first.full_time, breadth_first.curve
        return cls(unit, curve.time_of(0.8), curve.area(unit), bound_area(bound, total, unit))


@dataclass(frozen=True)
class Ground:
    """Properties of a web and its quality by which crawls are scored; times in seconds."""

    pages: int
    servers: int
    links: int
    #: Number of collectable pages, their total quality, and the share of it in the best of them (``best_first``).
    collectable: int
    total: float
    best_first: FloatArray
    #: Time of the slowest server, and the sum over all servers.
    longest_chain: float
    work: float
    #: Bounds of quality, and of pages (each worth 1).
    bound: Bound
    page_bound: Bound
    #: Share of the quality within the crawl's limits, at most, and by the oracle; nan without limits.
    most_within: float = nan
    oracle_within: float = nan


@dataclass(frozen=True)
class Trial:
    """One policy's crawl of one web."""

    web: WebSpec
    quality: str
    policy: str
    outcome: Outcome
    ground: Ground
    reference: Reference
    #: See ``score``.
    score: dict[str, float]


def score(outcome: Outcome, reference: Reference) -> dict[str, float]:
    """A crawl's row in the table; times in T, areas up to T.

    ``q10``: share of the quality by 10% of T, ``t50``: time to half of the quality, ``nauc``: area under the curve as a
    share of that under the bound, ``gap``: gain over breadth-first's area as a share of the bound's gain (nan where
    that is none).
    """
    curve, unit = outcome.curve, reference.unit
    area, room = curve.area(unit), reference.bound - reference.breadth_first
    row = {f"q{percent}": curve.at(percent / 100 * unit) for percent in (10, 20, 30, 50)}
    row |= {f"t{percent}": curve.time_of(percent / 100) / unit for percent in (50, 80, 90)}
    return row | {
        "nauc": area / reference.bound,
        "gap": (area - reference.breadth_first) / room if room > 0 else nan,
        "t80_breadth_first": curve.time_of(0.8) / reference.t80,
        "full_time": outcome.full_time / unit,
        "connections": outcome.connections,
        "failures": outcome.failures,
    }
