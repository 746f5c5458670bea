"""What a process's main thread does with its time: computes, waits for a CPU that others have, or has nothing to do."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

INTERVAL = 0.1


class Sample(NamedTuple):
    """Seconds since the thread's start, at ``time`` (``time.monotonic()``)."""

    time: float
    user: float
    system: float
    #: Ready to run, but no CPU was free.
    queued: float


@dataclass(frozen=True)
class CpuUse:
    """Of a stretch of ``seconds``, how many the thread spent computing, in the kernel, and in want of a CPU."""

    seconds: float
    user: float
    system: float
    queued: float

    @property
    def share(self) -> float:
        """Share of the time that the thread was busy, or would have been."""
        return (self.user + self.system + self.queued) / self.seconds if self.seconds else 0.0


class CpuLog:
    """Samples a process's main thread from a thread of its own, until the ``with`` block ends. Linux."""

    def __init__(self, pid: int) -> None:
        self._folder = Path(f"/proc/{pid}")
        self._samples: list[Sample] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> CpuLog:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(INTERVAL):
            try:
                self._samples.append(_sample(self._folder))
            except (OSError, IndexError):  # it has ended
                return

    def between(self, start: float, end: float) -> CpuUse:
        """The use between two moments, to the nearest sample. O(samples)."""
        if not self._samples:
            return CpuUse(0.0, 0.0, 0.0, 0.0)
        first = min(self._samples, key=lambda sample: abs(sample.time - start))
        last = min(self._samples, key=lambda sample: abs(sample.time - end))
        return CpuUse(*(b - a for a, b in zip(first, last, strict=True)))


def _sample(folder: Path) -> Sample:
    """``stat`` has user and system time in ticks, ``schedstat`` time run and time queued in nanoseconds."""
    ran, queued, _ = (int(word) for word in (folder / "schedstat").read_text().split())
    fields = (folder / "task" / folder.name / "stat").read_text().rpartition(")")[2].split()
    user, system = int(fields[11]), int(fields[12])
    share = system / (user + system) if user + system else 0.0
    seconds = ran / 1e9  # finer than the ticks of stat, which give the proportion
    return Sample(time.monotonic(), seconds * (1 - share), seconds * share, queued / 1e9)
