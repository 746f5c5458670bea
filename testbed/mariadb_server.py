"""A private MariaDB server for a test: in a temporary folder, on a free port."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from testbed.children import free_port

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_SERVER = "MariaDB's mariadbd is neither on the PATH nor in /usr/sbin"

#: Seconds after which a server that does not answer is taken to hang, on a machine that is very busy.
TIMEOUT = 120.0
POLL = 0.05

#: In the package's folder share/mysql: they make the server's own tables.
_TABLES = ("mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql")


class MariadbError(RuntimeError):
    """The server did not start; the message ends with its log."""


def find_mariadb() -> Path | None:
    """The server's program; None if there is none."""
    found = shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return None if found is None else Path(found)


class RunningMariadb:
    """A server from the start to the end of a ``with`` block. Raises MariadbError if it does not start."""

    def __init__(self) -> None:
        program = find_mariadb()
        if program is None:
            raise MariadbError(NO_SERVER)
        self._program, self._base = program, program.parents[1]
        self._folder = Path(tempfile.mkdtemp(prefix="mariadb-", dir="/tmp"))
        self._data = self._folder / "data"
        self._data.mkdir()
        self._user = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        if os.geteuid() == 0:
            for folder in (self._folder, self._data):
                os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """For ``FRONTIER_RECORDS_DB``."""
        return f"mysql://root@127.0.0.1:{self.port}/crawl"

    def __enter__(self) -> Self:
        share = self._base / "share" / "mysql"
        tables = "".join((share / name).read_text(encoding="utf-8") for name in _TABLES)
        login = "REPLACE INTO global_priv VALUES ('localhost', 'root', '{\"access\": 18446744073709551615}'), "
        login += "('127.0.0.1', 'root', '{\"access\": 18446744073709551615}');"
        script = f"CREATE DATABASE mysql;\nUSE mysql;\n{tables}\n{login}\nCREATE DATABASE crawl CHARSET utf8mb4;\n"
        done = subprocess.run(
            self._command("--bootstrap"), input=script, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        if done.returncode:
            raise MariadbError(done.stderr)
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start it on its data and its port; returns when it answers."""
        place = ("--port", str(self.port), "--bind-address", "127.0.0.1", "--skip-name-resolve")
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(*place, "--socket", str(self._folder / "socket")),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        deadline = time.monotonic() + TIMEOUT
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise MariadbError(f"MariaDB did not start: {(self._folder / 'log').read_text(errors='replace')}")
            time.sleep(POLL)

    def stop(self) -> None:
        """Stop it; connections are broken."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(TIMEOUT)
            self._process = None

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement in ANSI's SQL."""
        import pymysql

        with pymysql.connect(**self._login(), init_command="SET sql_mode = 'ANSI,STRICT_ALL_TABLES'") as connection:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                found = list(cursor.fetchall()) if cursor.description else []
            connection.commit()
            return found

    def _login(self) -> Mapping[str, Any]:
        return {"host": "127.0.0.1", "port": self.port, "user": "root", "database": "crawl", "charset": "utf8mb4"}

    def _answers(self) -> bool:
        import pymysql

        try:
            pymysql.connect(**self._login(), connect_timeout=5).close()
        except pymysql.OperationalError:
            return False
        return True

    def _command(self, *more: str) -> list[str]:
        quick = ("--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=8M", "--innodb-log-file-size=8M")
        places = (f"--basedir={self._base}", f"--datadir={self._data}", f"--user={self._user}")
        return [str(self._program), "--no-defaults", *places, *quick, *more]
