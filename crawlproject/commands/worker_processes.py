"""The processes of ``scrapy workers``: starts, restarts and stops them, and leaves none behind."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import time
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import Self

#: A worker that dies more often than ``MAX_RESTARTS`` times in ``RESTART_PERIOD`` seconds is not started again.
MAX_RESTARTS, RESTART_PERIOD = 5, 600.0

#: Seconds between the second Ctrl-C and ``kill -9``.
FORCE_TIME = 10.0

#: Bytes at the end of a log in which its last line is looked for.
_MAX_TAIL = 4096

_PR_SET_PDEATHSIG = 1

_STOP = frozenset((signal.SIGINT, signal.SIGTERM))


class Signals:
    """Signals of this process, as events: while it is open, they are queued until ``wait`` takes them.

    SIGINT, SIGTERM and SIGHUP ask for a stop; SIGCHLD means that a child has ended.
    """

    def __enter__(self) -> Self:
        hangup = () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)  # nohup
        self._waited = {*_STOP, *hangup, signal.SIGCHLD}
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._waited)
        return self

    def __exit__(self, *exc: object) -> None:
        while self.wait(0.0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def wait(self, seconds: float) -> Literal["stop", "child"] | None:
        """The next signal; None if there is none for ``seconds``."""
        received = signal.sigtimedwait(self._waited, seconds)
        # Python returns what lies in memory if Ctrl-Z has interrupted the wait for longer than ``seconds``.
        if received is None or received.si_signo not in self._waited:
            return None
        return "child" if received.si_signo == signal.SIGCHLD else "stop"

    def start(  # noqa: PLR0913
        self,
        command: list[str],
        *,
        stdout: int | None = None,
        stderr: int,
        at_our_death: signal.Signals,
        keep_open: tuple[int, ...] = (),
        variables: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a child in its own process group, which Ctrl-C in the terminal does not reach.

        The kernel sends it ``at_our_death`` when this process ends, whatever the cause. ``stdout`` (None:
        ours), ``stderr`` and ``keep_open``, which it inherits, are file descriptors. ``variables`` change its
        environment. Raises OSError.
        """
        prctl, parent, mask = ctypes.CDLL(None).prctl, os.getpid(), self._mask

        def tie() -> None:
            prctl(_PR_SET_PDEATHSIG, int(at_our_death))
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            if os.getppid() != parent:  # it ended before the kernel knew
                os._exit(1)

        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, **(variables or {})},
            process_group=0,
            preexec_fn=tie,
            pass_fds=keep_open,
        )


@dataclass
class Worker:
    """One process, and those that replace it when it dies."""

    number: int
    #: Whether it is started again -> command line.
    command: Callable[[bool], list[str]]
    log: Path
    #: Where its ``FRONTIER_MONITOR_STATS_FILE`` is.
    stats_file: Path
    #: Its temporary files, deleted when it ends or is started again: one that is killed leaves them behind.
    scratch: Path
    process: subprocess.Popen[bytes] | None = None
    #: When it was started again, at last.
    restarts: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_RESTARTS))
    #: Why it failed for good; empty: it did not.
    failure: str = ""
    #: Times it died.
    deaths: int = 0
    _log_start: int = 0

    def start(self, signals: Signals) -> None:
        """Start the process, first or again; its log is appended. Raises OSError."""
        self.stats_file.unlink(missing_ok=True)
        self.clean()
        self.scratch.mkdir(parents=True)
        variables = {"TMPDIR": str(self.scratch.resolve())}
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            command = self.command(self.deaths > 0)
            self.process = signals.start(command, stderr=log.fileno(), at_our_death=signal.SIGKILL, variables=variables)

    def clean(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)

    def stats(self) -> Mapping[str, Any] | None:
        """Stats that its process wrote last; None: it had not opened its spider."""
        try:
            stats = json.loads(self.stats_file.read_bytes())
        except (OSError, ValueError):
            return None
        return stats if isinstance(stats, dict) else None

    def reason(self) -> str:
        """The last line of its log."""
        with self.log.open("rb") as log:
            log.seek(max(self._log_start, log.seek(0, os.SEEK_END) - _MAX_TAIL))
            lines = log.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "its log is empty")


