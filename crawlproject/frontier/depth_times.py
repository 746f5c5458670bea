"""Whether a server's pages take the longer, the deeper they lie: what made-up pages do that are put together from all
those before them.

A straight line through the logarithms of response times over depth (least squares); its sums are running ones.
"""

from __future__ import annotations

from math import exp, log

from crawlproject.frontier.prior import LEAST_TIME

#: The first page so deep (links from a seed) starts the count: most servers have none.
DEEP = 5
#: Pages before a line says anything.
LEAST_PAGES = 50
#: Share of the variance that the line must explain; without a trend it explains a fifth of 50 times once in a thousand.
LEAST_EXPLAINED = 0.5


class DepthTimes:
    """Response times of one server's pages by depth, since the first deep one."""

    __slots__ = ("depths", "least", "most", "n", "products", "square_depths", "square_times", "times")

    def __init__(self) -> None:
        self.n = 0
        self.least = self.most = 0  # depth
        self.depths = 0.0  # sums
        self.square_depths = 0.0
        self.times = 0.0
        self.square_times = 0.0
        self.products = 0.0

    def observe(self, depth: int, response_time: float) -> None:
        """A page at ``depth`` took ``response_time`` seconds. O(1)."""
        x = log(max(response_time, LEAST_TIME))
        self.least = min(depth, self.least) if self.n else depth
        self.most = max(depth, self.most)
        self.n += 1
        self.depths += depth
        self.square_depths += depth * depth
        self.times += x
        self.square_times += x * x
        self.products += depth * x

    @property
    def growth(self) -> float:
        """How many times as long the deepest pages take as the least deep ones; 1 where depth explains too little."""
        n = self.n
        if n < LEAST_PAGES or self.most == self.least:
            return 1.0
        together = n * self.products - self.depths * self.times
        of_depths = n * self.square_depths - self.depths**2
        of_times = n * self.square_times - self.times**2
        if together <= 0 or together**2 < LEAST_EXPLAINED * of_depths * of_times:
            return 1.0
        return exp(min(together / of_depths * (self.most - self.least), 100.0))
