"""What a simulated crawler thinks a page is worth: known when its URL is discovered, or estimated on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from crawlproject.simulation.pagerank import DAMPING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlproject.simulation.web import SimulatedWeb


class Worth(Protocol):
    """Values pages by what the crawl has seen so far."""

    #: Whether ``worth`` of a page may change with every page that links to it.
    changes: bool

    def learn(self, page: int, links: Sequence[int]) -> None:
        """``page`` was fetched and has these links. O(links)."""
        ...

    def worth(self, page: int) -> float:
        """What ``page`` is worth, as far as is known now; >= 0. O(1)."""
        ...


class KnownWorth:
    """The true quality, or a wrong one: multiplied once by a log-normal error of spread ``sigma``."""

    changes = False

    def __init__(self, web: SimulatedWeb, sigma: float = 0.0, seed: int = 0) -> None:
        error = np.random.default_rng([seed, 0xE4404]).lognormal(0.0, sigma, web.pages)
        self._values: list[float] = (web.quality * error).tolist()

    def learn(self, page: int, links: Sequence[int]) -> None:
        """Nothing to learn."""

    def worth(self, page: int) -> float:
        """The value drawn."""
        return self._values[page]


class InLinkWorth:
    """The number of links seen to a page, those from other servers counting ``external`` times, plus 1."""

    changes = True

    def __init__(self, web: SimulatedWeb, external: float = 2.0) -> None:
        self._server: list[int] = web.server.tolist()
        self._counts = [1.0] * web.pages
        self._external = external

    def learn(self, page: int, links: Sequence[int]) -> None:
        """Count each link."""
        for link in links:
            self._counts[link] += 1.0 if self._server[link] == self._server[page] else self._external

    def worth(self, page: int) -> float:
        """Links so far, weighted."""
        return self._counts[page]


class PartialPageRank:
    """PageRank as it flows through the pages fetched so far: each passes its own on once, when it is fetched.

    RankMass-like (Cho and Schonfeld, VLDB 2007): a lower bound of the true rank, up to scale.
    """

    changes = True

    def __init__(self, web: SimulatedWeb) -> None:
        self._ranks = [(1 - DAMPING) / web.pages] * web.pages

    def learn(self, page: int, links: Sequence[int]) -> None:
        """Pass the damped rank on in equal parts."""
        if links:
            part = DAMPING * self._ranks[page] / len(links)
            for link in links:
                self._ranks[link] += part

    def worth(self, page: int) -> float:
        """Rank received so far."""
        return self._ranks[page]
