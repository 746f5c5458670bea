"""One crawl: ``scrapy crawl web`` as a child process on a web that another child serves."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.web import quality_over_time, running_web

from .cpu import CpuLog, CpuUse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawlproject.frontier.politeness import Mode
    from testbed.web import Record, Web, WebSpec

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Conditions:
    """How to crawl; seconds. Not polite unless told."""

    sessions: int = 64
    politeness: Mode = "session"
    factor: float = 0.0
    min_delay: float = 0.0
    max_delay: float = 60.0
    #: Stop after so many seconds; 0: at the end of the web.
    timeout: int = 0
    #: Further settings of Scrapy.
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """One policy's crawl."""

    policy: str
    web: Web
    records: list[Record]
    #: From the first connection to the last page.
    seconds: float
    #: (seconds, share of the quality of all pages) for each page.
    curve: list[tuple[float, float]]
    #: Of the crawling process, in these seconds.
    cpu: CpuUse

    @property
    def responses(self) -> int:
        """Requests that were answered, robots.txt included."""
        return sum(each.kind == "request" and each.status > 0 for each in self.records)


def crawl(policy: str, spec: WebSpec, conditions: Conditions) -> Run:
    """Crawl the web of ``spec`` by ``policy``, page qualities being known on discovery.

    Raises ``subprocess.CalledProcessError`` where Scrapy fails; its output goes to standard error.
    """
    with tempfile.TemporaryDirectory() as folder, running_web(spec) as web:
        scores = Path(folder) / "scores.tsv"
        web.web.write_scores(scores)
        settings = _settings(policy, conditions) | {"FRONTIER_QUALITY_FILE": scores} | dict(conditions.settings)
        command = [sys.executable, "-m", "scrapy", "crawl", "web", "-a", f"seeds={','.join(web.seeds)}"]
        for name, value in settings.items():
            command += ["-s", f"{name}={value}"]
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
        "ALLOWED_NETWORKS": "127.0.0.0/8",
    }


def area(curve: list[tuple[float, float]], until: float) -> float:
    """Mean height of a curve of rising steps from 0 to ``until``. O(n)."""
    total, height, now = 0.0, 0.0, 0.0
    for time, value in [*curve, (until, 1.0)]:
        total += height * (min(time, until) - now)
        height, now = value, min(time, until)
    return total / until
