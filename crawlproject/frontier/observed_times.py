"""Distributions of measured times, and counts of waits that were too short: of this run; no rank depends on them."""

from __future__ import annotations

from bisect import bisect_left
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlproject.frontier.server import Server

#: Upper bounds (seconds) of the classes of times; one more class has no bound. Each is about 1.33 times the one before.
TIME_BOUNDS = tuple(round(0.001 * 10 ** (power / 8), 6) for power in range(41))

#: A request this much (seconds) before its time is too early: clocks are read at slightly different moments.
TOLERANCE = 0.01


class Distribution:
    """Counts of times by class; O(log classes) for each time."""

    __slots__ = ("counts", "longest", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(TIME_BOUNDS) + 1)
        self.total = 0.0  # seconds
        self.longest = 0.0

    def add(self, time: float) -> None:
        """Count a time in seconds."""
        self.counts[bisect_left(TIME_BOUNDS, time)] += 1
        self.total += time
        self.longest = max(self.longest, time)


def quantile(counts: Sequence[int], share: float) -> float | None:
    """The time that this ``share`` of the counted times does not exceed, within a class; None if none is counted.

    Times in the last class count as its lower bound.
    """
    rank = share * sum(counts)
    if not rank:
        return None
    below = 0
    for place, count in enumerate(counts):
        if below + count >= rank and count:
            low = TIME_BOUNDS[place - 1] if place else 0.0
            high = TIME_BOUNDS[min(place, len(TIME_BOUNDS) - 1)]
            return low + (high - low) * (rank - below) / count
        below += count
    return TIME_BOUNDS[-1]


class ObservedTimes:
    """Times of requests, and the waits between two requests to a server; seconds."""

    def __init__(self) -> None:
        self.connect = Distribution()
        self.response = Distribution()
        #: Waits between the end of an answer and the next request, of all servers.
        self.waits = Distribution()
        self.shortest_wait = inf
        #: Requests sent before their server's polite wait was over.
        self.too_early = 0

    def learn_wait(self, server: Server, now: float, fetch_time: float) -> None:
        """Count the wait before a request that took ``fetch_time`` and ends ``now``. O(1).

        Call it before ``server`` learns of that end.
        """
        started = now - fetch_time
        if server.last_end == -inf:
            return
        wait = max(0.0, started - server.last_end)
        self.waits.add(wait)
        self.shortest_wait = min(self.shortest_wait, wait)
        self.too_early += started < server.ready_at - TOLERANCE
