"""The page contents seen and the first page of each, kept over the runs of a crawl: a table in SQLite."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING

from crawlproject.urls import server_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

logger = logging.getLogger(__name__)

FILE_NAME = "contents.sqlite"
#: Increased with every change after which older code would misread the file.
FORMAT = 1
#: Longest wait for another process that has the file open, seconds.
BUSY_TIMEOUT = 0.1


class ContentFile:
    """Contents by hash, about 100 bytes of disk each and 2 MB of memory in all. Each is written at once, not synced.

    ``path`` None: a temporary file, deleted when the process ends.
    ``failed`` is called each time a content cannot be read or written (damage, a full disk), which then counts as new;
    the first time is logged.
    """

    def __init__(self, path: Path | None, failed: Callable[[], None] = lambda: None) -> None:
        self._path = path
        self._count_failed = failed
        self._has_failed = False
        self._database: sqlite3.Connection | None = None

    def open(self) -> None:
        """Open or create the file. O(1). Raises ValueError, and changes nothing, if it is of another kind or version;
        OSError if its folder cannot be made."""
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        self._database = database = sqlite3.connect(self._path or "", BUSY_TIMEOUT, isolation_level=None)
        try:
            version, tables = database.execute(
                "SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version"
            ).fetchone()
            if (version, tables) not in ((0, 0), (FORMAT, 1)):
                raise ValueError(f"{self._path}: not a contents file that this version can read")
            if self._path is None:
                database.execute("PRAGMA journal_mode = OFF")
                database.execute("BEGIN")  # without an end: nothing outlives the process
            else:
                database.execute("PRAGMA journal_mode = WAL")
                database.execute("PRAGMA synchronous = NORMAL")
            if not tables:
                database.execute("CREATE TABLE contents (hash INTEGER PRIMARY KEY, url BLOB NOT NULL)")
                database.execute(f"PRAGMA user_version = {FORMAT}")
        except (sqlite3.Error, ValueError) as error:
            self.close()
            raise error if isinstance(error, ValueError) else ValueError(f"{self._path}: {error}") from error

    def first(self, key: int, url: str) -> str | None:
        """URL of the first page with the content ``key`` (64 bits); None if ``url`` is the first.

        O(log contents): about 3 us for a new content, 6 us for a known one.
        """
        assert self._database is not None
        key -= 1 << 63  # SQLite's integers have a sign
        execute = self._database.execute
        try:
            row = key, url.encode("utf-8", "surrogatepass")
            if execute("INSERT INTO contents VALUES (?, ?) ON CONFLICT DO NOTHING", row).rowcount:
                return None
            found = execute("SELECT url FROM contents WHERE hash = ?", (key,)).fetchone()
            first: str = found[0].decode("utf-8", "surrogatepass")
            server_key(first)
        except (sqlite3.Error, ValueError, AttributeError) as error:
            self._count_failed()
            if not self._has_failed:
                self._has_failed = True
                logger.error("%s: contents that cannot be read or written count as new: %s", self._path, error)
            return None
        return first

    def close(self) -> None:
        """Close the file. Never raises."""
        if self._database is not None:
            self._database.close()
            self._database = None
