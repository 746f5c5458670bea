"""A private PostgreSQL server for a test: in a temporary folder, on a free port, by an unprivileged user."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from testbed.children import free_port

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_SERVER = "PostgreSQL's initdb and postgres are neither on the PATH nor in /usr/lib/postgresql"

#: Seconds after which a server that does not answer is taken to hang, on a machine that is very busy.
TIMEOUT = 120.0
POLL = 0.02


class PostgresError(RuntimeError):
    """The server did not start; the message ends with its log."""


def find_postgres() -> Path | None:
    """The folder with the server's programs; None if there is none."""
    folders = [Path(found).parent for name in ("initdb", "postgres") if (found := shutil.which(name))]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


class RunningPostgres:
    """A server from the start to the end of a ``with`` block. Raises PostgresError if it does not start."""

    def __init__(self) -> None:
        programs = find_postgres()
        if programs is None:
            raise PostgresError(NO_SERVER)
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="postgres-", dir="/tmp"))
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:  # the server refuses to run as root
            user = pwd.getpwnam("nobody")
            os.chown(self._folder, user.pw_uid, user.pw_gid)
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """For ``FRONTIER_RECORDS_DB``."""
        return f"postgresql://crawl@127.0.0.1:{self.port}/postgres"

    def __enter__(self) -> Self:
        data = str(self._folder / "data")
        self._run(["initdb", "-D", data, "-U", "crawl", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"])
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start it on its data and its port; returns when it answers."""
        options = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-k", str(self._folder)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._programs / "postgres"), "-D", str(self._folder / "data"), "-p", str(self.port), *options],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self._folder,
                **self._as,
            )
        deadline = time.monotonic() + TIMEOUT
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise PostgresError(f"PostgreSQL did not start: {(self._folder / 'log').read_text(errors='replace')}")
            time.sleep(POLL)

    def stop(self) -> None:
        """Stop it at once; connections are broken."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(TIMEOUT)
            self._process = None

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        import psycopg

        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            cursor.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, command: Sequence[str]) -> None:
        done = subprocess.run(
            [str(self._programs / command[0]), *command[1:]],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
            cwd=self._folder,
            **self._as,
        )
        if done.returncode:
            raise PostgresError(f"{command[0]}: {done.stderr}")
