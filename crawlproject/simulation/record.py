"""A simulated crawl: how it is done, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from crawlproject.frontier.politeness import Politeness

if TYPE_CHECKING:
    from crawlproject.simulation.web import FloatArray, IntArray, SimulatedWeb

#: Politeness of a crawl that waits for nothing.
NO_WAIT = Politeness(mode="session", factor=0.0, min_delay=0.0, max_delay=0.0)


@dataclass(frozen=True)
class CrawlOptions:
    """How to crawl; times in seconds."""

    #: Connections at a time.
    sessions: int = 64
    politeness: Politeness = NO_WAIT
    #: From the end of a response to when its links are known.
    parse_delay: float = 0.0
    #: What the crawler's one thread computes for each response, one response after another.
    cpu_time: float = 0.0
    parked: int = 0  # idle connections kept besides, where ``politeness`` has a ``parking_time``
    #: How long a session without URLs waits for its last page's links.
    linger: float = 0.0
    #: Most requests of a session.
    max_batch: int = 100
    #: After how long a request to a dead server fails.
    timeout: float = 15.0
    #: Requests that would start later are not made.
    until: float = inf


@dataclass(frozen=True)
class Crawl:
    """What was fetched and when, in the order of the responses' ends; times in seconds."""

    web: SimulatedWeb
    pages: IntArray
    #: When each page's request was sent, and when its response had come.
    started: FloatArray
    ended: FloatArray
    connections: int
    #: Requests that timed out.
    failures: int
    #: Share of all slots' time that connections were open, until the last page.
    busy_share: float

    @property
    def full_time(self) -> float:
        """When the last page had come."""
        return float(self.ended[-1]) if len(self.ended) else 0.0
