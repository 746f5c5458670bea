"""Estimates a server's speed, and from it the time of a session.

Symbols of the paper (Cao 2003, §4) beside our names: ConnectionTime(s,i) = ``connect_time``,
ResponseTime(s,i) = ``response_time``, RequestsPerConnection(s,i) = ``requests_per_connection``,
P(s,i) = ``pages``, T(s,i) = ``session_time``.

The times of a new or little-known server are predicted from all others.
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
from typing import TYPE_CHECKING, ClassVar

from crawlproject.frontier.state import Stored

if TYPE_CHECKING:
    from crawlproject.frontier.measurement import Measurement

SMOOTHING = 0.8  # Cao 2003, §4: weight α of the old value
NEW_CONNECT_TIME = 0.1  # seconds, for a server never contacted
NEW_RESPONSE_TIME = 0.5  # seconds, likewise
NEW_REQUESTS_PER_CONNECTION = 50  # Cao 2003, §4: for a new server
PERSISTENT_SPEEDUP = 1.2  # Cao 2003, §4: p of servers that keep HTTP/1.1 connections open, else 1
NEW_KEEP_ALIVE_TIME = 5.0  # seconds that a new server is assumed to keep an idle connection (Apache's default)
IDLE_CLOSE = 1.0  # seconds: a connection closed after a shorter pause reached its number of requests
USUAL_ANSWERS = 4  # weight of the bytes of all servers' answers beside a server's own


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


def smooth(old: float, measured: float) -> float:
    """The moving average of the paper: α·old + (1-α)·measured."""
    return SMOOTHING * old + (1 - SMOOTHING) * measured


class Estimates(Stored):
    """Moving averages of one server; times in seconds."""

    STATE = (
        *("connect_time", "response_time", "requests_per_connection", "persistent", "keep_alive_time"),
        *("received", "sizes"),
    )
    PARTS: ClassVar = {"connects": Observed, "responses": Observed}
    __slots__ = (*STATE, *PARTS)

    def __init__(self) -> None:
        self.connect_time = NEW_CONNECT_TIME
        self.response_time = NEW_RESPONSE_TIME
        self.requests_per_connection = NEW_REQUESTS_PER_CONNECTION
        self.persistent = True
        self.keep_alive_time = NEW_KEEP_ALIVE_TIME
        self.connects: Observed | None = None  # if a prior is learned
        self.responses: Observed | None = None
        self.received = 0  # bytes
        self.sizes = 0  # of so many answers

    def expected_size(self, usual: float) -> float:
        """Expected bytes of the next answer; ``usual``: those of all servers."""
        return (self.received + USUAL_ANSWERS * usual) / (self.sizes + USUAL_ANSWERS)

    def session_time(self, pages: int, wait: float = 0.0) -> float:
        """T(s,i): seconds to open a connection, fetch ``pages`` pages over it and close it.

        ``2·connect_time + pages·response_time / p``, and ``wait`` seconds of politeness between two pages.
        """
        speedup = PERSISTENT_SPEEDUP if self.persistent else 1.0
        return 2 * self.connect_time + pages * self.response_time / speedup + max(0, pages - 1) * wait

    def is_worth_holding(self, wait: float) -> bool:
        """Whether to keep a connection open for ``wait`` instead of releasing it and connecting again.

        Release if the wait is longer than reconnecting (close + open, 2 x connect time) or than the
        server keeps an idle connection.
        """
        return wait <= min(2 * self.connect_time, self.keep_alive_time)

    def learn(self, m: Measurement, carried: int, last_end: float, prior: Prior | None) -> None:
        """Learn from one request; before it, its session had ``carried`` others and was idle since ``last_end``.

        Times are smoothed as in the paper, or, with a ``prior``, weighted with those of all servers.
        """
        if prior is not None:
            self._update_times(m, prior)
        else:
            if m.connect_time is not None:
                self.connect_time = smooth(self.connect_time, m.connect_time)
            if m.response_time is not None:
                self.response_time = smooth(self.response_time, m.response_time)
        if m.size:
            self.received += m.size
            self.sizes += 1
        if m.keep_alive_time is not None:
            self.keep_alive_time = m.keep_alive_time
        if m.status is not None:
            self.persistent = m.persistent
        if m.requests_left is not None:
            self.requests_per_connection = m.connection_requests + m.requests_left
        elif m.server_closed:
            self.requests_per_connection = m.connection_requests
        elif m.connection_requests > self.requests_per_connection:
            self.requests_per_connection = m.connection_requests  # it carries more than assumed
        elif m.connect_time is not None:
            self.learn_close(carried, m.now - m.fetch_time - last_end)

    def _update_times(self, m: Measurement, prior: Prior) -> None:
        if m.connect_time is not None:
            self.connects = self.connects or Observed()
            prior.connect.observe(self.connects, m.connect_time)
            self.connect_time = prior.connect.expected(self.connects)
        if m.response_time is not None:
            self.responses = self.responses or Observed()
            prior.response.observe(self.responses, m.response_time)
            self.response_time = prior.response.expected(self.responses)

    def learn_close(self, carried: int, idle: float) -> None:
        """Learn that a connection was closed unannounced, after ``carried`` requests and ``idle`` seconds.

        The reason is the number of requests if it was closed at once, else the idle time.
        """
        if carried and idle < IDLE_CLOSE:
            self.requests_per_connection = carried
        elif carried:
            self.keep_alive_time = min(self.keep_alive_time, idle)
