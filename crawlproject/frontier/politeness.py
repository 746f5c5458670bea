"""Decides when a server may be requested again. All times in seconds.

Two modes with the same average load for the same factor, and one without rests:

``request`` (Mercator)
    after each fetch, wait ``factor`` x the time of the fetch.
``session`` (the paper's burst)
    requests of a session follow each other without waits; after it, the server rests ``factor`` x the time
    that the session kept it busy.
``slots`` (Scrapy's)
    requests start ``request_delay`` apart, up to ``connections`` of them at once; there are no other rests.

The wait is between ``min_delay`` and ``max_delay``.  In the first two modes a server has one request at a time, and the
project's ``DOWNLOAD_DELAY`` applies between any two requests if it is longer.  In all modes so do a server's
Crawl-delay, and Retry-After up to ``max_backoff``.  A host with rules of its own is in the mode ``slots``.
"""

from __future__ import annotations

from calendar import timegm
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Mode = Literal["request", "session", "slots"]

#: Seconds that a server which has never answered rests at most when a run begins: each run tries it at least once,
#: before ``dispatch.LAST_WAIT`` is over.
MAX_FIRST_REST = 30.0

#: Statuses that ask the client to slow down: RFC 6585 §4, RFC 9110 §15.6.4.
SLOW_DOWN_STATUSES = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class Politeness:
    """Computes polite waits; pure arithmetic, O(1) each."""

    mode: Mode = "session"
    factor: float = 5.0
    min_delay: float = 0.5
    max_delay: float = 60.0
    request_delay: float = 0.0  # minimum wait between any two requests to a server (Scrapy's ``DOWNLOAD_DELAY``)
    #: Maximum number of requests to a server at once in the mode ``slots``; in the others, of those that bypass the
    #: frontier while no wait is due and no session open.
    connections: int = 1
    #: Replace ``request_delay`` and ``connections`` for single hosts, whose mode is ``slots``.
    host_delays: Mapping[str, float] = field(default_factory=dict, hash=False)
    host_connections: Mapping[str, int] = field(default_factory=dict, hash=False)
    #: First back-off of a failing server; doubles with each further failure, up to ``max_backoff``.
    min_backoff: float = 5.0
    max_backoff: float = 300.0
    max_crawl_delay: float = 300.0  # longer Crawl-delays are cut to this

    @property
    def longest_wait(self) -> float:
        """Upper bound of all waits."""
        waits = self.max_delay, self.request_delay, self.max_backoff, self.max_crawl_delay
        return max(*waits, *self.host_delays.values())

    def by_host(self) -> dict[str, Politeness]:
        """The rules of the hosts that have some of their own."""
        return {
            host: replace(
                self,
                mode="slots",
                request_delay=self.host_delays.get(host, self.request_delay),
                connections=self.host_connections.get(host, self.connections),
            )
            for host in self.host_delays.keys() | self.host_connections.keys()
        }

    @property
    def most_connections(self) -> int:
        """The most requests at once that any server may have."""
        own = self.connections if self.mode == "slots" else 1
        return max(own, *self.host_connections.values()) if self.host_connections else own

    def with_delay(self, delay: float) -> Politeness:
        """The same rules with a ``request_delay`` of at least ``delay``. O(1)."""
        return replace(self, request_delay=max(delay, self.request_delay))

    def request_wait(self, fetch_time: float, crawl_delay: float = 0.0) -> float:
        """Wait between a fetch of ``fetch_time`` and the next request to the server, with or without a session."""
        if self.mode != "request" and not self.request_delay and not crawl_delay:
            return 0.0  # the most frequent case
        own = self._bounded(fetch_time) if self.mode == "request" else 0.0
        delay = self.request_delay - fetch_time if self.mode == "slots" else self.request_delay
        return max(own, delay, min(crawl_delay, self.max_crawl_delay))

    def session_rest(self, busy_time: float, crawl_delay: float = 0.0) -> float:
        """Wait between a session that kept the server busy for ``busy_time`` and its next session."""
        own = self._bounded(busy_time) if self.mode == "session" else 0.0
        delay = 0.0 if self.mode == "slots" else self.request_delay  # ``request_wait`` of the last request is enough
        return max(own, delay, min(crawl_delay, self.max_crawl_delay))

    def backoff(self, failures: int, retry_after: float | None = None) -> float:
        """Wait after ``failures`` (>= 1) consecutive failures; ``retry_after``: the wait that the server asked for."""
        own = self.min_backoff * 2.0 ** min(failures - 1, 60)
        return min(max(own, retry_after or 0.0), self.max_backoff)

    def _bounded(self, time: float) -> float:
        return max(self.min_delay, min(self.max_delay, self.factor * time))


def retry_after_seconds(value: str, wall_clock: float) -> float | None:
    """Seconds to wait by a ``Retry-After`` value, a number or an HTTP date; None if it is neither.

    ``wall_clock`` is the time of the answer in seconds since the epoch, on the clock that a date is of.
    """
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:12])
    due = http_time(value)
    return None if due is None else max(0.0, due - wall_clock)


def http_time(value: str) -> float | None:
    """Seconds since the epoch of an HTTP date; None if it is none."""
    try:
        return float(timegm(parsedate_to_datetime(value).utctimetuple()))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
