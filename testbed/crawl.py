"""Crawls the emulated web, each time in a separate process, and evaluates the crawl by the servers' log.

WebSpec, Conditions --crawl--> Run: the log, the curve of the quality collected, the CPU time used
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from testbed.web import quality_over_time, running_web

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crawlproject.frontier.politeness import Mode
    from testbed.web import Record, Web, WebSpec

ROOT = Path(__file__).resolve().parents[1]


INTERVAL = 0.1


class Sample(NamedTuple):
    """A thread's times in seconds since its start, sampled at ``time`` (``time.monotonic()``)."""

    time: float
    user: float
    system: float
    #: Ready to run, but no CPU was free.
    queued: float


@dataclass(frozen=True)
class CpuUse:
    """Seconds that a thread spent in user code, in the kernel, and waiting for a CPU, during ``seconds``."""

    seconds: float
    user: float
    system: float
    queued: float

    @property
    def share(self) -> float:
        """Share of the time in which the thread was running or ready to run."""
        return (self.user + self.system + self.queued) / self.seconds if self.seconds else 0.0


class CpuLog:
    """Samples a process's main thread from a separate thread until the ``with`` block ends. Linux only."""

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
            except (OSError, IndexError):  # the process has ended
                return

    def between(self, start: float, end: float) -> CpuUse:
        """CPU use between two times, to the nearest sample. O(samples)."""
        if not self._samples:
            return CpuUse(0.0, 0.0, 0.0, 0.0)
        first = min(self._samples, key=lambda sample: abs(sample.time - start))
        last = min(self._samples, key=lambda sample: abs(sample.time - end))
        return CpuUse(*(b - a for a, b in zip(first, last, strict=True)))


def _sample(folder: Path) -> Sample:
    """One sample: ``stat`` has user and system time in ticks, ``schedstat`` running and queued time in ns."""
    ran, queued, _ = (int(word) for word in (folder / "schedstat").read_text().split())
    fields = (folder / "task" / folder.name / "stat").read_text().rpartition(")")[2].split()
    user, system = int(fields[11]), int(fields[12])
    share = system / (user + system) if user + system else 0.0
    seconds = ran / 1e9  # finer than the ticks of stat, which give the proportion
    return Sample(time.monotonic(), seconds * (1 - share), seconds * share, queued / 1e9)


@dataclass(frozen=True)
class Conditions:
    """How to crawl; times in seconds. By default without politeness."""

    sessions: int = 64
    politeness: Mode = "session"
    factor: float = 0.0
    min_delay: float = 0.0
    max_delay: float = 60.0
    #: Stop after this many seconds; 0: when all pages are fetched.
    timeout: int = 0
    #: Additional settings of Scrapy.
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """The result of one crawl."""

    policy: str
    web: Web
    records: list[Record]
    #: From the first connection to the last page.
    seconds: float
    #: (seconds, share of the quality of all pages) for each page.
    curve: list[tuple[float, float]]
    #: CPU use of the crawling process during ``seconds``.
    cpu: CpuUse

    @property
    def responses(self) -> int:
        """Number of answered requests, including robots.txt."""
        return sum(each.kind == "request" and each.status > 0 for each in self.records)


def crawl_command(seeds: Iterable[str], settings: Mapping[str, Any]) -> list[str]:
    """The command line of ``scrapy crawl web`` with these settings."""
    command = [sys.executable, "-m", "scrapy", "crawl", "web", "-a", f"seeds={','.join(seeds)}"]
    return command + [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]


def crawl(policy: str, spec: WebSpec, conditions: Conditions) -> Run:
    """Crawl the web of ``spec`` with ``policy``; the quality of a page is known on discovery.

    Raises ``subprocess.CalledProcessError`` if Scrapy fails; its output goes to standard error.
    """
    with tempfile.TemporaryDirectory() as folder, running_web(spec) as web:
        scores = Path(folder) / "scores.tsv"
        web.web.write_scores(scores)
        settings = _settings(policy, conditions) | {"FRONTIER_QUALITY_FILE": scores} | dict(conditions.settings)
        command = crawl_command(web.seeds, settings)
        with subprocess.Popen(command, cwd=ROOT) as process, CpuLog(process.pid) as cpu:
            code = process.wait()
        if code:
            raise subprocess.CalledProcessError(code, command)
        records = web.records()
        curve = quality_over_time(records, web.web)
        seconds = curve[-1][0] if curve else 0.0
        start = min((record.arrival for record in records), default=0.0)
        return Run(policy, web.web, records, seconds, curve, cpu.between(start, start + seconds))


def _settings(policy: str, conditions: Conditions) -> dict[str, Any]:
    return {
        "FRONTIER_POLICY": policy,
        "FRONTIER_MAX_SESSIONS": conditions.sessions,
        "FRONTIER_POLITENESS": conditions.politeness,
        "FRONTIER_DELAY_FACTOR": conditions.factor,
        "FRONTIER_MIN_DELAY": conditions.min_delay,
        "FRONTIER_MAX_DELAY": conditions.max_delay,
        "FRONTIER_QUALITY": "scores",
        "CLOSESPIDER_TIMEOUT": conditions.timeout,
        "LOG_LEVEL": "WARNING",
        "FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8",
    }


def area(curve: list[tuple[float, float]], until: float) -> float:
    """Mean height of a rising step curve from 0 to ``until``. O(n)."""
    total, height, now = 0.0, 0.0, 0.0
    for moment, value in [*curve, (until, 1.0)]:
        total += height * (min(moment, until) - now)
        height, now = value, min(moment, until)
    return total / until
