"""A private MariaDB server for a test."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.database_server import DatabaseServer, ServerError

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_SERVER = "MariaDB's mariadbd is neither on the PATH nor in /usr/sbin"

#: In the package's folder share/mysql: they make the server's own tables.
_TABLES = ("mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql")


def find_mariadb() -> Path | None:
    """The server's program; None if there is none."""
    found = shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return None if found is None else Path(found)


class RunningMariadb(DatabaseServer):
    """See ``DatabaseServer``."""

    STOP = signal.SIGKILL

    def __init__(self) -> None:
        program = find_mariadb()
        if program is None:
            raise ServerError(NO_SERVER)
        super().__init__("mariadb")
        self._program, self._base = program, program.parents[1]
        self._data = self.folder / "data"
        self._data.mkdir()
        self._user = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        if os.geteuid() == 0:  # it is started as root, and changes its user
            for folder in (self.folder, self._data):
                os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)

    @property
    def url(self) -> str:
        """For ``FRONTIER_RECORDS_DB``."""
        return f"mysql://root@127.0.0.1:{self.port}/crawl"

    def prepare(self) -> None:
        share = self._base / "share" / "mysql"
        tables = "".join((share / name).read_text(encoding="utf-8") for name in _TABLES)
        login = "REPLACE INTO global_priv VALUES ('localhost', 'root', '{\"access\": 18446744073709551615}'), "
        login += "('127.0.0.1', 'root', '{\"access\": 18446744073709551615}');"
        script = f"CREATE DATABASE mysql;\nUSE mysql;\n{tables}\n{login}\nCREATE DATABASE crawl CHARSET utf8mb4;\n"
        self.run(self._server("--bootstrap"), script)

    def command(self) -> list[str]:
        place = ("--port", str(self.port), "--bind-address", "127.0.0.1", "--skip-name-resolve")
        return self._server(*place, "--socket", str(self.folder / "socket"))

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

    def can_connect(self) -> bool:
        import pymysql

        try:
            pymysql.connect(**self._login(), connect_timeout=5).close()
        except pymysql.OperationalError:
            return False
        return True

    def _server(self, *more: str) -> list[str]:
        quick = ("--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=8M", "--innodb-log-file-size=8M")
        places = (f"--basedir={self._base}", f"--datadir={self._data}", f"--user={self._user}")
        return [str(self._program), "--no-defaults", *places, *quick, *more]
