"""Predicts what a server's own measurements do not show, for policies that use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from crawlproject.frontier.learning.backlog import Backlog
from crawlproject.frontier.learning.estimate import NEW_CONNECT_TIME, NEW_RESPONSE_TIME
from crawlproject.frontier.learning.look_ahead import LinkYield, LookAhead
from crawlproject.frontier.learning.prior import Prior
from crawlproject.frontier.learning.sitemaps import Sitemaps
from crawlproject.frontier.learning.sizes import FileSizes

if TYPE_CHECKING:
    from collections.abc import Sized

    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.learning.estimate import Estimates
    from crawlproject.frontier.state import StateReader, Stored


class ExpectedServer(Protocol):
    """The attributes of a server that predictions read and set."""

    bonus: float
    found: LinkYield | None
    urgency: float

    @property
    def away_wait(self) -> float:
        """Polite wait between two requests if it is spent disconnected."""

    @property
    def estimates(self) -> Estimates:
        """Its measured times."""

    @property
    def urls(self) -> Sized:
        """Its queue."""


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
        self._unused: dict[str, Any] = {}  # stored by a run whose policy uses more

    def to_state(self) -> dict[str, Any]:
        """As plain values. O(1)."""
        return self._unused | {key: part.to_state() for key, part in self._parts().items()}

    def restore(self, state: StateReader) -> None:
        """Restore the result of ``to_state``; raises ValueError for anything else.

        Parts that this run's policy does not use are kept unchanged for the next run.
        """
        parts = self._parts()
        for key, part in parts.items():
            stored = state.part(key)
            if stored is not None:
                part.restore(stored)
        self._unused = {key: state.raw(key) for key in ("prior", "look_ahead") if key not in parts and state.raw(key)}

    def _parts(self) -> dict[str, Stored | Prior]:
        parts: dict[str, Stored | Prior] = {"sitemaps": self.sitemaps, "backlog": self.backlog, "sizes": self.sizes}
        if self.prior is not None:
            parts["prior"] = self.prior
        if self.look_ahead is not None:
            parts["look_ahead"] = self.look_ahead
        return parts

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

    def given_back(self, entry: Entry, waiting: int) -> None:
        """Note that ``entry``, the last one handed out, is queued again; ``waiting`` includes it. O(1)."""
        self.sitemaps.given_back(entry)
        self.backlog.given_back(waiting)

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
