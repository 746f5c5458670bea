"""The links of a level of a keyword search: a megabyte in memory, the rest in a temporary file."""

from __future__ import annotations

import logging
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

#: Bytes of a level's links in memory, and at most: 50 million links of 80 characters.
IN_MEMORY, MAX_BYTES = 1_000_000, 4_000_000_000

#: Links that are recognised when they come again; others are recognised when they are queued.
REMEMBERED = 50_000


class LevelLinks:
    """A queue of canonical URLs. Stat: ``keyword/links_lost``, beyond ``MAX_BYTES`` or a full disk."""

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats
        self._file = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  # closed by ``close``
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
        self._file.seek(self._read)
        lines = [self._file.readline() for _ in range(min(most, self._count))]
        self._read += sum(map(len, lines))
        self._count -= len(lines)
        return [line[:-1].decode("utf-8", "surrogatepass") for line in lines]

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def _append(self, line: bytes) -> None:
        if not self._is_full and self._written + len(line) <= MAX_BYTES:
            try:
                self._file.seek(self._written)
                self._file.write(line)
                self._file.flush()
            except OSError as error:
                self._is_full = True
                logger.error("Links of the next level are lost: %s", error.strerror)
            else:
                self._written += len(line)
                self._count += 1
                return
        self._stats.inc_value("keyword/links_lost")
