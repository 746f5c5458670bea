"""Records how each connection slot of a crawl is used: every second, by phase."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: What a session's time goes to, in the order of a session.  ``PREPARING``: the crawler is about to send a request or
#: deals with the answer.
LOOK_UP, CONNECT, TLS, ROBOTS, FIRST, FURTHER, TRANSFER, PREPARING, POLITE, LINGERING, CLOSING = PHASES = (
    "look-up",
    "connect",
    "TLS",
    "robots.txt",
    "first answer of a connection",
    "further answers",
    "transfer",
    "between answer and next request",
    "polite wait",
    "lingering for links",
    "closing",
)
NO_SESSION = "no session"

#: The phases in which the network or a server is at work.
AT_WORK = (LOOK_UP, CONNECT, TLS, ROBOTS, FIRST, FURTHER, TRANSFER)


class Spans:
    """Collects spans of time: of each phase, and of whole sessions, from open to closed.  Times in seconds."""

    def __init__(self) -> None:
        self.phases: list[tuple[str, float, float]] = []
        self.sessions: list[tuple[float, float]] = []

    def add(self, phase: str, start: float, end: float) -> None:
        """A connection was in ``phase`` from ``start`` to ``end``; an empty span is ignored."""
        if end > start:
            self.phases.append((phase, start, end))

    def session(self, start: float, end: float) -> None:
        """A place was taken from ``start`` to ``end``."""
        self.sessions.append((start, end))

    def shares(self, places: int, start: float, end: float) -> dict[str, float]:
        """Share of the seconds of all ``places`` from ``start`` to ``end`` in each phase, and without session. O(n).

        They add up to 1 if the phases cover the sessions.
        """
        whole = places * (end - start)
        seconds: defaultdict[str, float] = defaultdict(float)
        for phase, first, last in self.phases:
            seconds[phase] += max(0.0, min(last, end) - max(first, start))
        taken = _within(self.sessions, start, end)
        shares = {phase: seconds[phase] / whole for phase in PHASES}
        return shares | {NO_SESSION: 1 - taken / whole}


def _within(spans: Iterable[tuple[float, float]], start: float, end: float) -> float:
    """Seconds of all ``spans`` between ``start`` and ``end``."""
    return sum(max(0.0, min(last, end) - max(first, start)) for first, last in spans)
