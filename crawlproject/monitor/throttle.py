"""How many sessions a process that is itself the bottleneck opens: additive increase, multiplicative decrease."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

#: Looks in a row at which the process must be too slow: one long callback is no reason.
PATIENCE = 2

#: The limit is halved, and grows by so many steps from 1 to all.
STEPS = 16

#: It grows when the lag is below half of what is allowed, and the memory below nine tenths.
LAG_MARGIN, MEMORY_MARGIN = 0.5, 0.9


@dataclass
class Throttle:
    """The limit on open sessions between 1 and ``full``; O(1), no clock.

    ``max_lag`` (seconds) and ``max_memory`` (bytes): what is too much; 0 = nothing is.
    """

    full: int
    max_lag: float
    max_memory: int
    limit: int = field(init=False)
    _bad: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.limit = self.full

    def look(self, lag: float, memory: int) -> int:
        """The limit from now on, the loop's mean lag and the memory in use having been these since the last look."""
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
