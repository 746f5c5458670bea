"""An upper bound of the quality that any schedule with full knowledge can collect by a given time.

The dual of a linear program.  By time t, m slots provide at most ``m t + slack`` seconds of connections, and server s
at most ``t + close_s`` (a page counts when its response ends; its connection may still be closing).  With a price l
for slot time and w_s for server s's time, v = l + w_s, no schedule collects more than

    UB(t) = min over l of [ l (m t + slack) + sum over s of min over v >= l of ( g_s(v) + (v - l) (t + close_s) ) ]

where g_s(v) is the maximum gain of server s at price v per second: its pages are packed into connections of at most L_s
requests, each with its time to open and close, and the
additional time of its first response.  For c connections the best c L_s gains ``quality - v time`` are taken,
so the blocks of L_s of the sorted gains give g_s exactly.  Any prices give a valid bound, finer grids a tighter one
(four times as fine: 2e-5 less).  Slack is the closing times of the m slowest servers: at t, m connections may still be
closing after the last page that counts.  Discovery and politeness are ignored: they only make schedules worse.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, inf, log
from typing import TYPE_CHECKING

import numpy as np

from crawlproject.simulation.web import FloatArray, IntArray, SimulatedWeb, ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlproject.frontier.budgets import Limits

#: Inner part of an interval in its golden section; sections of the prices of a page and of a byte.
GOLDEN, SECTIONS = 0.618, 16

PRICES = 160  # per grid: neighbours differ by about 10%


@dataclass(frozen=True)
class Bound:
    """The bound of one web and number of sessions, prepared for evaluation at any time.

    ``gains[i, s]`` is g_s(prices[i]); prices fall.
    """

    prices: FloatArray
    gains: FloatArray
    close_time: FloatArray
    slots: float
    slack: float

    def at(self, time: float) -> float:
        """Maximum quality collected by ``time`` seconds. O(prices x servers)."""
        longest = time + self.close_time
        best = np.minimum.accumulate(self.gains + self.prices[:, None] * longest, axis=0).sum(axis=1)
        values = best + self.prices * (self.slots * time + self.slack - longest.sum())
        return float(values.min())

    def curve(self, times: FloatArray) -> FloatArray:
        """``at`` each of ``times``."""
        return np.array([self.at(float(time)) for time in times])


def bound_of(web: SimulatedWeb, sessions: int, prices: FloatArray | None = None) -> Bound:
    """The bound for ``sessions`` connections at a time. O(prices x pages log pages): 1 s for 30,000 pages."""
    pages = np.flatnonzero(web.collectable)
    packing = _Packing(web, pages)
    grid = _price_grid(web, pages) if prices is None else np.sort(prices)[::-1]
    gains = np.stack([packing.gains(float(price)) for price in grid])
    slots = min(sessions, web.servers)
    slack = float(np.sort(web.connect_time)[::-1][:slots].sum())
    return Bound(grid, gains, web.connect_time, float(sessions), slack)


def bound_within(web: SimulatedWeb, sessions: int, limits: Limits) -> float:
    """An upper bound of the quality that any schedule can collect within ``limits``: the fractional knapsack's dual.

    With a price p for a page and b for a byte it is ``p pages + b bytes + bound(quality - p - b size)``, with the bound
    of the limited time.  Convex in both prices.  O(pages) for each of some hundred prices, with a limit of time
    O(its prices x pages log pages): 10 s for 10,000 pages.
    """
    quality, size = web.quality[web.collectable], web.size[web.collectable]

    def of_time(page: float, byte: float) -> float:
        if limits.seconds == inf:
            return float(np.maximum(0.0, quality - page - byte * size).sum())
        net = replace(web, quality=web.quality - page - byte * web.size)
        return bound_of(net, sessions).at(limits.seconds)

    def of_pages(byte: float) -> float:
        if limits.pages == inf:
            return of_time(0.0, byte)
        return _least(lambda page: page * limits.pages + of_time(page, byte), float(quality.max()))

    if limits.size == inf:
        return of_pages(0.0)
    return _least(lambda byte: byte * limits.size + of_pages(byte), float((quality / np.maximum(size, 1.0)).max()))


def _least(function: Callable[[float], float], most: float) -> float:
    """The least value found of a convex function of prices from 0 to ``most``, by golden section of their logarithm."""
    low, high = log(most * 1e-7), log(most)
    inner = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
    values = [function(exp(price)) for price in inner]
    best = min(function(0.0), *values)
    for _ in range(SECTIONS):
        if values[0] < values[1]:
            high, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = high - GOLDEN * (high - low)
            values[0] = function(exp(inner[0]))
        else:
            low, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = low + GOLDEN * (high - low)
            values[1] = function(exp(inner[1]))
        best = min(best, *values)
    return best


def _price_grid(web: SimulatedWeb, pages: IntArray) -> FloatArray:
    """Falling prices, from above the maximum rate of a page down to 0."""
    rates = web.quality[pages] / web.page_time[pages]
    rates = rates[rates > 0]
    if not len(rates):
        return np.zeros(1)
    low, high = float(np.quantile(rates, 0.0005)) / 4, float(rates.max()) * 1.01
    return np.concatenate((np.geomspace(high, low, PRICES - 1), [0.0]))


class _Packing:
    """Packs the pages of each server into connections."""

    def __init__(self, web: SimulatedWeb, pages: IntArray) -> None:
        by_server = pages[np.argsort(web.server[pages], kind="stable")]
        self._server = web.server[by_server]
        self._quality = web.quality[by_server]
        self._time = web.page_time[by_server]
        self._servers = web.servers
        counts = np.bincount(self._server, minlength=web.servers).astype(np.int64)
        limits = web.keep_alive_limit
        place = ranges(np.zeros_like(counts), counts)  # within its server
        blocks = -(-counts // limits)
        self._first_block = np.cumsum(blocks) - blocks
        self._block = self._first_block[self._server] + place // limits[self._server]
        ordinal = ranges(np.zeros_like(blocks), blocks)  # of the block within its server
        block_server = np.repeat(np.arange(web.servers), blocks)
        self._setup = web.connect_draws[web.first[block_server] + ordinal] + web.connect_time[block_server]
        if len(web.first_extra):
            self._setup = self._setup + web.first_extra[block_server]
        self._block_server = block_server
        self._occupied = np.flatnonzero(blocks)

    def gains(self, price: float) -> FloatArray:
        """g_s(price) of every server. O(pages log pages)."""
        gain = np.maximum(0.0, self._quality - price * self._time)
        order = np.lexsort((-gain, self._server))
        sums = np.bincount(self._block, gain[order], minlength=len(self._setup)) - price * self._setup
        total = np.cumsum(sums)
        before = np.concatenate(([0.0], total))[self._first_block[self._block_server]]
        result = np.zeros(self._servers)
        if len(self._occupied):
            result[self._occupied] = np.maximum.reduceat(total - before, self._first_block[self._occupied])
        best: FloatArray = np.maximum(0.0, result)
        return best
