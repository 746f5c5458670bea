"""What is expected of a server beyond its own measurements, kept up to date for policies that ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.frontier.learning.backlog import Backlog
from crawlproject.frontier.learning.estimate import NEW_CONNECT_TIME, NEW_RESPONSE_TIME
from crawlproject.frontier.learning.look_ahead import LookAhead, Yield
from crawlproject.frontier.learning.prior import Prior
from crawlproject.frontier.learning.sitemaps import Sitemaps

if TYPE_CHECKING:
    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.server import Server


class Expectations:
    """The prior over all servers' times, what their pages' links and sitemaps bring, and how long all that waits will
    take; as far as the policy asks.
    """

    def __init__(self, *, learns_prior: bool, looks_ahead: bool) -> None:
        self.prior = Prior(NEW_CONNECT_TIME, NEW_RESPONSE_TIME) if learns_prior else None
        self.look_ahead = LookAhead() if looks_ahead else None
        self.sitemaps = Sitemaps(self.look_ahead)
        self.backlog = Backlog()

    @property
    def are_learned(self) -> bool:
        """Whether ranks change by what is learned over all servers."""
        return self.prior is not None or self.look_ahead is not None

    def meet(self, server: Server) -> bool:
        """Expect of a server never contacted what all others have taught; whether its times are others now. O(1)."""
        self.update(server)
        estimates, prior = server.estimates, self.prior
        if prior is None or estimates.responses is not None or estimates.connects is not None:
            return False
        before = estimates.connect_time, estimates.response_time
        estimates.connect_time, estimates.response_time = prior.unmet
        return before != prior.unmet

    def update(self, server: Server) -> None:
        """Look ahead afresh from ``server``, and how urgent it is. O(1)."""
        if self.look_ahead is not None:
            server.bonus = self.look_ahead.bonus(server.found)
            server.urgency = self.backlog.urgency(server.away_wait, len(server.urls)) if server.away_wait else 1.0

    def handed_out(self, entry: Entry, now: float, waiting: int) -> None:
        """``entry`` is to be fetched, ``waiting`` others are queued. O(1)."""
        self.sitemaps.handed_out(entry)
        self.backlog.handed_out(now, waiting)

    def given_back(self, entry: Entry, waiting: int) -> None:
        """``entry``, the last that was handed out, is queued again, ``waiting`` with it. O(1)."""
        self.sitemaps.given_back(entry)
        self.backlog.given_back(waiting)

    def learn_source(self, server: Server, new: int, sitemap_gain: float | None) -> None:
        """A page of ``server`` showed so many new URLs, or its sitemap URLs of so much gain. O(1)."""
        if sitemap_gain is not None:
            self.sitemaps.learn(sitemap_gain)
        elif self.look_ahead is not None:
            server.found = server.found or Yield()
            self.look_ahead.learn_page(server.found, new)
        self.update(server)

    def is_outdated(self, servers: int) -> bool:
        """Whether ``servers`` waiting ones, and sitemaps, should be ranked anew; amortised O(1) of them per page."""
        prior_is = self.prior is not None and self.prior.is_outdated()
        waiting = servers + len(self.sitemaps)
        return (self.look_ahead is not None and self.look_ahead.is_outdated(waiting)) or prior_is
