"""The index: a row in SQLite for each page of a repository; it can be rebuilt from the WARC files."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Self

FILE_NAME = "index.sqlite"
#: Increased with every change after which older code would misread an index.
FORMAT = 1
#: Longest wait for another process's commit, seconds.
BUSY_TIMEOUT = 5.0


class RepositoryError(Exception):
    """A repository cannot be opened, read or written; the message has path and reason."""

    def __init__(self, path: Path | str, reason: object) -> None:
        super().__init__(f"{path}: {reason}")


class PageRow(NamedTuple):
    """A page; times in seconds, None if unknown."""

    url: str
    #: Seconds since 1970.
    fetched_at: float
    #: ``response``, or ``revisit`` if the body is stored with an earlier page of the same ``digest``.
    record_type: str
    status: int | None = None
    #: Headers as sent.
    content_type: str | None = None
    last_modified: str | None = None
    #: Bytes of the body as received.
    length: int = 0
    #: Digest of the body as received; None without a body.
    digest: str | None = None
    server: str | None = None
    depth: int | None = None
    quality: float | None = None
    dns_time: float | None = None
    connect_time: float | None = None
    tls_time: float | None = None
    response_time: float | None = None
    fetch_time: float | None = None
    ip_address: str | None = None
    #: Reason why the body is incomplete; None if complete.
    truncated: str | None = None
    record_id: str = ""
    #: Name of the finished WARC file, offset of the record in it, and its compressed length; bytes.
    file: str = ""
    offset: int = 0
    record_length: int = 0


COLUMNS = PageRow._fields
_REALS = ("fetched_at", "quality", "dns_time", "connect_time", "tls_time", "response_time", "fetch_time")
_INTEGERS = ("status", "length", "depth", "offset", "record_length", "file")
_TYPES = dict.fromkeys(_REALS, "REAL") | dict.fromkeys(_INTEGERS, "INTEGER")

_SCHEMA = f"""
CREATE TABLE files (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, complete INTEGER NOT NULL DEFAULT 0);
CREATE TABLE pages ({", ".join(f'"{name}" {_TYPES.get(name, "TEXT")}' for name in COLUMNS)});
CREATE UNIQUE INDEX pages_by_place ON pages (file, "offset");
CREATE INDEX pages_by_url ON pages (url, fetched_at);
CREATE INDEX originals ON pages (digest) WHERE record_type = 'response' AND truncated IS NULL;
PRAGMA user_version = {FORMAT};
"""
_INSERT = f"INSERT OR IGNORE INTO pages VALUES ({', '.join('?' * len(COLUMNS))})"
_ROWS = f"""SELECT {", ".join("f.name" if name == "file" else f'p."{name}"' for name in COLUMNS)}
FROM pages p JOIN files f ON f.id = p.file"""
_ORIGINAL = f"{_ROWS} WHERE p.digest = ? AND p.record_type = 'response' AND p.truncated IS NULL LIMIT 1"
_UNCHANGED = "SELECT digest FROM pages WHERE url = ? AND status = 200 ORDER BY fetched_at DESC LIMIT 1"
#: The pages of one server are a range of URLs: they share a prefix that ends in "/".
_FILTERS = {"url": "p.url = ?", "server": "p.url >= ? || '/' AND p.url < ? || '0'", "status": "p.status = ?"}


class PageIndex:
    """The index of a directory.

    Rows wait in memory until ``commit``, so that other processes are blocked only briefly.  ``original`` and
    ``unchanged`` also find waiting rows.  Raises RepositoryError if the file is not an index or cannot be opened.
    ``commit`` raises sqlite3.Error on failure and keeps its rows for the next commit.
    """

    def __init__(self, directory: Path, *, read_only: bool = False) -> None:
        self._path = directory / FILE_NAME
        if read_only and not self._path.is_file():
            raise RepositoryError(directory, f"not a repository: there is no {FILE_NAME}")
        self._files: dict[str, int] = {}
        self._waiting: list[PageRow] = []
        self._by_digest: dict[str, PageRow] = {}
        self._by_url: dict[str, str | None] = {}  # digest of the newest with status 200
        try:
            self._database = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT, isolation_level=None)
        except sqlite3.Error as error:
            raise RepositoryError(self._path, error) from error
        try:
            self._prepare(read_only)
        except BaseException as error:
            self._database.close()
            if isinstance(error, sqlite3.Error):
                raise RepositoryError(self._path, error) from error
            raise

    def _prepare(self, read_only: bool) -> None:
        run = self._database.execute
        run("PRAGMA query_only = ON" if read_only else "PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")  # a kill loses nothing; after a power cut the WARC files have the pages
        run("PRAGMA cache_size = -32000")  # 32 MB
        if not read_only:
            with self._transaction():
                if self._format() == 0:
                    for statement in filter(str.strip, _SCHEMA.split(";")):
                        run(statement)
        if self._format() != FORMAT:
            raise RepositoryError(self._path, f"has format {self._format()}, this version reads {FORMAT}")

    def _format(self) -> int:
        return int(self._database.execute("PRAGMA user_version").fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close without a commit."""
        self._database.close()

    # Writing

    def add(self, row: PageRow) -> None:
        """Add a page; stored with the next ``commit``. O(1)."""
        self._waiting.append(row)
        if row.digest is not None and row.record_type == "response" and row.truncated is None:
            self._by_digest.setdefault(row.digest, row)
        if row.status == 200:
            self._by_url[row.url] = row.digest

    def commit(self) -> int:
        """Store the waiting rows; returns their number. About 10 us each."""
        count = len(self._waiting)
        if count:
            with self._transaction():
                rows = [row._replace(file=self._file_id(row.file)) for row in self._waiting]  # type: ignore[arg-type]
                self._database.executemany(_INSERT, rows)
            self._waiting.clear()
            self._by_digest.clear()
            self._by_url.clear()
        return count

    def _file_id(self, name: str) -> int:
        if name not in self._files:
            self._database.execute("INSERT OR IGNORE INTO files (name) VALUES (?)", (name,))
            self._files[name] = self._database.execute("SELECT id FROM files WHERE name = ?", (name,)).fetchone()[0]
        return self._files[name]

    def complete(self, name: str) -> None:
        """Commit, and mark a file as finished and fully indexed."""
        self.commit()
        with self._transaction():
            self._database.execute("UPDATE files SET complete = 1 WHERE id = ?", (self._file_id(name),))

    def cut(self, name: str, size: int) -> None:
        """Delete the rows of records beyond ``size``, the end of the file."""
        with self._transaction():
            where = "file = (SELECT id FROM files WHERE name = ?) AND offset + record_length > ?"
            self._database.execute(f"DELETE FROM pages WHERE {where}", (name, size))

    # Looking up

    def original(self, digest: str) -> PageRow | None:
        """The page that stores the body with this digest. O(log pages)."""
        waiting = self._by_digest.get(digest)
        if waiting is not None:
            return waiting
        row = self._database.execute(_ORIGINAL, (digest,)).fetchone()
        return None if row is None else PageRow._make(row)

    def unchanged(self, url: str) -> PageRow | None:
        """The page that stores the last body of a URL. O(log pages)."""
        if url in self._by_url:
            digest = self._by_url[url]
        else:
            row = self._database.execute(_UNCHANGED, (url,)).fetchone()
            digest = None if row is None else row[0]
        return None if digest is None else self.original(digest)

    def rows(self, *, newest_first: bool = False, **equal: object) -> Iterator[PageRow]:
        """The stored pages, ordered by URL; optionally only those with a ``url``, ``server`` (scheme://host[:port]) or
        ``status``."""
        asked = {name: value for name, value in equal.items() if value is not None}
        where = " AND ".join(f"({_FILTERS[name]})" for name in asked)
        values = [value for name, value in asked.items() for _ in range(_FILTERS[name].count("?"))]
        order = "p.url, p.fetched_at" + (" DESC" if newest_first else "")
        with closing(self._database.execute(f"{_ROWS} WHERE {where or 1} ORDER BY {order}", values)) as found:
            yield from map(PageRow._make, found)

    def files(self) -> dict[str, tuple[bool, int]]:
        """File name -> (whether fully indexed, number of pages). O(pages)."""
        found = self._database.execute(
            "SELECT f.name, f.complete, count(p.file) FROM files f LEFT JOIN pages p ON p.file = f.id GROUP BY f.id"
        )
        return {name: (bool(complete), pages) for name, complete, pages in found}

    def is_complete(self, name: str) -> bool:
        row = self._database.execute("SELECT complete FROM files WHERE name = ?", (name,)).fetchone()
        return bool(row and row[0])

    def end(self, name: str) -> int:
        """Offset of the end of the last indexed page of a file; later records may be missing. O(log pages)."""
        place = "file = (SELECT id FROM files WHERE name = ?) ORDER BY offset DESC LIMIT 1"
        row = self._database.execute(f"SELECT offset + record_length FROM pages WHERE {place}", (name,)).fetchone()
        return row[0] if row is not None else 0
