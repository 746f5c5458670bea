"""A private database server for a test: in a temporary folder, on a free port, by an unprivileged user."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from testbed.children import free_port

if TYPE_CHECKING:
    import signal

#: Seconds after which a server that does not answer is taken to hang, on a machine that is very busy.
TIMEOUT = 120.0
POLL = 0.02


class ServerError(RuntimeError):
    """The server did not start; the message ends with its log."""


class DatabaseServer:
    """A server from the start to the end of a ``with`` block. Raises ServerError if it does not start.

    Derived classes have ``prepare``, ``command`` and ``can_connect``.
    """

    #: Stops it at once.
    STOP: ClassVar[signal.Signals]

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir="/tmp"))
        self.port = free_port()
        #: Further arguments of ``Popen``.
        self.run_as: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Make its data."""
        raise NotImplementedError

    def command(self) -> list[str]:
        """How it is started."""
        raise NotImplementedError

    def can_connect(self) -> bool:
        """Whether it answers."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self.prepare()
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        """Start it on its data and its port; returns when it answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder, **self.run_as
            )
        deadline = time.monotonic() + TIMEOUT
        while not self.can_connect():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise ServerError(f"{self.name} did not start: {(self.folder / 'log').read_text(errors='replace')}")
            time.sleep(POLL)

    def stop(self) -> None:
        """Stop it at once; connections are broken."""
        if self._process is not None:
            self._process.send_signal(self.STOP)
            self._process.wait(TIMEOUT)
            self._process = None

    def run(self, command: list[str], text: str | None = None) -> None:
        """Run a program to its end. Raises ServerError if it fails."""
        done = subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
            cwd=self.folder,
            **self.run_as,
        )
        if done.returncode:
            raise ServerError(f"{command[0]}: {done.stderr}")
