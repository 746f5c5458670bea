"""Ends the wait for servers that have never answered, when the crawl waits for nothing else."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from crawlproject.frontier.server import Awaited

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlproject.frontier.dispatch import Dispatcher
    from crawlproject.frontier.server import Server

#: Seconds that a crawl waits for servers that fail and have never answered, once nothing else is left: with the usual
#: back-off a server that refuses connections is tried four times.
LAST_WAIT = 45.0

#: Servers compared, and servers left, in one step: a few ms.
COMPARED, LEFT = 2_000, 200


class LastWait:
    """Leaves all servers that the crawl still waits for, ``LAST_WAIT`` seconds after nothing but failing ones is left.

    Earlier if none of them may be tried until then.  They get no further request in this run; a store keeps their URLs
    and their failures for the next one.  ``ends_at``: the end of the wait; inf: the crawl has something else to do.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._servers: Iterator[Server] | None = None
        self.ends_at = inf

    def reset(self) -> None:
        """There is something else to do, or nothing may be tried now. O(1)."""
        self.ends_at = inf
        self._servers = None

    def is_over(self, now: float) -> bool:
        """Whether servers should be left now; call it while there is nothing else to do. O(1) amortised."""
        self.ends_at = min(self.ends_at, now + LAST_WAIT)
        queue = self._dispatcher.frontier.queue
        due = None if queue.leased else queue.first_due()
        return now >= self.ends_at or (due is not None and due >= self.ends_at)

    def leave_some(self, now: float) -> tuple[int, list[str]]:
        """Leave up to ``LEFT`` servers.

        Returns their number and the keys of those that had a session: the caller must abort their requests.
        O(COMPARED + LEFT log servers); with the first call O(servers).
        """
        frontier = self._dispatcher.frontier
        if self._servers is None:
            self._servers = iter(list(frontier.servers))
        left, connected = 0, []
        for compared, server in enumerate(self._servers, 1):
            if server.awaited is Awaited.VAINLY:
                frontier.leave(server.key)
                left += 1
                if session := server.session or server.parked:
                    self._dispatcher.abandon(session, now)
                    connected.append(server.key)
            if left == LEFT or compared == COMPARED:
                return left, connected
        self._servers = None
        return left, connected
