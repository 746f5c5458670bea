"""The budgets of a crawl, and the prices by which a policy spends them: an online knapsack.

A crawl may end after so many pages, seconds or bytes.  A second of a connection always costs 1; a page and a byte cost
what makes all budgets end together (``Prices``).  These are the shadow prices of a knapsack with several weights, found
while the crawl runs: each rises while the forecast says that its budget ends before the others, in proportion to its
value (dual mirror descent: Balseiro, Lu and Mirrokni, "The best of many worlds: dual mirror descent for online
allocation problems", Operations Research 71, 2023).

    level    price of a usual page, in the mean time of a page; without a limit of time ``choosiness``
    share    the part of it that is charged per page, the rest per byte
    page     level · share · mean time,   byte = level · (1 - share) · mean time / mean bytes

O(1) per request.
"""

from __future__ import annotations

from bisect import bisect_left
from math import exp, inf, log, log2
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from crawlproject.frontier.measurement import Measurement

#: With a limit of pages or bytes alone, a page costs as much as this many usual pages take (docs/policies.md).
CHOOSINESS = 10.0
#: Bounds of the level: below, pages are free; above, only they count.
LEVELS = 0.01, 1000.0
#: Pages over which rates are averaged, as a share of the budget, and their bounds.
WINDOW_SHARE, WINDOWS = 0.05, (30, 1000)
#: Servers are reranked when a price has changed by more than this factor.
DRIFT = 1.1
#: Steps of the logarithm of a price for each window, times the logarithm of the ratio of two forecasts.
GAIN = 2.0
#: Points of the curve of quality differ by this factor in pages; pages before twice the budget is forecast.
CURVE_STEP, MIN_PAGES = 1.1, 40


class Limits(NamedTuple):
    """What ends a crawl; inf: nothing."""

    pages: float = inf
    seconds: float = inf
    size: float = inf


NO_LIMITS = Limits()


class Prices:
    """What a page and a byte cost, in seconds of a connection; shared by all servers of a frontier."""

    __slots__ = ("byte", "page", "usual_size")

    def __init__(self) -> None:
        self.page = 0.0
        self.byte = 0.0
        self.usual_size = 0.0  # mean bytes of an answer of any server


class Outlook(NamedTuple):
    """The budget that ends first, and what its crawl may expect."""

    binding: str  # ``pages``, ``seconds`` or ``size``
    left: float
    limit: float
    #: Quality that one more of each is worth now.
    page: float
    second: float
    byte: float
    twice: float | None  # quality with twice the budget, as a multiple of that with the budget; None: too early to tell


