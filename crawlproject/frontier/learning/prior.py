"""Predicts the times of a new or little-known server from all others.

Times are log-normal over the requests of a server, and their means over servers: x = ln(time) of one request varies
around its server's mean with variance W, the means vary around M with variance V.  A server with n observations of
sum S has the estimated mean ``μ = (M/V + S/W) / (1/V + n/W)`` with variance ``p = 1 / (1/V + n/W)``, and its time
``exp(μ + √p/2 + W/2)``: half a standard deviation above the mean (empirical Bayes, slightly pessimistic).

The first servers of a crawl are those with many links to them; later ones may be faster or slower.  So M for a new
server is a moving mean over the first requests to the most recent servers.
All sums are running: O(1) per observation.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import ClassVar

from crawlproject.frontier.state import Stored

#: Shorter times (seconds) count as this.
MIN_TIME = 1e-4
#: Initial variances, as in the crawl logs of archives.
FIRST_VARIANCE_BETWEEN = 1.0
FIRST_VARIANCE_WITHIN = 0.6
#: Weight of these initial values, in observations.
FIRST_WEIGHT = 3.0
#: Moments are recomputed each time the observations have grown by this factor.
RENEWED = 1.01
#: Approximate number of servers that the moving mean covers.
RECENT_SERVERS = 60


class Observed(Stored):
    """Observations of one kind of time of one server: n logarithms and their sum."""

    __slots__ = ("n", "total")
    STATE = __slots__

    def __init__(self) -> None:
        self.n = 0
        self.total = 0.0


class Population(Stored):
    """One kind of time (connect or response) over all servers."""

    STATE = ("observations", "_servers", "_recent_mean", "_means", "_squares", "_inverse_counts", "_within")

    def __init__(self, typical: float) -> None:
        self._first_mean = log(typical)
        self._recent_mean = self._first_mean  # moving mean of servers' first observations
        self.observations = 0
        self._servers = 0
        self._means = 0.0  # sum of the servers' means
        self._squares = 0.0  # of their squares
        self._inverse_counts = 0.0  # sum of 1/n over servers
        self._within = 0.0  # summed squares around the servers' own means
        self._moments = (0.0, 0.0, 0.0)
        self._moments_until = 0.0  # number of observations at which they are recomputed

    def observe(self, observed: Observed, time: float) -> None:
        """Add one ``time`` (seconds) of the server that ``observed`` belongs to. O(1)."""
        x = log(max(time, MIN_TIME))
        n = observed.n
        if n:
            old = observed.total / n
            self._means -= old
            self._squares -= old * old
            self._inverse_counts -= 1 / n
            self._within += (x - old) ** 2 * n / (n + 1)
        else:
            self._servers += 1
            self._recent_mean += (x - self._recent_mean) / min(self._servers + FIRST_WEIGHT, RECENT_SERVERS)
        observed.n += 1
        observed.total += x
        new = observed.total / observed.n
        self._means += new
        self._squares += new * new
        self._inverse_counts += 1 / observed.n
        self.observations += 1

    def moments(self) -> tuple[float, float, float]:
        """(M, V, W): mean of the servers' means, variance between servers, variance within one. O(1).

        The last hundredth of the observations may be missing.
        """
        if self.observations >= self._moments_until:
            self._moments, self._moments_until = self._add_up(), self.observations * RENEWED
        return self._moments

    def expected(self, observed: Observed | None) -> float:
        """Expected seconds of a server's next request (or connection); None: of a new server's. O(1)."""
        mean, between, within = self.moments()
        n, total = (observed.n, observed.total) if observed is not None else (0, 0.0)
        if not n:
            mean = self._recent_mean
        precision = 1 / between + n / within
        estimate = (mean / between + total / within) / precision
        return exp(estimate + 0.5 * sqrt(1 / precision) + within / 2)

    def _add_up(self) -> tuple[float, float, float]:
        servers, weight = self._servers, FIRST_WEIGHT
        mean = (self._means + weight * self._first_mean) / (servers + weight)
        degrees = self.observations - servers
        within = (self._within + weight * FIRST_VARIANCE_WITHIN) / (degrees + weight)
        spread = self._squares - 2 * mean * self._means + servers * mean * mean - within * self._inverse_counts
        between = (max(0.0, spread) + weight * FIRST_VARIANCE_BETWEEN) / (servers + weight)
        return mean, max(between, 0.01), max(within, 0.01)


class Prior(Stored):
    """Both times over all servers, and the expected times of a new server."""

    STATE = ("unmet", "_next")
    PARTS: ClassVar = {"connect": Population, "response": Population}

    #: The times are checked each time the observations have grown by this factor.
    GROWTH = 1.5
    #: A change by less than this factor is mostly noise, which the moving mean does not smooth out.
    DRIFT = 1.1

    def __init__(self, connect_time: float, response_time: float) -> None:
        """Starts with these times (seconds) as the expectation for every server."""
        spread = exp(0.5 * sqrt(FIRST_VARIANCE_BETWEEN) + FIRST_VARIANCE_WITHIN / 2)
        self.connect = Population(connect_time / spread)
        self.response = Population(response_time / spread)
        #: Expected seconds of a new server to connect and to answer.
        self.unmet = (self.connect.expected(None), self.response.expected(None))
        self._next = 1.0  # observations of response times at which ``unmet`` is checked next

    def is_outdated(self) -> bool:
        """Check and update ``unmet``; returns whether it changed. O(1)."""
        if self.response.observations < self._next:
            return False
        self._next = max(self._next + 1, self.response.observations * self.GROWTH)
        unmet = (self.connect.expected(None), self.response.expected(None))
        if all(old / self.DRIFT <= new <= old * self.DRIFT for old, new in zip(self.unmet, unmet, strict=True)):
            return False
        self.unmet = unmet
        return True
