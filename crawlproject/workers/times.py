"""The clock of leases."""

from __future__ import annotations

import time


def boot_time() -> float:
    """Seconds since the machine was started; runs on while it sleeps, or while this process is stopped."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
