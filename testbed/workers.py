"""Several crawling processes at once, each of which can be killed, paused and interrupted: the workers of one crawl.

Each is ``scrapy crawl SPIDER`` with its own directory for log, items and stats, and with its own address,
by which the log of the emulated web tells the workers apart.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from testbed.children import start_child
from testbed.crawl import ROOT
from testbed.web import Fault, LogTail, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from scrapy.crawler import Crawler

    from testbed.web import RunningWeb

#: Seconds without any new request or end of a worker after which a crawl is taken to hang.
PATIENCE = 300.0
#: Seconds between two looks at the log of the web, which is a file: only its growth can be observed.
POLL = 0.05
#: Characters of each log in an error message.
TAIL = 3000

SETTINGS: dict[str, Any] = {"FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8", "LOG_LEVEL": "INFO"}


#: ``subprocess.Popen``, or what a test forks in its place.
Process: TypeAlias = "subprocess.Popen[bytes]"
#: How a worker's process is started: the arguments of ``python``, and where its output goes.
Start: TypeAlias = "Callable[[Sequence[str], IO[Any]], Process]"


def start_python(arguments: Sequence[str], log: IO[Any]) -> Process:
    """``python ARGUMENTS`` from scratch; it dies with this process."""
    command = [sys.executable, *arguments]
    return start_child(command, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def environment() -> dict[str, str]:
    """The environment without proxies, which would send requests elsewhere."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


class WorkersError(AssertionError):
    """A worker failed, or the crawl makes no progress; the message has the end of each worker's log."""


