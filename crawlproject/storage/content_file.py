"""The page contents seen and the first page of each, kept over the runs of a crawl.

``contents.tsv``: a line ``crawlproject contents 1``, then for each content a line ``HASH<TAB>DEPTH<TAB>URL``: the hash
of its bytes (16 hex digits), the depth and the URL of the first page that had it.  A line cut short by a crash is
removed when the file is opened next.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from crawlproject.content import ContentTable
from crawlproject.storage.append_file import AppendFile
from crawlproject.urls import server_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

logger = logging.getLogger(__name__)

FILE_NAME = "contents.tsv"
HEADER = b"crawlproject contents 1\n"
_HASH_DIGITS = 16
_MAX_LINE = 1 << 16  # bytes read for a line: a URL is shorter


class ContentFile:
    """Contents by hash, 20 to 27 bytes of memory each; their URLs are only in the file.

    ``path`` None: a temporary file, deleted when the process ends.  Lines that cannot be written wait in memory.
    ``damaged`` is called for each damaged line, and each time a damaged URL is looked up; the first one is logged.
    """

    def __init__(self, path: Path | None, damaged: Callable[[], None] = lambda: None) -> None:
        self._path = path
        self._count_damaged = damaged
        self._is_damaged = False
        self._table = ContentTable()
        self._file = AppendFile(path, HEADER, "contents")

    def open(self) -> None:
        """Read the file. O(contents), 1 us each.

        Raises ValueError, and does not change the file, if it has another kind or version.
        """
        self._file.open(lambda _: "not a contents file that this version can read")
        if self._path is None:
            return
        end = len(HEADER)
        with self._path.open("rb") as lines:
            lines.seek(end)
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                self._take(line, end)
                end += len(line)
        self._file.cut(end)

    def _take(self, line: bytes, at: int) -> None:
        digits = line[:_HASH_DIGITS]
        try:
            key = int(digits, 16) if digits.isalnum() and line[_HASH_DIGITS : _HASH_DIGITS + 1] == b"\t" else 0
        except ValueError:
            key = 0
        if key:
            self._table.first(key, at)
        else:
            self._damaged(at)

    def _damaged(self, at: int) -> None:
        self._count_damaged()
        if not self._is_damaged:
            self._is_damaged = True
            logger.warning("%s: damaged at byte %d: damaged contents count as new", self._path, at)

    def __len__(self) -> int:
        return len(self._table)

    def first(self, key: int, url: str, depth: int) -> str | None:
        """URL of the first page with the content ``key`` (not 0); None if ``url`` is the first. O(1).

        Costs a write of about 5 us for a new content, a read for a known one.
        """
        end = self._file.end
        at = self._table.first(key, end)
        if at == end:
            self._file.append(b"%016x\t%d\t%b\n" % (key, depth, url.encode("utf-8", "surrogatepass")))
            return None
        return self._url_at(at)

    def close(self) -> None:
        """Write the waiting lines; logs an error if some are lost."""
        lost = self._file.close()
        if lost and self._path is not None:
            logger.error("%s: %d bytes of contents could not be written", self._path, lost)

    def _url_at(self, at: int) -> str | None:
        """The URL in the line at ``at``; None if the line cannot be read."""
        try:
            line = self._file.read(at, _MAX_LINE).partition(b"\n")[0]
            url = line.split(b"\t", 2)[2].decode("utf-8", "surrogatepass")
            server_key(url)
        except (ValueError, IndexError):
            self._damaged(at)
            return None
        return url
