"""Policies rank servers: the four of the paper (Cao 2003, §4), and ``prefix``.

A policy is a pure function of one server's queue and estimates.  A rank changes only when URLs are pushed,
a measurement is recorded or a session is closed; the frontier calls ``rank`` again at these events.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf
from typing import TYPE_CHECKING

from crawlproject.frontier.quality import Deepest

if TYPE_CHECKING:
    from crawlproject.frontier.quality import Quality
    from crawlproject.frontier.server import Server


class Policy(ABC):
    """Ranks servers that have URLs: the highest rank gets the next connection; ties go to the longest waiting.

    A subclass must implement only ``rank``; the defaults suit the paper's four policies.
    """

    #: Whether a server's URLs are fetched by quality (else in order of discovery).
    by_quality: bool = True

    #: The quality that the policy needs, instead of any other.
    own_quality: type[Quality] | None = None

    #: Whether unknown times of a server are predicted from the other servers (else from the paper's constants).
    learns_prior: bool = False

    #: Whether the worth of URLs includes the expected gain of their pages' links.
    looks_ahead: bool = False

    @abstractmethod
    def rank(self, server: Server) -> float:
        """The rank of ``server``, which has at least one URL. No side effects; O(1) unless documented otherwise."""

    def goes_on(self, server: Server, alternative: float) -> bool:
        """Whether an open session should make its next request; ``alternative``: the best rank of a waiting server.

        Called only while every connection is in use. O(1), or as ``rank``.  The default is always: fetch the batch as
        far as the server allows.
        """
        return True

    def rerank_above(self, server: Server, rank: float) -> float:
        """The quality of a URL, new or raised, above which it may change the ``rank`` of ``server``. O(1).

        A URL up to this quality causes no reranking.  The default is ``-inf``: any URL may change the rank.
        """
        return -inf


def checked_policy(loaded: object) -> type[Policy]:
    """``loaded``, if it is a policy; a class with only ``rank`` gets the other defaults of ``Policy``.

    Raises ValueError, whose text continues the name of a setting.
    """
    if isinstance(loaded, type) and not issubclass(loaded, Policy) and callable(vars(loaded).get("rank")):
        loaded = type(loaded.__name__, (loaded, Policy), {})
    if isinstance(loaded, type) and issubclass(loaded, Policy) and not loaded.__abstractmethods__:
        return loaded
    raise ValueError("must be a class with rank(server); crawlproject.frontier.Policy is the base for the rest")


class BreadthFirst(Policy):
    """Servers in the order in which they became ready, their URLs in the order of discovery."""

    by_quality = False

    def rank(self, server: Server) -> float:
        return 0.0

    def rerank_above(self, server: Server, rank: float) -> float:
        return inf


class PerformanceFirst(Policy):
    """R(s,i) = P(s,i) / T(s,i): the most pages per second first, URLs in the order of discovery."""

    by_quality = False

    def rank(self, server: Server) -> float:
        return server.expected_pages / server.expected_time


class QualityFirst(Policy):
    """The server with the best URL first, at any cost; URLs by quality.

    Here and below, quality is multiplied by the server's ``worth``, which is lower if it has shown many copies.
    """

    def rank(self, server: Server) -> float:
        return server.urls.best_quality * server.worth


class DepthFirst(QualityFirst):
    """The deepest URL first, those of one depth in the order of discovery: one connection visits a tree in preorder."""

    own_quality = Deepest


class CapacityBased(Policy):
    """C(s,i) = Σ quality of the best P(s,i) URLs / T(s,i): the most quality per second first; URLs by quality."""

    def rank(self, server: Server) -> float:
        """Expected quality per second of the next session. O(batch)."""
        return server.urls.window_sum * server.worth / server.expected_time


class BestPrefix(Policy):
    """Marginal-value capacity: the batch has the length that maximizes worth per second.

    A URL is worth its quality plus the server's bonus (``look_ahead``).  Rank: max over k of (worth of the best k
    URLs) / (2·connect + k·response), the maximal-ratio prefix of the queue (Sidney 1975).  URLs by quality.

    An open session continues while its next URL is worth more per second than the best waiting server offers, and
    somewhat below that rate, too (the two indices of bandits with set-up costs, Asawa and Teneketzis 1996; with random
    gains one should stay below the environment's rate, McNamara 1982).  How far below: URLs left behind are fetched on
    the server's next connection, when the best waiting server offers no more than this server's rank.  Until then the
    worth of a second falls from ``alternative`` to that rank and is on average about their geometric mean: so the
    square of the URL's rate must reach ``STAY`` times their product.  A session therefore leaves early if a new
    connection is cheap, and late if it is expensive or few URLs would be left for it.
    """

    learns_prior = True
    looks_ahead = True
    STAY = 0.75

    def rank(self, server: Server) -> float:
        """Worth per second of the best prefix. O(its length), at most the batch."""
        return server.urls.best_rate(server.setup_time, server.page_cost, server.bonus) * server.worth

    def goes_on(self, server: Server, alternative: float) -> bool:
        """Whether the next URL is worth its time on the open connection. O(1), or as ``rank``."""
        rate = (server.urls.best_quality + server.bonus) * server.worth / server.page_cost
        return rate >= self.STAY * alternative or rate * rate >= self.STAY * alternative * self.rank(server)

    def rerank_above(self, server: Server, rank: float) -> float:
        """The quality of a URL with the prefix's worth per second: one below it stays outside the prefix."""
        return rank / server.worth * server.page_cost - server.bonus


#: Names of ``FRONTIER_POLICY``.
POLICIES: dict[str, type[Policy]] = {
    "breadth-first": BreadthFirst,
    "depth-first": DepthFirst,
    "performance": PerformanceFirst,
    "quality": QualityFirst,
    "capacity": CapacityBased,
    "prefix": BestPrefix,
}
