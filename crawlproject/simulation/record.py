"""Options and result of a simulated crawl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlproject.frontier.budgets import CHOOSINESS, NO_LIMITS, Limits
from crawlproject.frontier.politeness import Politeness

if TYPE_CHECKING:
    from crawlproject.simulation.web import FloatArray, IntArray, SimulatedWeb

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
    #: Factor on the time to close a connection: 0 shows what closing costs.
    closing: float = 1.0
    #: Maximum requests of a session.
    max_batch: int = 100
    #: Time until a request to a dead server fails.
    timeout: float = 15.0
    #: The crawl ends when one of these budgets is spent; pages that end after ``limits.seconds`` do not count.
    limits: Limits = NO_LIMITS
    #: See ``frontier.budgets``.
    choosiness: float = CHOOSINESS


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

    @property
    def size(self) -> float:
        """Bytes of the pages."""
        return float(self.web.size[self.pages].sum())

    @property
    def full_time(self) -> float:
        """End of the last page's response; 0 without pages."""
        return float(self.ended[-1]) if len(self.ended) else 0.0
