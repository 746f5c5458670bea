"""The contents met and where each was met first, kept over the runs of a crawl.

``contents.tsv``: a line ``crawlproject contents 1``, then for each content a line ``HASH<TAB>DEPTH<TAB>URL``: 16 hex
digits of the hash of its bytes, the depth and URL of the first page that had it.  The file only grows at its end; a
line cut short by a crash is removed when it is next opened.
"""

from __future__ import annotations

import logging
import os
import tempfile
from typing import IO, TYPE_CHECKING

from crawlproject.content import ContentTable
from crawlproject.urls import server_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

logger = logging.getLogger(__name__)

FILE_NAME = "contents.tsv"
HEADER = b"crawlproject contents 1\n"
_HASH_DIGITS = 16
_MOST_LINE = 1 << 16  # bytes of a line read back: a URL is shorter


class ContentFile:
    """Contents by hash, 20 to 27 bytes of memory each; their URLs stand in the file alone.

    ``path`` None: in a temporary file, which ends with the process.  Every line is written at once, without a buffer of
    ours, so that killing the process loses none; it is not synced: what a power failure takes is met once more.  When
    the disk refuses, further lines stay in memory.  ``damaged`` is called for each line found that is none of ours, and
    each time that one is looked at whose URL is damaged; the first of them is logged.
    """

    def __init__(self, path: Path | None, damaged: Callable[[], None] = lambda: None) -> None:
        self._path = path
        self._count_damaged = damaged
        self._is_damaged = False
        self._table = ContentTable()
        self._end = 0
        self._file: IO[bytes] | None = None
        self._in_memory = bytearray()  # what the disk refused
        self._on_disk = 0  # bytes

    def open(self) -> None:
        """Read what is there. O(contents), 1 us each. ValueError if the file is none of ours; it is left as it is."""
        if self._path is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - open as long as the crawl
        else:
            self._file = self._open(self._path)
        if self._file.seek(0, os.SEEK_END) < len(HEADER):
            self._file.truncate(0)
            self._file.seek(0)
            self._file.write(HEADER)
        self._on_disk = self._end = self._file.seek(0, os.SEEK_END)

    def _open(self, path: Path) -> IO[bytes]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        with path.open("rb") as lines:
            start = lines.readline()
            if not HEADER.startswith(start) and start != HEADER:
                raise ValueError(f"{path}: not a file of contents that this version knows; it is left as it is")
            end = len(start)
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                self._take(line, end)
                end += len(line)
        file = path.open("r+b", buffering=0)
        file.truncate(end)
        return file

    def _take(self, line: bytes, place: int) -> None:
        digits = line[:_HASH_DIGITS]
        try:
            key = int(digits, 16) if digits.isalnum() and line[_HASH_DIGITS : _HASH_DIGITS + 1] == b"\t" else 0
        except ValueError:
            key = 0
        if key:
            self._table.first(key, place)
        else:
            self._damaged(place)

    def _damaged(self, place: int) -> None:
        self._count_damaged()
        if not self._is_damaged:
            self._is_damaged = True
            logger.warning("%s: damaged at byte %d: such contents count as new", self._path, place)

    def __len__(self) -> int:
        return len(self._table)

    def first(self, key: int, url: str, depth: int) -> str | None:
        """URL of the page that had the content ``key`` (not 0) first; None, and it is this one, if none had. O(1).

        Costs a write of some 5 us, or a read where the content was met before.
        """
        place = self._table.first(key, self._end)
        if place == self._end:
            self._append(b"%016x\t%d\t%b\n" % (key, depth, url.encode("utf-8", "surrogatepass")))
            return None
        return self._read(place)

    def close(self) -> None:
        """Release the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _append(self, line: bytes) -> None:
        assert self._file is not None
        self._end += len(line)
        if not self._in_memory:
            try:
                if os.pwrite(self._file.fileno(), line, self._on_disk) == len(line):
                    self._on_disk += len(line)
                    return
            except OSError as error:
                logger.error("%s: contents cannot be written, they stay in memory: %s", self._path, error)
        self._in_memory += line

    def _read(self, place: int) -> str | None:
        """The URL in the line at ``place``; None where it cannot be read."""
        assert self._file is not None
        if place >= self._on_disk:
            data = bytes(self._in_memory[place - self._on_disk :][:_MOST_LINE])
        else:
            data = os.pread(self._file.fileno(), _MOST_LINE, place)
        try:
            url = data.partition(b"\n")[0].split(b"\t", 2)[2].decode("utf-8", "surrogatepass")
            server_key(url)
        except (ValueError, IndexError):
            self._damaged(place)
            return None
        return url
