"""CPU time of a piece of code, on any machine: what else runs there makes it longer, never shorter."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def cpu_seconds(make: Callable[[], Callable[[], object]], times: int = 5) -> float:
    """The least CPU time of this thread (seconds) that a call from ``make`` took; without garbage collection."""
    least = float("inf")
    for _ in range(times):
        call = make()
        gc.disable()
        started = time.thread_time()
        try:
            call()
        finally:
            least = min(least, time.thread_time() - started)
            gc.enable()
        if least < 0.1:
            break
    return least
