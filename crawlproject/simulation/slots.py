"""Closing takes time: the dispatcher of a simulated crawl, where a closed session leaves its slot later."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from crawlproject.frontier import Dispatcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlproject.frontier import Frontier, Session


class SlotDispatcher(Dispatcher):
    """A session, once closed, keeps its server and its place among ``max_sessions`` for ``close_time`` seconds.

    A parked one keeps its place among ``max_parked`` so long.  Call ``free_slots`` before ``next``.  What is decided,
    and when, is the base class's business.
    """

    def __init__(
        self, frontier: Frontier, max_sessions: int, close_time: Callable[[Session], float], linger: float
    ) -> None:
        super().__init__(frontier, max_sessions, linger)
        self._close_time = close_time
        self._closing: list[tuple[float, bool]] = []  # a heap of times, and whether it was parked
        self._opened_at: dict[Session, float] = {}
        self.busy = 0.0  # seconds of slots, from open to closed or parked, summed over those that are

    def free_slots(self, now: float) -> None:
        """Free the slots whose connection is closed by now. O(log sessions) each."""
        while self._closing and self._closing[0][0] <= now:
            if heappop(self._closing)[1]:
                self.max_parked += 1
            else:
                self.max_sessions += 1

    def first_free(self) -> float | None:
        """When the next closing connection is closed; None if none is closing. O(1)."""
        return self._closing[0][0] if self._closing else None

    def opens(self, session: Session, now: float) -> None:
        """The session's connection is opened, or used again, from now on."""
        self._opened_at[session] = now

    def _park(self, session: Session, now: float) -> None:
        super()._park(session, now)
        if session in self._opened_at:  # it was not closed
            self.busy += now - self._opened_at.pop(session)

    def _unpark(self, session: Session, now: float) -> None:
        closed_at = self._closed_at(session, now)
        super()._unpark(session, now)
        self.max_parked -= 1
        heappush(self._closing, (closed_at, True))

    def _close(self, session: Session, now: float) -> None:
        closed_at = self._closed_at(session, now)
        super()._close(session, now)
        self.max_sessions -= 1
        heappush(self._closing, (closed_at, False))
        self.busy += closed_at - self._opened_at.pop(session)

    def _closed_at(self, session: Session, now: float) -> float:
        closed_at = now + self._close_time(session)
        session.server.ready_at = max(session.server.ready_at, closed_at)
        return closed_at
