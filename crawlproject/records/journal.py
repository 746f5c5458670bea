"""The file in which records wait for the database: none is lost if the database is unavailable or the crawl killed.

One JSON list per line.  Lines are appended by the crawl and read by the writer's thread; when all are written, the file
is emptied.  After a crash, some rows are written again, which changes nothing (``Database.write``).
"""

from __future__ import annotations

import fcntl
import glob
import json
import os
from contextlib import suppress
from itertools import chain, count
from threading import Lock
from typing import TYPE_CHECKING

from crawlproject.records.record import Row, from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

#: Bytes read at a time.
_PIECE = 1 << 20


class Journal:
    """Locked for this process: if ``path`` is another's, ``path.2`` and so on is used. Raises OSError.

    Takes over the rows of files beside it whose process has ended, ``path.N`` and ``path.aside``, and removes these.
    """

    def __init__(self, path: Path) -> None:
        names = chain([path], (path.with_name(f"{path.name}.{number}") for number in count(2)))
        self.path, self._file = next((name, file) for name in names if (file := _locked(name)) is not None)
        self._lock = Lock()
        #: Bytes of whole lines; bytes of those that are in the database.
        self._end = os.fstat(self._file).st_size
        self._done = 0
        self._end_line()
        for other in path.parent.glob(f"{glob.escape(path.name)}.*"):
            if other != self.path and (other.suffix == ".aside" or other.suffix[1:].isdecimal()):
                self._take_over(other)

    @property
    def is_empty(self) -> bool:
        """Whether the database has all rows."""
        return self._done >= self._end

    def append(self, rows: Iterable[Row]) -> None:
        """Write rows. Raises OSError (disk full); then nothing of them remains in the file."""
        self._append(b"".join(_line(row) for row in rows))

    def _append(self, data: bytes) -> None:
        with self._lock:
            try:
                written = os.write(self._file, data)
                while written < len(data):
                    written += os.write(self._file, data[written:])
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._file, self._end)
                raise
            self._end += len(data)

    def read(self, most: int) -> tuple[list[Row], int, int]:
        """The next rows, at most ``most``; the place behind them, for ``done``; lines that cannot be read."""
        rows: list[Row] = []
        bad = 0
        place, buffer, start = self._done, b"", 0
        while len(rows) < most:
            end = buffer.find(b"\n", start)
            if end < 0:
                buffer, start = buffer[start:], 0
                more = os.pread(self._file, min(_PIECE, self._end - place - len(buffer)), place + len(buffer))
                if not more:
                    break
                buffer += more
                continue
            line = buffer[start:end]
            place, start = place + len(line) + 1, end + 1
            try:
                rows.append(_row(line))
            except (ValueError, TypeError, RecursionError):
                bad += bool(line)
        return rows, place, bad

    def done(self, place: int) -> None:
        """The database has all rows before ``place``."""
        with self._lock:
            self._done = place
            if place >= self._end:
                os.ftruncate(self._file, 0)
                self._done = self._end = 0

    def count(self) -> int:
        """Rows that the database does not have. O(length)."""
        return sum(piece.count(b"\n") for piece in _pieces(self._file, self._done, self._end))

    def close(self) -> None:
        """Close the file; remove it if it is empty, and a file rather than a device."""
        if self.is_empty and self.path.is_file():
            self.path.unlink()
        os.close(self._file)

    def _take_over(self, other: Path) -> None:
        file = _locked(other)
        if file is None:
            return
        try:
            for piece in _pieces(file, 0, os.fstat(file).st_size):
                self._append(piece)
            other.unlink()
        finally:
            self._end_line()
            os.close(file)

    def _end_line(self) -> None:
        if self._end and os.pread(self._file, 1, self._end - 1) != b"\n":
            os.write(self._file, b"\n")
            self._end += 1


def _locked(path: Path) -> int | None:
    """The file at ``path``, made if it is missing and locked for this process; None if another has it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(file)):
                return file
        os.close(file)  # its process has removed it meanwhile


def _pieces(file: int, start: int, end: int) -> Iterator[bytes]:
    while piece := os.pread(file, min(_PIECE, end - start), start):
        yield piece
        start += len(piece)


def _line(row: Row) -> bytes:
    return json.dumps([row.table, row.site, row.key, row.seen, row.values], default=to_json).encode() + b"\n"


def _row(line: bytes) -> Row:
    table, site, key, seen, values = json.loads(line, object_hook=from_json)
    if not isinstance(values, dict):
        raise TypeError("no values")
    return Row(str(table), str(site), str(key), float(seen), values)