class Workers:
    """All workers of a command, until the last one has ended. Not thread-safe: the kernel ties children to a thread.

    ``show`` writes a line for the user; ``watch`` is called at least once a second with the processes alive.
    """

    def __init__(
        self, workers: list[Worker], signals: Signals, show: Callable[[str], None], watch: Callable[[list[int]], bool]
    ) -> None:
        self._workers = workers
        self._signals = signals
        self._show = show
        self._watch = watch
        self._stops = 0
        self._kill_at: float | None = None

    def run(self) -> bool:
        """Run all to their end; returns whether all ended well. ``watch`` that returns False stops them all."""
        with self._none_left():
            for worker in self._workers:
                worker.start(self._signals)
            is_well = True
            while pids := [worker.process.pid for worker in self._workers if worker.process]:
                if is_well and not self._watch(pids):
                    is_well = False
                    self._force()
                if self._signals.wait(1.0) == "stop":
                    self._stop()
                self._collect()
                if self._kill_at is not None and time.monotonic() >= self._kill_at:
                    self._send(signal.SIGKILL)
        return is_well and not any(worker.failure for worker in self._workers)

    @contextmanager
    def _none_left(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._send(signal.SIGKILL)
            for worker in self._workers:
                if worker.process:
                    worker.process.wait()
                worker.clean()

    def _send(self, number: signal.Signals) -> None:
        for worker in self._workers:
            if worker.process:
                with suppress(ProcessLookupError):
                    worker.process.send_signal(number)

    def _stop(self) -> None:
        """Planned the first time, then forced, then ``kill -9``."""
        self._stops += 1
        if self._stops == 1:
            self._show("stopping: each worker finishes its requests and hands over; Ctrl-C again forces it")
            self._send(signal.SIGINT)
        elif self._stops == 2:
            self._show("stopping now")
            self._force()
        else:
            self._send(signal.SIGKILL)

    def _force(self) -> None:
        self._stops = max(self._stops, 2)
        self._kill_at = time.monotonic() + FORCE_TIME
        self._send(signal.SIGINT)

    def _collect(self) -> None:
        for worker in self._workers:
            code = worker.process.poll() if worker.process else None
            if code is not None:
                worker.process = None
                self._ended(worker, code)

    def _ended(self, worker: Worker, code: int) -> None:
        stats = worker.stats()
        opened, reason = stats is not None, (stats or {}).get("finish_reason")
        if reason is not None:
            if code and not self._stops:
                worker.failure = f"exit code {code}, {reason}"
                self._show(f"worker {worker.number} ended: {reason} ({worker.reason()})")
        elif self._stops:
            if opened:  # killed before it had handed over
                worker.failure = _how(code) if code or self._stops < 2 else "was forced to end"
                self._show(f"worker {worker.number} {worker.failure} before it had stopped")
        elif code > 0 and not opened:
            worker.failure = _how(code)
            self._show(f"worker {worker.number} did not start: {worker.reason()}")
        elif code != 0:
            self._replace(worker, code)

    def _replace(self, worker: Worker, code: int) -> None:
        worker.deaths += 1
        now = time.monotonic()
        if len(worker.restarts) == MAX_RESTARTS and now - worker.restarts[0] <= RESTART_PERIOD:
            worker.failure = f"died {worker.deaths} times"
            self._show(f"worker {worker.number} {_how(code)}, too often: not started again; its log: {worker.log}")
        else:
            worker.restarts.append(now)
            self._show(f"worker {worker.number} {_how(code)}; started again")
            worker.start(self._signals)


def _how(code: int) -> str:
    names = {int(each): each.name for each in signal.Signals}  # without those of real time
    return f"ended with exit code {code}" if code >= 0 else f"was killed by {names.get(-code, -code)}"
