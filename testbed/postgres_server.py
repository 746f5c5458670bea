"""A private PostgreSQL server for a test."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
from pathlib import Path
from typing import Any

from testbed.database_server import DatabaseServer, ServerError

NO_SERVER = "PostgreSQL's initdb and postgres are neither on the PATH nor in /usr/lib/postgresql"


def find_postgres() -> Path | None:
    """The folder with the server's programs; None if there is none."""
    folders = [Path(found).parent for name in ("initdb", "postgres") if (found := shutil.which(name))]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


class RunningPostgres(DatabaseServer):
    """See ``DatabaseServer``."""

    STOP = signal.SIGINT

    def __init__(self) -> None:
        programs = find_postgres()
        if programs is None:
            raise ServerError(NO_SERVER)
        super().__init__("postgres")
        self._programs = programs
        if os.geteuid() == 0:  # the server refuses to run as root
            user = pwd.getpwnam("nobody")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.run_as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    @property
    def url(self) -> str:
        """For ``FRONTIER_RECORDS_DB``."""
        return f"postgresql://crawl@127.0.0.1:{self.port}/postgres"

    def prepare(self) -> None:
        data = ["-D", str(self.folder / "data")]
        options = ["-U", "crawl", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        self.run([str(self._programs / "initdb"), *data, *options])

    def command(self) -> list[str]:
        options = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-k", str(self.folder)]
        place = ["-D", str(self.folder / "data"), "-p", str(self.port)]
        return [str(self._programs / "postgres"), *place, *options]

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        import psycopg

        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            cursor.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def can_connect(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True
