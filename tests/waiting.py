"""Waiting for what another process does, with an end: a wait in vain fails and says what it waited for."""

from __future__ import annotations

import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.processes import HUNG

#: Seconds after which what should come of itself is considered to have failed, even on a very busy machine.
PATIENCE = 600.0

#: Characters of a log that a failure shows.
_TAIL = 3_000


def until(condition: Callable[[], Any], process: Any = None, log: Path | Callable[[], str] | None = None) -> Any:
    """Wait until ``condition()`` is true; returns its value.

    Fails if ``process`` (with ``poll()``) ends before, or after ``PATIENCE``: with the end of ``log``, a file or what
    it holds.
    """
    start = time.monotonic()
    while True:
        ended = process is not None and process.poll() is not None  # before the condition, which its end may make true
        if value := condition():
            return value
        if ended or time.monotonic() > start + PATIENCE:
            caller = traceback.extract_stack(limit=2)[0]
            why = f"the process ended ({process.poll()})" if ended else f"{PATIENCE:.0f} s were not enough"
            pytest.fail(f"{why}; {Path(caller.filename).name}:{caller.lineno} waited: {caller.line}{_end_of(log)}")
        # What is awaited is in files and in other processes: nothing tells when it comes. To look may cost them as much
        # as it costs here, so the longer it takes, the less often.
        time.sleep(min(max((time.monotonic() - start) / 10, 0.02), 0.2))


def _end_of(log: Path | Callable[[], str] | None) -> str:
    if isinstance(log, Path):
        log = log.read_text if log.exists() else None
    return "" if log is None else f"\nEnd of the log:\n{log()[-_TAIL:]}"


@contextmanager
def alarm(name: str, seconds: float = HUNG) -> Iterator[None]:
    """Fail if the block, on the main thread, takes so long: the traceback shows what it waits for."""

    def ring(number: int, frame: FrameType | None) -> None:
        pytest.fail(f"{name} hung: no end after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)
        signal.signal(signal.SIGALRM, before)
