"""Records the links of a crawl in a file, for ``scrapy pagerank``, ``scrapy simulate`` and other programs."""

from __future__ import annotations

import gzip
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from crawlproject.storage.replacing import LineFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

#: Pages, and bytes, between writes: a crash loses at most this many.
PAGES_PER_WRITE, BYTES_PER_WRITE = 100, 1_000_000


class LinkRecord:
    """Writes a line ``URL<TAB>link<TAB>link...`` for each page whose links came as ``Links``; URLs are canonical.

    Compressed if the file's name ends in ``.gz``: each write is a gzip member, so that a killed crawl leaves a whole
    file.  A resumed crawl appends.  If the disk is full, recording stops and the crawl continues.  Raises ValueError if
    the file cannot be opened.
    """

    def __init__(self, path: Path, stats: StatsCollector) -> None:
        self._stats = stats
        self._pages = 0
        self._lines: list[bytes] = []
        self._size = 0
        self._is_gzip = path.suffix == ".gz"
        self._file: LineFile | None = None
        try:
            self._file = LineFile(path, is_text=not self._is_gzip)
        except OSError as error:
            raise ValueError(f"FRONTIER_LINKS_FILE={str(path)!r}: {error}") from error

    def add(self, page: str, links: Iterable[str]) -> None:
        if self._file is None:
            return
        line = "\t".join((page, *links)).encode("utf-8", "replace") + b"\n"
        self._lines.append(line)
        self._size += len(line)
        self._pages += 1
        if len(self._lines) >= PAGES_PER_WRITE or self._size >= BYTES_PER_WRITE:
            self._write(self._file)

    def close(self) -> None:
        """Write buffered lines and close the file."""
        if self._file is not None:
            self._stats.set_value("frontier/links/pages_recorded", self._pages)
            self._write(self._file)
        if self._file is not None:
            self._file.close()

    def _write(self, file: LineFile) -> None:
        """Write what is buffered; if that fails, close the file."""
        data = b"".join(self._lines)
        self._lines, self._size = [], 0
        try:
            file.write(gzip.compress(data, 6) if self._is_gzip and data else data)
        except OSError as error:
            logger.error("FRONTIER_LINKS_FILE: no more links are recorded: %s", error)
            self._stats.inc_value("frontier/links/record_failed")
            with suppress(OSError):
                file.close()
            self._file = None
