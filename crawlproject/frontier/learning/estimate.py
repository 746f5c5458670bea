"""Estimates a server's speed, and from it the time of a session.

Symbols of the paper (Cao 2003, §4) beside our names: ConnectionTime(s,i) = ``connect_time``,
ResponseTime(s,i) = ``response_time``, RequestsPerConnection(s,i) = ``requests_per_connection``,
P(s,i) = ``pages``, T(s,i) = ``session_time``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from crawlproject.frontier.learning.prior import Observed
from crawlproject.frontier.state import Stored

if TYPE_CHECKING:
    from crawlproject.frontier.learning.prior import Prior
    from crawlproject.frontier.measurement import Measurement

SMOOTHING = 0.8  # Cao 2003, §4: weight α of the old value
NEW_CONNECT_TIME = 0.1  # seconds, for a server never contacted
NEW_RESPONSE_TIME = 0.5  # seconds, likewise
NEW_REQUESTS_PER_CONNECTION = 50  # Cao 2003, §4: for a new server
PERSISTENT_SPEEDUP = 1.2  # Cao 2003, §4: p of servers that keep HTTP/1.1 connections open, else 1
NEW_KEEP_ALIVE_TIME = 5.0  # seconds that a new server is assumed to keep an idle connection (Apache's default)
IDLE_CLOSE = 1.0  # seconds: a connection closed after a shorter pause reached its number of requests
USUAL_ANSWERS = 4  # weight of the bytes of all servers' answers beside a server's own


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
