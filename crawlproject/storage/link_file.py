"""The links of a crawl on file, for ``scrapy pagerank`` and ``scrapy simulate``."""

from __future__ import annotations

import gzip
import logging
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from scrapy.utils.job import job_dir

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

#: Pages after which what was written is handed to the system: a crash loses no more.
PAGES_PER_FLUSH = 100


class LinkRecord:
    """Lines ``URL<TAB>link<TAB>link...``, one for each page whose links came as ``Links``; URLs are canonical.

    ``LINKS_FILE`` names the file (``.gz``: compressed), within JOBDIR where that is set; a resumed crawl appends.
    A disk that is full costs the record, not the crawl.
    """

    def __init__(self, path: Path, stats: StatsCollector) -> None:
        self._stats = stats
        self._pages = 0
        self._file: IO[str] | None = None
        try:
            self._file = _open(path)
        except OSError as error:
            raise ValueError(f"LINKS_FILE={str(path)!r}: {error}") from error

    @classmethod
    def from_settings(cls, settings: BaseSettings, stats: StatsCollector) -> Self | None:
        """The record that ``LINKS_FILE`` asks for; ValueError if it cannot be written."""
        name = settings.get("LINKS_FILE")
        return cls(Path(job_dir(settings) or "", name), stats) if name else None

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
            logger.error("LINKS_FILE is given up: %s", error)
            self._stats.inc_value("frontier/links/record_failed")
            with suppress(OSError):
                self._file.close()
            self._file = None

    def close(self) -> None:
        """Write what is left."""
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
