"""What a keyword search keeps: the pages visited, in a folder with ``index.csv``, and the links of a level."""

from __future__ import annotations

import csv
import logging
import os
import re
from contextlib import suppress
from errno import ENOSPC
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector


logger = logging.getLogger(__name__)

INDEX = "index.csv"
COLUMNS = ("file", "level", "url", "status", "lines_found")

#: Characters of a file name that come from the URL.
_MAX_NAME = 80
_unsafe = re.compile(r"[^A-Za-z0-9._-]+").sub
_suffix = re.compile(r"\.[a-z0-9]{1,5}\Z").search


def output_folder(path: Path) -> Path:
    """``path`` as a folder that is new or empty. Raises ValueError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        is_empty = next(path.iterdir(), None) is None
    except OSError as error:
        raise ValueError(f"output={str(path)!r:.200}: {error.strerror}") from error
    except ValueError as error:  # NUL
        raise ValueError(f"output={str(path)!r:.200}: {error}") from error
    if not is_empty:
        raise ValueError(f"output={str(path)!r:.200}: must be a new or an empty folder")
    return path


def file_name(number: int, url: str) -> str:
    """A name from a number and the URL: letters, digits, ``._-``; it begins with the number, so it never escapes."""
    readable = _unsafe("_", url.partition("://")[2])[:_MAX_NAME].strip("._")
    return f"{number:05d}-{readable}" + ("" if _suffix(readable) else ".html")


class SavedPages:
    """Writes pages to a folder; a failure costs one line in the log, and no more pages are saved.

    The page that failed leaves no file.
    """

    def __init__(self, folder: Path, stats: StatsCollector) -> None:
        self._folder = folder
        self._stats = stats
        self._saved = 0
        self._has_failed = False
        try:
            self._write_row(COLUMNS)
        except OSError as error:
            self._end(error)

    def save(self, response: Response, level: int, found: int) -> None:
        if self._has_failed:
            self._stats.inc_value("keyword/not_saved")
            return
        path = self._folder / file_name(self._saved + 1, response.url)
        is_ours = False  # a file of that name may be another's
        try:
            with path.open("xb") as file:
                is_ours = True
                file.write(response.body)
            self._write_row((path.name, level, response.url, response.status, found))
        except OSError as error:
            self._stats.inc_value("keyword/not_saved")
            self._end(error)
            if is_ours:
                with suppress(OSError):
                    path.unlink()
            return
        self._saved += 1
        self._stats.inc_value("keyword/saved")

    def _end(self, error: OSError) -> None:
        self._has_failed = True
        logger.error("%s: no more pages are saved: %s", self._folder, error.strerror)

    def _write_row(self, row: tuple[object, ...]) -> None:
        with (self._folder / INDEX).open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(row)


#: Maximum bytes of a level's links in memory, and in all: 50 million links of 80 characters.
IN_MEMORY, MAX_BYTES = 1_000_000, 4_000_000_000

#: Bytes read at once: some 800 links.
PIECE = 1 << 16

#: Links that are recognised when they come again; others are recognised when they are queued.
REMEMBERED = 50_000


class LevelLinks:
    """A queue of canonical URLs. Stat: ``keyword/links_lost``, beyond ``MAX_BYTES`` or a full disk."""

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats
        # closed by ``close``; unbuffered: a buffer that the disk refuses would be written again by each call
        self._file = SpooledTemporaryFile(IN_MEMORY, buffering=0)  # noqa: SIM115
        self._read = self._written = 0
        self._recent: set[int] = set()
        self._count = 0
        self._is_full = False

    def __len__(self) -> int:
        return self._count

    def add(self, urls: Iterable[str]) -> None:
        """Append URLs that were not added recently."""
        for url in urls:
            key = hash(url)
            if key in self._recent:
                continue
            if len(self._recent) >= REMEMBERED:
                self._recent.clear()
            self._recent.add(key)
            self._append(url.encode("utf-8", "surrogatepass") + b"\n")

    def take(self, most: int) -> list[str]:
        """Remove the first URLs, at most ``most``."""
        wanted, data = min(most, self._count), b""
        self._file.seek(self._read)
        while data.count(b"\n") < wanted and (piece := self._file.read(PIECE)):
            data += piece
        lines = data.split(b"\n")[:-1][:wanted]
        self._read += sum(map(len, lines)) + len(lines)
        self._count -= len(lines)
        if len(lines) < wanted:  # the disk was full while they moved there from memory
            self._stats.inc_value("keyword/links_lost", self._count)
            self._count = 0
        return [line.decode("utf-8", "surrogatepass") for line in lines]

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def _append(self, line: bytes) -> None:
        if not self._is_full and self._written + len(line) <= MAX_BYTES:
            try:
                self._file.seek(self._written)
                if self._file.write(line) < len(line):
                    raise OSError(ENOSPC, os.strerror(ENOSPC))
            except OSError as error:
                self._is_full = True
                logger.error("Links of the next level are lost: %s", error.strerror)
            else:
                self._written += len(line)
                self._count += 1
                return
        self._stats.inc_value("keyword/links_lost")
