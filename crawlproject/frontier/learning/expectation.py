"""Predicts what a server's own measurements do not show, for policies that use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from crawlproject.frontier.learning.estimate import NEW_CONNECT_TIME, NEW_RESPONSE_TIME, Prior
from crawlproject.frontier.learning.file_kinds import FileSizes
from crawlproject.frontier.learning.look_ahead import LinkYield, LookAhead, Sitemaps

if TYPE_CHECKING:
    from crawlproject.frontier.learning.estimate import Estimates
    from crawlproject.frontier.state import Stored


class ExpectedServer(Protocol):
    """The attributes of a server that predictions read and set."""

    bonus: float
    found: LinkYield | None

    @property
    def estimates(self) -> Estimates: ...


class Expectations:
    """The prior of all servers' times, the gain of links and sitemaps, and the sizes of files.

    The prior and the gain of links are learned only if the policy uses them.
    """

    def __init__(self, *, learns_prior: bool, looks_ahead: bool) -> None:
        self.prior = Prior(NEW_CONNECT_TIME, NEW_RESPONSE_TIME) if learns_prior else None
        self.look_ahead = LookAhead() if looks_ahead else None
        self.sitemaps = Sitemaps(self.look_ahead)
        self.sizes = FileSizes()  # while bytes have a price
        parts: dict[str, Stored | None] = {"sitemaps": self.sitemaps, "sizes": self.sizes}
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
        """Set the bonus of ``server``. O(1)."""
        if self.look_ahead is not None:
            server.bonus = self.look_ahead.bonus(server.found)

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
