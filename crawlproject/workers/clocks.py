"""The clock of leases, and that of Redis."""

from __future__ import annotations

import time
from math import inf

#: Seconds by which it must have been set; leases have twice as much as grace, and clocks that are being corrected run
#: up to a tenth faster.
MIN_STEP = 1.0


class RedisClock:
    """How far Redis's clock is ahead of this process's, which is never set, as far as the beats tell.

    So it is noticed that Redis's clock was set: by its operator, by NTP after a suspension, or because a replica took
    over.
    """

    def __init__(self) -> None:
        self._least, self._most = -inf, inf

    def follow(self, shown: float, sent_at: float, received_at: float) -> float:
        """Redis ``shown`` its time between these two times of this process.

        Returns the seconds by which its clock was set forward since the last call, at least; negative if back; 0.0 if
        it was not.  O(1).
        """
        least, most = shown - received_at, shown - sent_at
        forward, back = least - self._most, self._least - most
        self._least, self._most = least, most
        return forward if forward > MIN_STEP else -back if back > MIN_STEP else 0.0


def boot_time() -> float:
    """Seconds since the machine was started; runs on while it sleeps, or while this process is stopped."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