class ResultFiles:
    """Scrapy extension: writes ``stats.json`` into the directory ``WORKER_FOLDER`` at the end of a crawl."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ResultFiles:
        from scrapy import signals

        def write() -> None:
            folder = Path(crawler.settings["WORKER_FOLDER"])
            assert crawler.stats is not None
            (folder / "stats.json").write_text(json.dumps(crawler.stats.get_stats(), default=str))

        extension = cls()
        extension._write = write  # type: ignore[attr-defined]  # signals hold their receivers weakly
        crawler.signals.connect(write, signals.engine_stopped)
        return extension


@dataclass
class Worker:
    """One process of the crawl, and what it left in its directory."""

    number: int
    address: str
    folder: Path
    process: Process
    #: How it was ended or is going to end by this process: "kill", "interrupt", or "" (by itself).
    fate: str = ""
    paused_at: float | None = None

    def log(self) -> str:
        """Its log so far."""
        return (self.folder / "log.txt").read_text(errors="replace")

    def stats(self) -> dict[str, Any]:
        """Its stats; empty unless it ended properly."""
        path = self.folder / "stats.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def items(self) -> list[dict[str, Any]]:
        """Its items; a line cut off by a kill is left out."""
        path = self.folder / "items.jsonl"
        lines = path.read_text(errors="replace").split("\n")[:-1] if path.exists() else []
        return [json.loads(line) for line in lines if line]


@dataclass
class Workers:
    """The workers of one crawl, in subdirectories of ``folder``; those that still run are killed at the end of a
    ``with`` block. Numbers count from 0, in the order of ``add``."""

    folder: Path
    #: The emulated web that they crawl; without it there are no ``pages`` and no ``records``.
    web: RunningWeb | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    spider: str = "web"
    #: Arguments of the spider; with a web, ``seeds`` are its seeds by default.
    arguments: Mapping[str, str] = field(default_factory=dict)
    start: Start = start_python

    def __post_init__(self) -> None:
        self.all: list[Worker] = []
        #: What was done to the workers, with times; pauses under way are not in it.
        self.faults: list[Fault] = []
        #: The records of the web's log up to the last look at it.
        self.seen: list[Record] = []
        self._tail = None if self.web is None else LogTail(self.web.log_path)
        self._fetched: dict[tuple[str, str], int] = {}
        self._clients: dict[int, str] = {}
        self._sign = time.monotonic()

    def add(self, **settings: Any) -> int:
        """Start a worker; ``settings`` come on top of those of all. Returns its number."""
        number = len(self.all)
        folder = self.folder / f"worker{number}"
        folder.mkdir(parents=True)
        address = f"127.9.{number // 250}.{number % 250 + 1}"
        own = {
            "DOWNLOAD_BIND_ADDRESS": address,
            "WORKER_FOLDER": folder,
            "FEEDS": {str(folder / "items.jsonl"): {"format": "jsonlines"}},
            "EXTENSIONS": {"testbed.workers.ResultFiles": 0, "testbed.crawl.CpuTime": 0},
        }
        command = self._command({**SETTINGS, **own, **self.settings, **settings})
        with (folder / "log.txt").open("ab") as log:
            self.all.append(Worker(number, address, folder, self.start(command, log)))
        return number

    def _command(self, settings: Mapping[str, Any]) -> list[str]:
        seeds = {} if self.web is None else {"seeds": ",".join(self.web.seeds)}
        arguments = [f"{name}={value}" for name, value in {**seeds, **self.arguments}.items()]
        values = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in settings.items()}
        options = [part for argument in arguments for part in ("-a", argument)]
        options += [part for name, value in values.items() for part in ("-s", f"{name}={value}")]
        return ["-m", "scrapy", "crawl", self.spider, *options]

    def kill(self, number: int) -> None:
        """``kill -9``, and wait for its end."""
        worker = self.all[number]
        worker.fate = "kill"
        self._end_pause(worker)
        worker.process.send_signal(signal.SIGKILL)
        worker.process.wait(PATIENCE)
        self._note("kill", worker)

    def pause(self, number: int) -> None:
        """SIGSTOP: its connections stay open, it does nothing; no effect on a worker that is paused."""
        worker = self.all[number]
        if worker.paused_at is None:
            worker.paused_at = time.monotonic()
            worker.process.send_signal(signal.SIGSTOP)

    def resume(self, number: int) -> None:
        """SIGCONT; no effect on a worker that is not paused."""
        worker = self.all[number]
        if worker.paused_at is not None:
            worker.process.send_signal(signal.SIGCONT)
            self._end_pause(worker)

    def interrupt(self, number: int) -> None:
        """SIGINT: it finishes its requests, gives its servers to the others and ends."""
        self.all[number].fate = self.all[number].fate or "interrupt"
        self.all[number].process.send_signal(signal.SIGINT)

    def _end_pause(self, worker: Worker) -> None:
        if worker.paused_at is not None:
            self.faults.append(Fault("pause", worker.paused_at, time.monotonic(), worker.address))
            worker.paused_at = None

    def _note(self, kind: str, worker: Worker) -> None:
        now = time.monotonic()
        self.faults.append(Fault(kind, now, now, worker.address))

    def running(self) -> list[int]:
        """Numbers of the workers that have not ended; paused ones are among them."""
        return [worker.number for worker in self.all if worker.process.poll() is None]

    def look(self) -> list[Record]:
        """Read what is new in the web's log; returns it. O(new records)."""
        assert self.web is not None, "only an emulated web has a log"
        assert self._tail is not None
        if self.web.process.poll() is None:
            self.web.flush()
        new = self._tail.read()
        for each in new:
            if each.kind == "open":
                self._clients[each.connection] = each.target.rpartition(":")[0]
            elif each.status == 200 and each.page:
                self._fetched.setdefault((each.server, each.page), each.connection)
        self.seen += new
        if new:
            self._sign = time.monotonic()
        return new

    def pages(self) -> int:
        """Different pages fetched so far, by the web's log."""
        self.look()
        return len(self._fetched)

    def progress(self) -> dict[int, int]:
        """Worker -> different pages that it was the first to fetch, by the web's log. O(pages)."""
        self.look()
        numbers = {worker.address: worker.number for worker in self.all}
        first = Counter(numbers.get(self._clients.get(each, ""), -1) for each in self._fetched.values())
        return {worker.number: first[worker.number] for worker in self.all}

    def records(self) -> list[Record]:
        """All records of the web's log so far."""
        self.look()
        return self.seen

    def wait_for_pages(self, count: int) -> None:
        """Wait until so many pages are fetched. Raises `WorkersError` if all workers end before."""
        self.until(lambda: self.pages() >= count, f"{count} pages were fetched")

    def until(self, reached: Callable[[], bool], what: str) -> None:
        """Wait until ``reached()``. Raises `WorkersError` if all workers end before, or nothing happens for long."""
        self._sign = time.monotonic()
        while True:
            runs = bool(self.running())  # before the condition, which the last one may have made true
            if reached():
                return
            if not runs:
                raise self.error(f"all workers ended before {what}")
            if time.monotonic() - self._sign > PATIENCE:
                raise self.error(f"nothing happened for {PATIENCE:g} s before {what}")
            time.sleep(POLL)

    def wait_all(self) -> list[int]:
        """Wait for the end of all workers; returns their exit codes. Raises `WorkersError` if one that was not killed
        failed, or nothing happens for long."""
        if self.web is not None:
            self.until(lambda: self.look() is not None and not self.running(), "all workers ended")
        codes = [worker.process.wait(PATIENCE) for worker in self.all]
        failed = [worker.number for worker, code in zip(self.all, codes, strict=True) if code and worker.fate != "kill"]
        if failed:
            raise self.error(
                f"failed: {', '.join(f'worker {number} (exit code {codes[number]})' for number in failed)}"
            )
        return codes

    def stats(self, name: str) -> float:
        """The sum of a stat over the workers that ended properly."""
        return sum(worker.stats().get(name, 0) for worker in self.all)

    def items(self) -> list[dict[str, Any]]:
        return [item for worker in self.all for item in worker.items()]

    def error(self, message: str) -> WorkersError:
        """An error with the end of each worker's log."""
        tails = [
            f"--- worker {worker.number} ({worker.process.poll()}):\n{worker.log()[-TAIL:]}" for worker in self.all
        ]
        return WorkersError("\n".join([message, *tails]))

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *exc: object) -> None:
        end_all(worker.process for worker in self.all)


def end_all(processes: Iterable[Process]) -> None:
    """Kill those that still run."""
    for process in processes:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
