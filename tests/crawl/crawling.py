"""Runs a crawl in a process of its own (a forked one, see ``processes``) and returns its results."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crawlproject.compat import VERSION
from testbed.workers import environment
from tests.processes import Forked, run_python, running

#: Seconds after which a crawl is considered hung, even on a very busy machine.
TIMEOUT = 600.0

#: What a test crawl has besides the add-on: nothing from outside, no waiting.
IMPOLITE: dict[str, Any] = {"FRONTIER_DELAY_FACTOR": 0, "FRONTIER_MIN_DELAY": 0, "FRONTIER_MAX_DELAY": 0}

#: Exit code of a crawl that could not start.
NOT_STARTED = 0 if VERSION < (2, 15) else 1

#: A crawl that waits for the engine's heartbeat, which comes every 5 s otherwise, takes longer than ``PROMPT`` seconds:
#: add ``NO_HEARTBEAT`` to its settings and assert ``stat("elapsed_time_seconds") < PROMPT``.
NO_HEARTBEAT: dict[str, Any] = {"TEST_HEARTBEAT": 200.0}
PROMPT = 100.0


@dataclass
class Crawl:
    """The results of a crawl."""

    exit_code: int
    log: str
    stats: dict[str, Any] = field(default_factory=dict)
    items: list[dict[str, Any]] = field(default_factory=list)
    #: Peak memory of the process, bytes.
    peak_memory: int = 0
    #: CPU seconds, without imports.
    cpu_time: float = 0.0

    def stat(self, name: str) -> Any:
        """A stat, 0 if it was never set."""
        return self.stats.get(name, 0)

    def urls(self) -> list[str]:
        """The ``url`` of every item, sorted."""
        return sorted(item["url"] for item in self.items)


def command(spider: str, folder: Path, settings: dict[str, Any], arguments: dict[str, str], addon: bool) -> list[str]:
    """Python's arguments that run ``spider`` (module:Class) and leave its results in ``folder``."""
    job = {"spider": spider, "folder": str(folder), "settings": settings, "arguments": arguments, "addon": addon}
    return ["-m", "tests.crawl.runner", json.dumps(job)]


def crawl(spider: str, *, settings: dict[str, Any] | None = None, addon: bool = True, **arguments: str) -> Crawl:
    """Run a crawl to its end. ``settings`` are those of a project that has only the add-on."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        line = command(spider, folder, settings or {}, arguments, addon)
        done = run_python(*line, timeout=TIMEOUT, env=environment())
        return read_results(folder, done.returncode, done.stderr)


@contextmanager
def crawling(
    spider: str, folder: Path, *, settings: dict[str, Any] | None = None, **arguments: str
) -> Iterator[Forked]:
    """A crawl in progress; it is killed if it still runs at the end of the block."""
    line = command(spider, folder, settings or {}, arguments, addon=True)
    with tempfile.TemporaryFile() as log, running(line, stderr=log, env=environment()) as process:
        yield process


def read_results(folder: Path, exit_code: int, log: str) -> Crawl:
    """The results that the runner wrote to ``folder``."""
    result = Crawl(exit_code, log)
    if (folder / "stats.json").exists():
        result.stats = json.loads((folder / "stats.json").read_text())
    if (folder / "items.jsonl").exists():
        result.items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    if (folder / "used.json").exists():
        used = json.loads((folder / "used.json").read_text())
        result.peak_memory, result.cpu_time = used["peak_memory"], used["cpu_time"]
    return result
