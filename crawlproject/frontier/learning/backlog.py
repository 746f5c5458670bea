"""How long all that waits will take, and by it how urgent a server is whose polite waits take longer.

A server that is left alone for w seconds after each request needs n·w for its n URLs, however many connections are
free.  While there are fewer than servers that wait, one request to it now is worth its URL's quality q, sooner by the
H seconds that the others take, and that of its others, Q, sooner by w: (q·H + Q·w) / (q·H) times as much as without
waits.  With Q as ``MEAN_TO_BEST``·n·q that is ``1 + MEAN_TO_BEST·n·w / H``.  (Where servers share one politeness, as
those of an address do, the waits of the others are not counted.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crawlproject.frontier.state import StateReader

#: The mean quality of a server's URLs, as a share of the best. Between .15 and .6 there is little to choose.
MEAN_TO_BEST = 0.3
#: Weight of the past in the mean time between two URLs handed out.
DECAY = 0.99


class Backlog:
    """The time until all that is queued has been handed out, at the pace of late."""

    def __init__(self) -> None:
        self._gaps = 0.0  # seconds between two URLs, decayed sum
        self._weight = 0.0
        self._waiting = 0
        self._last: float | None = None  # by a clock of this run

    def to_state(self) -> dict[str, Any]:
        """As plain values."""
        return {"gap_sum": self._gaps, "gap_weight": self._weight, "waiting": self._waiting}

    def restore(self, state: StateReader) -> None:
        """Take over what ``to_state`` gave; raises ValueError for anything else."""
        self._gaps = state.number("gap_sum", 0.0)
        self._weight = state.number("gap_weight", 0.0, minimum=0.0)
        self._waiting = state.count("waiting", 0)

    @property
    def time(self) -> float | None:
        """Seconds; None until two URLs have been handed out. O(1)."""
        return self._gaps / self._weight * self._waiting if self._weight else None

    def handed_out(self, now: float, waiting: int) -> None:
        """A URL was handed out, ``waiting`` others are queued. O(1)."""
        if self._last is not None:
            self._gaps = self._gaps * DECAY + now - self._last
            self._weight = self._weight * DECAY + 1.0
        self._last, self._waiting = now, waiting

    def given_back(self, waiting: int) -> None:
        """The URL handed out last was not fetched; ``waiting`` are queued, it among them. O(1)."""
        self._weight, self._waiting = max(0.0, self._weight - 1.0), waiting

    def urgency(self, wait: float, urls: int) -> float:
        """How many times as urgent polite waits of ``wait`` seconds make a server of so many ``urls``. O(1).

        At most ``1 + MEAN_TO_BEST * urls``: where the queue has run empty, or a crawl begins, it is not without end.
        """
        time = self.time
        return 1.0 if time is None else 1.0 + MEAN_TO_BEST * urls * wait / max(time, wait)
