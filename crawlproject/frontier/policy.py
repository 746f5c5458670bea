"""How servers rank: the four policies of the paper (Cao 2003, §4).

A policy is a pure function of one server's queue and estimates.  A rank changes only when URLs are pushed,
a measurement is recorded or a session is closed, which is when the frontier asks for it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from crawlproject.frontier.server import Server


class Policy(Protocol):
    """Ranks servers that have URLs; the highest rank gets the next connection, ties the longest waiting."""

    #: Whether a server's URLs are fetched by quality (else in order of discovery).
    by_quality: bool

    def rank(self, server: Server) -> float:
        """The rank of ``server``, which has at least one URL. O(1), no side effects."""
        ...


class BreadthFirst:
    """Servers in the order in which they became ready, their URLs in the order of discovery."""

    by_quality = False

    def rank(self, server: Server) -> float:
        """Always 0."""
        return 0.0


class PerformanceFirst:
    """R(s,i) = P(s,i) / T(s,i): the most pages per second first, URLs in the order of discovery."""

    by_quality = False

    def rank(self, server: Server) -> float:
        """Pages per second expected of the next session."""
        return server.expected_pages / server.expected_time


class QualityFirst:
    """The server with the best URL first, whatever it costs; URLs by quality."""

    by_quality = True

    def rank(self, server: Server) -> float:
        """Quality of the server's best URL."""
        return server.urls.best_quality


class CapacityBased:
    """C(s,i) = Σ quality of the best P(s,i) URLs / T(s,i): the most quality per second first; URLs by quality."""

    by_quality = True

    def rank(self, server: Server) -> float:
        """Quality per second expected of the next session."""
        return server.urls.window_sum / server.expected_time


#: Names of ``FRONTIER_POLICY``.
POLICIES: dict[str, type[Policy]] = {
    "breadth-first": BreadthFirst,
    "performance": PerformanceFirst,
    "quality": QualityFirst,
    "capacity": CapacityBased,
}
