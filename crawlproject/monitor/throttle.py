"""Limits sessions if the process is the bottleneck: additive increase, multiplicative decrease."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

#: Consecutive overloaded measurements before the limit is lowered, so that one long callback does not lower it.
PATIENCE = 2

#: Number of increments in which the limit grows from 1 to ``full``; it is halved to lower it.
STEPS = 16

#: The limit grows if lag and memory are below these fractions of their maxima.
LAG_MARGIN, MEMORY_MARGIN = 0.5, 0.9


@dataclass
class Throttle:
    """The limit on open sessions, between 1 and ``full``; O(1), no clock.

    ``max_lag`` (seconds) and ``max_memory`` (bytes): above these the process is overloaded; 0 = no maximum.
    """

    full: int
    max_lag: float
    max_memory: int
    limit: int = field(init=False)
    _bad: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.limit = self.full

    def resize(self, full: int) -> None:
        """Change ``full``: at full speed ``limit`` becomes the new one, else it stays below it. O(1)."""
        self.limit = full if self.limit >= self.full else min(self.limit, full)
        self.full = full

    def look(self, lag: float, memory: int) -> int:
        """The new limit, given the loop's mean lag since the last call and the memory in use."""
        if self._exceeds(lag, memory):
            self._bad += 1
            if self._bad >= PATIENCE:
                self.limit = max(1, self.limit // 2)
        else:
            self._bad = 0
            if not self._exceeds(lag / LAG_MARGIN, memory / MEMORY_MARGIN):
                self.limit = min(self.full, self.limit + ceil(self.full / STEPS))
        return self.limit

    def _exceeds(self, lag: float, memory: float) -> bool:
        return lag > self.max_lag > 0 or memory > self.max_memory > 0