class Budgets:
    """What a crawl may spend, and has spent in this run; ``prices`` follow from the forecasts."""

    def __init__(self, limits: Limits = NO_LIMITS, choosiness: float = CHOOSINESS) -> None:
        self.limits = limits
        self.prices = Prices()
        self.pages = 0
        self.size = 0  # bytes
        self.began: float | None = None
        self._choosiness = choosiness
        self._level = choosiness
        self._share = 0.5
        self._queued = 0  # URLs
        self._requests = 0
        self._mean_time = 0.0  # decayed means: of an answer,
        self._gap = 0.0  # between two pages,
        self._page_size = 0.0  # and of the bytes between them
        self._last = 0.0, 0  # time and bytes at the last page
        self._ranked_at = 0.0, 0.0  # prices
        self._gathered = 0.0  # quality
        self._curve: list[tuple[int, float]] = [(0, 0.0)]  # pages and quality, each point a little after the last

    def allow(self, limits: Limits) -> None:
        """Replace the limits; what is spent stays spent. O(1)."""
        self.limits = limits
        self._price()

    def left(self, now: float) -> Limits:
        """What is left of each budget. O(1)."""
        spent = self.pages, 0.0 if self.began is None else now - self.began, self.size
        return Limits(*(max(0.0, limit - each) for limit, each in zip(self.limits, spent, strict=True)))

    def may_start(self, in_flight: int) -> bool:
        """Whether another request may start beside those ``in_flight``, which may all bring a page. O(1)."""
        size = self.size + in_flight * self.prices.usual_size
        return self.pages + in_flight < self.limits.pages and size < self.limits.size

    def begin(self, now: float) -> None:
        """The first request starts, unless one has. O(1)."""
        if self.began is None:
            self.began = now
            self._last = now, 0

    def received(self, size: int) -> None:
        """Count bytes of bodies. O(1)."""
        self.size += size

    def learn(self, m: Measurement) -> None:
        """Learn what a usual request costs. O(1)."""
        if m.response_time is not None:
            self._requests += 1
            rate = 1.0 / min(self._requests, WINDOWS[1])
            self._mean_time += (m.response_time - self._mean_time) * rate
            self.prices.usual_size += (m.size - self.prices.usual_size) * rate

    def page_fetched(self, now: float, queued: int, quality: float) -> None:
        """Count a page while so many URLs are ``queued``, and adjust the prices. O(1)."""
        self.pages += 1
        self._gathered += quality
        if self.pages >= self._curve[-1][0] * CURVE_STEP:
            self._curve.append((self.pages, self._gathered))
        self._queued = queued
        window = min(max(WINDOW_SHARE * self._in_pages(self.limits), WINDOWS[0]), WINDOWS[1])
        rate = 1.0 / min(self.pages, window)
        then, size = self._last
        self._gap += (now - then - self._gap) * rate
        self._page_size += (self.size - size - self._page_size) * rate
        self._last = now, self.size
        if self.pages > window:
            self._adapt(now, GAIN * rate)
        self._price()

    def outlook(self, now: float, worth: float) -> Outlook | None:
        """For people; ``worth``: quality of a second, the rank of the last session. None without a limit. O(log n)."""
        if self.limits == NO_LIMITS:
            return None
        left = self.left(now)
        ends = self._ends(left)
        name = min(Limits._fields, key=lambda each: getattr(ends, each))
        limit, rest = getattr(self.limits, name), getattr(left, name)
        used = max(0.0, 1.0 - rest / limit) if limit else 1.0
        prices = self.prices
        return Outlook(name, rest, limit, worth * prices.page, worth, worth * prices.byte, self._twice(used))

    def _twice(self, used: float) -> float | None:
        """Each doubling of the pages so far has gained ``ratio`` times as much as the one before; so will the next."""
        if self.pages < MIN_PAGES or used <= 0.0:
            return None
        quarter, half = (self._gathered_by(self.pages * share) for share in (0.25, 0.5))
        gain = self._gathered - half
        if not (half > quarter and gain > 0.0):
            return 1.0
        ratio = min(gain / (half - quarter), 2.0)  # 2: the same for each page

        def after(doublings: float) -> float:
            growth = doublings if abs(ratio - 1.0) < 1e-6 else (ratio**doublings - 1.0) / (ratio - 1.0)
            return self._gathered + gain * ratio * growth

        doublings = log2(1.0 / used)
        return after(doublings + 1.0) / after(doublings)

    def _gathered_by(self, pages: float) -> float:
        points = [*self._curve, (self.pages, self._gathered)]
        place = bisect_left(points, (pages, 0.0))
        (before, low), (after, high) = points[place - 1], points[place]
        return low + (high - low) * (pages - before) / max(1, after - before)

    def _ends(self, left: Limits) -> Limits:
        gap = max(self._gap, 1e-9)
        return Limits(left.pages * gap, left.seconds, left.size * gap / max(self._page_size, 1e-9))

    def _in_pages(self, limits: Limits) -> float:
        return min(limits.pages, limits.size / max(1.0, self.prices.usual_size))

    def _adapt(self, now: float, step: float) -> None:
        """Move the prices so that what is left of each budget ends at the same time."""
        ends = self._ends(self.left(now))
        if ends.seconds < inf:
            self._level *= exp(step * _log_ratio(ends.seconds, min(ends.pages, ends.size)))
            self._level = min(max(self._level, LEVELS[0]), LEVELS[1])
        if max(ends.pages, ends.size) < inf:
            odds = self._share / (1.0 - self._share) * exp(step * _log_ratio(ends.size, ends.pages))
            self._share = min(max(odds / (1.0 + odds), 0.001), 0.999)

    def _price(self) -> None:
        pages, size = self.limits.pages < inf, self.limits.size < inf
        if not (pages or size):
            self.prices.page = self.prices.byte = 0.0
            return
        left = self._in_pages(Limits(self.limits.pages - self.pages, inf, self.limits.size - self.size))
        usual = self._level * self._mean_time * min(1.0, self._queued / max(1.0, left))
        share = self._share if pages and size else float(pages)
        self.prices.page = usual * share
        self.prices.byte = usual * (1.0 - share) / max(1.0, self.prices.usual_size)

    def are_outdated(self) -> bool:
        """Whether a price has changed much since this was last true: servers should be ranked again. O(1)."""
        now = self.prices.page, self.prices.byte
        if all(old / DRIFT <= new <= old * DRIFT for old, new in zip(self._ranked_at, now, strict=True)):
            return False
        self._ranked_at = now
        return True


def _log_ratio(one: float, other: float) -> float:
    if min(one, other) == inf or one == other:
        return 0.0
    return min(max(log(max(one, 1e-9) / max(other, 1e-9)), -1.0), 1.0) if other < inf else -1.0
