"""The emulated web in a separate process, as a context manager for tests and benchmarks."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .log import Record, read_log
from .web import Web, build_web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .spec import WebSpec

STOP_TIMEOUT = 30.0
#: Seconds for an answer of the child, on a machine that is very busy.
ANSWER_TIMEOUT = 120.0
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "local_web.py"
#: Starts the child, as ``subprocess.Popen`` does; the tests fork it.
START: Callable[..., subprocess.Popen[str]] = subprocess.Popen


@dataclass
class RunningWeb:
    """A web served by another process."""

    web: Web
    """The same web, also built in this process, with the port in its URLs."""
    port: int
    seeds: list[str]
    log_path: Path
    process: subprocess.Popen[str] = field(repr=False)
    _kept: list[Record] | None = field(default=None, repr=False)

    def records(self) -> list[Record]:
        """The records so far; complete after the end of the `with` block. O(records)."""
        if self._kept is not None:
            return self._kept
        if self.process.poll() is None:
            self.flush()
        return read_log(self.log_path)

    def keep_records(self) -> None:
        """Read the log into memory, because its file is about to be deleted."""
        self._kept = self.records()

    def flush(self) -> None:
        """Make the child flush the log to its file; waits until it has. Raises `RuntimeError` if it does not."""
        self.process.send_signal(signal.SIGUSR1)
        _read_message(self.process)

    def limit(self, pages: float) -> None:
        """From now on answer each client (an address) at most `pages` requests for pages in all; the others wait.

        A crawl at its limit is stopped at a known place, however late this process notices. `math.inf`: no limit.
        """
        assert self.process.stdin is not None
        self.process.stdin.write(f"{pages}\n")
        self.process.stdin.flush()
        _read_message(self.process)


@contextmanager
def running_web(spec: WebSpec, log_path: str | Path | None = None) -> Iterator[RunningWeb]:
    """Serve a web in a child process until the end of the `with` block; the log can still be read afterwards.

    Without `log_path` the log's file is deleted at the end, and its records are kept in memory. The child also ends
    when this process ends. Raises `RuntimeError` if the child does not become ready; it prints the reason to stderr.
    """
    with tempfile.TemporaryDirectory(prefix="localweb-") as folder:
        path = Path(log_path or Path(folder) / "access.tsv")
        command = [sys.executable, str(SCRIPT), "serve", "--spec", spec.to_json(), "--log", str(path)]
        command += ["--until-eof"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        # a separate session: Ctrl-C reaches only this process, which then stops the child
        with START(command, **pipes, text=True, start_new_session=True) as process:
            try:
                web = build_web(spec)
                ready = _read_message(process)
                running = RunningWeb(web.at(ready["port"]), ready["port"], ready["seeds"], path, process)
                yield running
            finally:
                _stop(process)
        if log_path is None:
            running.keep_records()


def _stop(process: subprocess.Popen[str]) -> None:
    """Send SIGTERM, so that the log is complete; SIGKILL if that does not help."""
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()


def _read_message(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The next line of JSON from the child. Raises `RuntimeError` if there is none."""
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], ANSWER_TIMEOUT)[0]:
        raise RuntimeError(f"the emulated web printed nothing for {ANSWER_TIMEOUT:g} s")
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"the emulated web ended with exit code {process.wait()}")
    message: dict[str, Any] = json.loads(line)
    return message
