"""How servers rank: the four policies of the paper (Cao 2003, §4).

A policy is a pure function of one server's queue and estimates.  A rank changes only when URLs are pushed,
a measurement is recorded or a session is closed, which is when the frontier asks for it again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crawlproject.frontier.server import Server


class Policy(ABC):
    """Ranks servers that have URLs; the highest rank gets the next connection, ties the longest waiting.

    Only ``rank`` must be written: the rest holds for the paper's four policies.
    """

    #: Whether a server's URLs are fetched by quality (else in order of discovery).
    by_quality: bool = True

    #: Whether what is not known of a server is learned from the others (else the paper's constants stand in).
    learns_prior: bool = False

    #: Whether URLs count for more than their quality, for what their pages' links are expected to bring; and servers
    #: for more where their polite waits will take long.
    looks_ahead: bool = False

    @abstractmethod
    def rank(self, server: Server) -> float:
        """The rank of ``server``, which has at least one URL. No side effects; O(1), or O(batch) where it says so."""

    def goes_on(self, server: Server, alternative: float) -> bool:
        """Whether an open session should make its next request, ``alternative`` being the best rank that waits.

        Asked only while every connection is in use. O(1), or as ``rank``.  Here always: the batch is fetched as far as
        the server allows.
        """
        return True

    def rerank_above(self, server: Server, rank: float) -> float:
        """The quality of a URL, new or raised, above which it may change the ``rank`` of ``server``. O(1).

        Up to it the server is not ranked again.  Here any URL may change the rank: ``-inf``.
        """
        return -inf


def checked_policy(loaded: object) -> type[Policy]:
    """``loaded``, if it is a policy; a class that only has ``rank`` gets the defaults of ``Policy`` for the rest.

    Raises ValueError, to be read behind the name of a setting.
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
        """Always 0."""
        return 0.0

    def rerank_above(self, server: Server, rank: float) -> float:
        """No URL changes the rank."""
        return inf


class PerformanceFirst(Policy):
    """R(s,i) = P(s,i) / T(s,i): the most pages per second first, URLs in the order of discovery."""

    by_quality = False

    def rank(self, server: Server) -> float:
        """Pages per second expected of the next session."""
        return server.expected_pages / server.expected_time


class QualityFirst(Policy):
    """The server with the best URL first, whatever it costs; URLs by quality.

    Here and below, the URLs of a server count for its ``worth``: less where it has shown many copies.
    """

    def rank(self, server: Server) -> float:
        """Quality of the server's best URL."""
        return server.urls.best_quality * server.worth


class CapacityBased(Policy):
    """C(s,i) = Σ quality of the best P(s,i) URLs / T(s,i): the most quality per second first; URLs by quality."""

    def rank(self, server: Server) -> float:
        """Quality per second expected of the next session. O(batch)."""
        return server.urls.window_sum * server.worth / server.expected_time


class BestPrefix(Policy):
    """Marginal-value capacity: the batch as long as is worth most per second, and no longer.

    A URL is worth its quality and the server's bonus (``look_ahead``); a server that must be left alone after each
    request is the more urgent the longer that will take (``backlog``).  Rank: max over k of (worth of the best k URLs)
    / (2·connect + k·response), the maximal-ratio prefix of the queue (Sidney 1975).  URLs by quality.

    An open session goes on while its next URL is worth more per second than what the best waiting server offers, and
    some way below that (the two indices of bandits with set-up costs, Asawa and Teneketzis 1996; with random gains one
    should stay below the environment's rate, McNamara 1982).  How far: what is left behind is fetched on the next
    connection, when the best that waits offers no more than this server's rank.  Until then a second is worth from
    that ``alternative`` down to that rank, on average about their geometric mean: so the square of the URL's rate must
    reach ``STAY`` times their product.  Where a new connection costs next to nothing, a session leaves early, where it
    costs much, or few URLs would be left for it, late.
    """

    learns_prior = True
    looks_ahead = True
    STAY = 0.75

    def rank(self, server: Server) -> float:
        """Worth per second of the best prefix, times the server's urgency. O(its length), at most the batch."""
        rate = server.urls.best_rate(server.setup_time, server.page_time, server.bonus)
        return rate * server.worth * server.urgency

    def goes_on(self, server: Server, alternative: float) -> bool:
        """Whether the next URL is worth its time here, where the connection is open. O(1), or as ``rank``."""
        rate = (server.urls.best_quality + server.bonus) * server.worth / server.page_time
        return rate >= self.STAY * alternative or rate * rate >= self.STAY * alternative * self.rank(server)

    def rerank_above(self, server: Server, rank: float) -> float:
        """A URL worth no more per second than the prefix stays behind its end."""
        return rank / (server.worth * server.urgency) * server.page_time - server.bonus


#: Names of ``FRONTIER_POLICY``.
POLICIES: dict[str, type[Policy]] = {
    "breadth-first": BreadthFirst,
    "performance": PerformanceFirst,
    "quality": QualityFirst,
    "capacity": CapacityBased,
    "prefix": BestPrefix,
}
