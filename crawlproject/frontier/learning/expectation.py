"""Predicts what a server's own measurements do not show, for policies that use it.

Also the time to drain the queue, and from it the urgency of servers with long polite waits.

A server with a polite wait of w seconds after each request needs n·w for its n URLs, however many connections are
free.  If more servers wait than connections are free, a request now brings its URL's quality q forward by the H seconds
that the other servers take, and the quality Q of the server's other URLs by w: (q·H + Q·w) / (q·H) times as much as
without waits.  With Q = ``MEAN_TO_BEST``·n·q that is ``1 + MEAN_TO_BEST·n·w / H``.  (The waits of other servers in the
same politeness group, such as an IP address, are not counted.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from crawlproject.frontier.learning.estimate import NEW_CONNECT_TIME, NEW_RESPONSE_TIME, Prior
from crawlproject.frontier.learning.file_kinds import FileSizes
from crawlproject.frontier.learning.look_ahead import LinkYield, LookAhead, Sitemaps
from crawlproject.frontier.state import Stored

if TYPE_CHECKING:
    from collections.abc import Sized

    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.learning.estimate import Estimates

#: Mean quality of a server's URLs, as a share of the best. Values from .15 to .6 perform about equally well.
MEAN_TO_BEST = 0.3
#: Weight of the past in the mean time between two URLs handed out.
DECAY = 0.99


class ExpectedServer(Protocol):
    """The attributes of a server that predictions read and set."""

    bonus: float
    found: LinkYield | None
    urgency: float

    @property
    def away_wait(self) -> float: ...
    @property
    def estimates(self) -> Estimates: ...
    @property
    def urls(self) -> Sized: ...


class Backlog(Stored):
    """The time until every queued URL is handed out, at the recent pace."""

    STATE = ("_gaps", "_weight", "_waiting")

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


class Expectations:
    """The prior of all servers' times, the gain of links and sitemaps, and the time to drain the queue.

    The prior and the gain of links are learned only if the policy uses them.
    """

    def __init__(self, *, learns_prior: bool, looks_ahead: bool) -> None:
        self.prior = Prior(NEW_CONNECT_TIME, NEW_RESPONSE_TIME) if learns_prior else None
        self.look_ahead = LookAhead() if looks_ahead else None
        self.sitemaps = Sitemaps(self.look_ahead)
        self.backlog = Backlog()
        self.sizes = FileSizes()  # while bytes have a price
        parts: dict[str, Stored | None] = {"sitemaps": self.sitemaps, "backlog": self.backlog, "sizes": self.sizes}
        parts |= {"prior": self.prior, "look_ahead": self.look_ahead}
        self._parts: dict[str, Stored] = {key: part for key, part in parts.items() if part is not None}
        self._unused: dict[str, Any] = {}  # stored by a run whose policy uses more; kept unchanged for the next run

    def to_state(self) -> dict[str, Any]:
        """As plain values. O(1)."""
        return self._unused | {key: part.to_state() for key, part in self._parts.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of ``to_state``; raises ValueError for anything else."""
        for key in self._parts.keys() & state.keys():
            self._parts[key].restore(state[key])
        self._unused = {key: state[key] for key in ("prior", "look_ahead") if key in state and key not in self._parts}

    def meet(self, server: ExpectedServer) -> bool:
        """Predict the times of a server never contacted from all others; returns whether they changed. O(1)."""
        self.update(server)
        estimates, prior = server.estimates, self.prior
        if prior is None or estimates.responses is not None or estimates.connects is not None:
            return False
        before = estimates.connect_time, estimates.response_time
        estimates.connect_time, estimates.response_time = prior.unmet
        return before != prior.unmet

    def update(self, server: ExpectedServer) -> None:
        """Set the bonus and the urgency of ``server``. O(1)."""
        if self.look_ahead is not None:
            server.bonus = self.look_ahead.bonus(server.found)
            server.urgency = self.backlog.urgency(server.away_wait, len(server.urls)) if server.away_wait else 1.0

    def handed_out(self, entry: Entry, now: float, waiting: int) -> None:
        """Note that ``entry`` will be fetched; ``waiting`` others are queued. O(1)."""
        self.sitemaps.handed_out(entry)
        self.backlog.handed_out(now, waiting)

    def learn_source(self, server: ExpectedServer, new: float, sitemap_gain: float | None) -> None:
        """Learn that a page of ``server`` showed ``new`` new URLs, or a sitemap URLs of ``sitemap_gain``. O(1)."""
        if sitemap_gain is not None:
            self.sitemaps.learn(sitemap_gain)
        elif self.look_ahead is not None:
            server.found = server.found or LinkYield()
            self.look_ahead.learn_page(server.found, new)
        self.update(server)

    def is_outdated(self, servers: int) -> bool:
        """Whether the ``servers`` that wait, and sitemaps, must be reranked; amortised O(1) of them per page."""
        prior_is = self.prior is not None and self.prior.is_outdated()
        waiting = servers + len(self.sitemaps)
        return (self.look_ahead is not None and self.look_ahead.is_outdated(waiting)) or prior_is
