"""The pages that a keyword search has visited, kept in a folder with ``index.csv``."""

from __future__ import annotations

import csv
import logging
import re
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

    Stats: ``keyword/saved``, ``keyword/not_saved`` (pages).
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
        """Save a page. O(size)."""
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
