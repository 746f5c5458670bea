"""Draws the times of servers and pages from a seed, for synthetic webs and for graphs from a file.

A page takes ``round trip + think time · log-normal + size / bandwidth``, with its server's think time and bandwidth.
``SYNTHETIC`` has invented parameters: half of the pages take 0.2 s, one in a hundred more than 4 s.  ``HERITRIX`` is
fitted to crawl logs of Heritrix, 2005 to 2016 (3,580 fetches, 69 hosts: fetch time exp(N(4.57, 1.16²) per host + N(0,
1.1²) per request) ms, bodies at a median of 650 kB/s) and to browsers' connect times (median 90 ms, p90 228 ms).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from crawlproject.simulation.web import BoolArray, FloatArray, IntArray

BANDWIDTH_SPREAD = 20.0  # ratio of the fastest server's to the slowest's; log-uniform
SIZE_MEDIAN = 8000.0  # bytes, if sizes are not known
SIZE_SIGMA = 0.8
CONNECT_SIGMA = 0.3  # noise of single connections
CONNECT_NOISE_RANGE = (0.5, 2.0)

# Requests per connection (Cao 2003, figure 3): 24% of servers allow one, 66% a hundred, the others between
SINGLE_SHARE = 0.24
HUNDRED_SHARE = 0.66
OTHER_LIMITS = (2, 50)


@dataclass(frozen=True)
class TimeModel:
    """Distributions of a server's times (seconds) and bandwidth (bytes per second); sigmas of the logarithms."""

    think_median: float
    think_sigma_servers: float
    think_sigma_pages: float
    #: Round trip of a request, in connect times.
    round_trip: float
    #: Connect time: log-uniform in this range, or, if None, log-normal with the median and sigma below.
    connect_range: tuple[float, float] | None
    connect_median: float
    connect_sigma: float
    #: Log-uniform around its median, ``BANDWIDTH_SPREAD`` wide.
    bandwidth_median: float


SYNTHETIC = TimeModel(
    think_median=0.122,
    think_sigma_servers=1.6,
    think_sigma_pages=0.8,
    round_trip=0.6,
    connect_range=(0.02, 0.3),
    connect_median=0.0,
    connect_sigma=0.0,
    bandwidth_median=4.47e5,
)
HERITRIX = TimeModel(
    think_median=0.0966,  # exp(4.57) ms
    think_sigma_servers=1.16,
    think_sigma_pages=1.1,
    round_trip=0.0,
    connect_range=None,
    connect_median=0.09,
    connect_sigma=0.66,  # .725 with the noise of single connections: ln(228 / 90) / 1.2816
    bandwidth_median=6.5e5,
)
TIME_MODELS = {"synthetic": SYNTHETIC, "heritrix": HERITRIX}


@dataclass(frozen=True)
class Speeds:
    """Times (seconds) and bandwidth (bytes per second) by server."""

    connect: FloatArray
    think: FloatArray
    bandwidth: FloatArray


@dataclass(frozen=True)
class PageTimes:
    """Seconds of each page: a request takes the sum of both."""

    fixed: FloatArray
    thinking: FloatArray


def chance(seed: int, purpose: str) -> np.random.Generator:
    """A random generator for one purpose, so that a change in one draw does not change the others."""
    return np.random.default_rng([seed, *purpose.encode()])


def draw_speeds(model: TimeModel, servers: int, seed: int) -> Speeds:
    rng = chance(seed, "speeds")
    if model.connect_range is None:
        connect = rng.lognormal(np.log(model.connect_median), model.connect_sigma, servers)
    else:
        connect = _log_uniform(rng, *model.connect_range, servers)
    think = rng.lognormal(np.log(model.think_median), model.think_sigma_servers, servers)
    half = BANDWIDTH_SPREAD**0.5
    bandwidth = _log_uniform(rng, model.bandwidth_median / half, model.bandwidth_median * half, servers)
    return Speeds(connect, think, bandwidth)


def draw_sizes(pages: int, seed: int) -> FloatArray:
    """Draw the size of each page in bytes."""
    return chance(seed, "page sizes").lognormal(np.log(SIZE_MEDIAN), SIZE_SIGMA, pages)


def draw_page_times(model: TimeModel, speeds: Speeds, server: IntArray, size: FloatArray, seed: int) -> PageTimes:
    """Draw the times of pages; ``server`` and ``size`` (bytes): of each page. O(pages)."""
    noise = chance(seed, "pages").lognormal(0, model.think_sigma_pages, len(server))
    fixed = model.round_trip * speeds.connect[server] + size / speeds.bandwidth[server]
    return PageTimes(fixed, speeds.think[server] * noise)


def draw_connects(speeds: Speeds, counts: IntArray, seed: int) -> FloatArray:
    """Draw the times to open single connections (``SimulatedWeb.connect_draws``); ``counts``: pages of each server."""
    noise = chance(seed, "connections").lognormal(0, CONNECT_SIGMA, int(counts.sum())).clip(*CONNECT_NOISE_RANGE)
    draws: FloatArray = np.repeat(speeds.connect, counts) * noise
    return draws


def draw_limits(servers: int, seed: int) -> IntArray:
    """Draw the maximum requests per connection of each server."""
    rng = chance(seed, "limits")
    single = round(SINGLE_SHARE * servers)
    hundred = min(round(HUNDRED_SHARE * servers), servers - single)
    others = rng.integers(OTHER_LIMITS[0], OTHER_LIMITS[1] + 1, servers - single - hundred)
    limits: IntArray = rng.permutation(
        np.concatenate((np.ones(single), np.full(hundred, 100), others)).astype(np.int64)
    )
    return limits


def draw_dead(servers: int, share: float, spared: IntArray, seed: int) -> BoolArray:
    """Draw the servers that never answer: a ``share`` of all, none of those in ``spared``."""
    dead = np.zeros(servers, dtype=np.bool_)
    candidates = np.setdiff1d(np.arange(servers), spared)
    dead[chance(seed, "dead").permutation(candidates)[: round(share * servers)]] = True
    return dead


def _log_uniform(rng: np.random.Generator, low: float, high: float, count: int) -> FloatArray:
    drawn: FloatArray = np.exp(rng.uniform(np.log(low), np.log(high), count))
    return drawn
