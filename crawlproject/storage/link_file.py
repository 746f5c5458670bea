"""Records the links of a crawl in a file, for ``scrapy pagerank`` and ``scrapy simulate``."""

from __future__ import annotations

import gzip
import logging
from contextlib import suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

#: Pages between flushes to the system: a crash loses at most this many.
PAGES_PER_FLUSH = 100


class LinkRecord:
    """Writes a line ``URL<TAB>link<TAB>link...`` for each page whose links came as ``Links``; URLs are canonical.

    Compressed if the file's name ends in ``.gz``; a resumed crawl appends.
    If the disk is full, recording stops and the crawl continues.  Raises ValueError if the file cannot be opened.
    """

    def __init__(self, path: Path, stats: StatsCollector) -> None:
        self._stats = stats
        self._pages = 0
        self._file: IO[str] | None = None
        try:
            self._file = _open(path)
        except OSError as error:
            raise ValueError(f"LINKS_FILE={str(path)!r}: {error}") from error

    def add(self, page: str, links: Iterable[str]) -> None:
        """Write a page's line. O(its length)."""
        if self._file is None:
            return
        try:
            self._file.write("\t".join((page, *links)).encode("utf-8", "replace").decode() + "\n")
            self._pages += 1
            if self._pages % PAGES_PER_FLUSH == 0:
                self._file.flush()
        except OSError as error:
            logger.error("LINKS_FILE: no more links are recorded: %s", error)
            self._stats.inc_value("frontier/links/record_failed")
            with suppress(OSError):
                self._file.close()
            self._file = None

    def close(self) -> None:
        """Write buffered lines and close the file."""
        if self._file is not None:
            self._stats.set_value("frontier/links/pages_recorded", self._pages)
            try:
                self._file.close()
            except OSError as error:
                logger.error("LINKS_FILE: %s", error)
                self._stats.inc_value("frontier/links/record_failed")


def _open(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "at", 6, "utf-8")
    return path.open("a", encoding="utf-8")
