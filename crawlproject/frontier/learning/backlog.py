"""Estimates the time to drain the queue, and from it the urgency of servers with long polite waits.

A server with a polite wait of w seconds after each request needs n·w for its n URLs, however many connections are
free.  If more servers wait than connections are free, a request now brings its URL's quality q forward by the H seconds
that the other servers take, and the quality Q of the server's other URLs by w: (q·H + Q·w) / (q·H) times as much as
without waits.  With Q = ``MEAN_TO_BEST``·n·q that is ``1 + MEAN_TO_BEST·n·w / H``.  (The waits of other servers in the
same politeness group, such as an IP address, are not counted.)
"""

from __future__ import annotations

from crawlproject.frontier.state import Stored, count, number, positive

#: Mean quality of a server's URLs, as a share of the best. Values from .15 to .6 perform about equally well.
MEAN_TO_BEST = 0.3
#: Weight of the past in the mean time between two URLs handed out.
DECAY = 0.99


class Backlog(Stored):
    """The time until every queued URL is handed out, at the recent pace."""

    STATE = (("gap_sum", "_gaps", number), ("gap_weight", "_weight", positive), ("waiting", "_waiting", count))

    def __init__(self) -> None:
        self._gaps = 0.0  # seconds between two URLs, decayed sum
        self._weight = 0.0
        self._waiting = 0
        self._last: float | None = None  # by a clock of this run

    @property
    def time(self) -> float | None:
        """Seconds; None until two URLs have been handed out. O(1)."""
        return self._gaps / self._weight * self._waiting if self._weight else None

    def handed_out(self, now: float, waiting: int) -> None:
        """Count a URL handed out while ``waiting`` others are queued. O(1)."""
        if self._last is not None:
            self._gaps = self._gaps * DECAY + now - self._last
            self._weight = self._weight * DECAY + 1.0
        self._last, self._waiting = now, waiting

    def given_back(self, waiting: int) -> None:
        """Undo the last ``handed_out``: the URL was not fetched; ``waiting`` URLs are queued, including it. O(1)."""
        self._weight, self._waiting = max(0.0, self._weight - 1.0), waiting

    def urgency(self, wait: float, urls: int) -> float:
        """Factor on the rank of a server with this many ``urls`` and polite waits of ``wait`` seconds. O(1).

        At most ``1 + MEAN_TO_BEST * urls``: bounded when the queue runs empty or a crawl starts.
        """
        time = self.time
        return 1.0 if time is None else 1.0 + MEAN_TO_BEST * urls * wait / max(time, wait)
