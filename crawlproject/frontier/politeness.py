"""When a server may be asked again. All times in seconds.

Two modes, the same average load for the same factor:

``request`` (Mercator)
    every wait is ``factor`` x the time the last fetch took.
``session`` (the paper's burst)
    the requests of a session follow each other on its connection; then the server rests ``factor`` x the
    time the session kept it busy.

The wait lies within ``min_delay`` and ``max_delay``.  A server's own Crawl-delay, and the project's
``DOWNLOAD_DELAY``, hold between any two requests in both modes and win when they are longer; so does
Retry-After, up to ``max_backoff``.
"""

from __future__ import annotations

from calendar import timegm
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Mode = Literal["request", "session"]

#: ``parking_time`` where connections are parked: as long as Apache, the most impatient of the usual servers, keeps one.
PARKING_TIME = 5.0

#: A parked connection is closed so long (seconds) before the server is thought to do it.
KEEP_ALIVE_MARGIN = 0.5

#: Statuses by which a server says "slower": RFC 6585 §4, RFC 9110 §15.6.4.
SLOW_DOWN_STATUSES = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class Politeness:
    """The rules of waiting; pure arithmetic, O(1) each."""

    mode: Mode = "session"
    factor: float = 5.0
    min_delay: float = 0.5
    max_delay: float = 60.0
    #: Least wait between any two requests to a server (Scrapy's ``DOWNLOAD_DELAY``).
    request_delay: float = 0.0
    #: The same for single hosts, in its place.
    host_delays: Mapping[str, float] = field(default_factory=dict, hash=False)
    #: First back-off of a failing server; doubled with each further failure, up to ``max_backoff``.
    min_backoff: float = 5.0
    max_backoff: float = 300.0
    #: Longest Crawl-delay that is believed.
    max_crawl_delay: float = 300.0
    #: Longest time that a connection is left open, idle, while its server has no session. 0: not at all.
    parking_time: float = 0.0

    @property
    def longest_wait(self) -> float:
        """No wait is longer, whatever happens."""
        return max(
            self.max_delay, self.request_delay, self.max_backoff, self.max_crawl_delay, *self.host_delays.values()
        )

    def by_host(self) -> dict[str, Politeness]:
        """The rules for the hosts that have a delay of their own."""
        return {host: replace(self, request_delay=delay) for host, delay in self.host_delays.items()}

    def request_wait(self, fetch_time: float, crawl_delay: float = 0.0) -> float:
        """Wait after a fetch of ``fetch_time`` before the next request to the server, session open or not."""
        if self.mode == "session" and not self.request_delay and not crawl_delay:
            return 0.0  # as most often
        own = self._bounded(fetch_time) if self.mode == "request" else 0.0
        return max(own, self.request_delay, min(crawl_delay, self.max_crawl_delay))

    def session_rest(self, busy_time: float, crawl_delay: float = 0.0) -> float:
        """Wait after a session that kept the server busy for ``busy_time`` before its next one."""
        own = self._bounded(busy_time) if self.mode == "session" else 0.0
        return max(own, self.request_delay, min(crawl_delay, self.max_crawl_delay))

    def backoff(self, failures: int, retry_after: float | None = None) -> float:
        """Wait after the ``failures``-th failure in a row (>= 1), ``retry_after`` being the server's wish."""
        own = self.min_backoff * 2.0 ** min(failures - 1, 60)
        return min(max(own, retry_after or 0.0), self.max_backoff)

    def idle_time(self, keep_alive_time: float) -> float:
        """How long to leave a connection open, idle, for the server's next session: not until the server closes it."""
        return max(0.0, min(self.parking_time, keep_alive_time - KEEP_ALIVE_MARGIN))

    def _bounded(self, time: float) -> float:
        return max(self.min_delay, min(self.max_delay, self.factor * time))


def retry_after_seconds(value: str, wall_clock: float) -> float | None:
    """Seconds to wait by a ``Retry-After`` value, given as a number or as an HTTP date; None if it is neither.

    ``wall_clock`` is the time of receipt in seconds since the epoch.
    """
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:12])
    try:
        due = timegm(parsedate_to_datetime(value).utctimetuple())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return max(0.0, due - wall_clock)
