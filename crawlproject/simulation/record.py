"""Options and result of a simulated crawl."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, TypeAlias

from crawlproject.frontier.politeness import Politeness

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawlproject.simulation.web import FloatArray, IntArray, SimulatedWeb

#: (Keys of all servers, number of workers) -> worker of each server.
Owners: TypeAlias = "Callable[[Sequence[str], int], list[int]]"


def in_turn(keys: Sequence[str], workers: int) -> list[int]:
    """Owners: servers 0, n, 2n, ... belong to worker 0 of n."""
    return [number % workers for number in range(len(keys))]


#: Politeness without waits.
NO_WAIT = Politeness(mode="session", factor=0.0, min_delay=0.0, max_delay=0.0)


@dataclass(frozen=True)
class CrawlOptions:
    """Options of a crawl; times in seconds."""

    #: Maximum concurrent connections.
    sessions: int = 64
    politeness: Politeness = NO_WAIT
    #: From the end of a response until its links are known.
    parse_delay: float = 0.0
    #: CPU time per response in the crawler's single thread; responses are processed one after another.
    cpu_time: float = 0.0
    parked: int = 0  # additional idle connections, if ``politeness`` has a ``parking_time``
    #: How long a session without URLs waits for its last page's links.
    linger: float = 0.0
    #: Maximum requests of a session.
    max_batch: int = 100
    #: Time until a request to a dead server fails.
    timeout: float = 15.0
    #: No request starts later than this.
    until: float = inf
    #: Number of workers, which share ``sessions`` and ``parked`` equally.
    workers: int = 1
    owners: Owners = in_turn
    #: How often workers send each other links.
    exchange_interval: float = 1.0


@dataclass(frozen=True)
class Crawl:
    """The pages fetched, in order of the ends of their responses; times in seconds."""

    web: SimulatedWeb
    pages: IntArray
    #: Start of each page's request, and end of its response.
    started: FloatArray
    ended: FloatArray
    connections: int
    #: Requests that timed out.
    failures: int
    #: Other requests that brought no page: copies, redirects, 404, 500.
    wasted: int
    #: Share of the time of all slots in which connections were open, until the last page.
    busy_share: float
    #: Links that workers sent each other.
    sent: int = 0
    #: Share of the pages that the worker with the most pages fetched.
    busiest_share: float = 1.0

    @property
    def full_time(self) -> float:
        """End of the last page's response; 0 without pages."""
        return float(self.ended[-1]) if len(self.ended) else 0.0
