"""The links of a level of a keyword search: a megabyte in memory, the rest in a temporary file."""

from __future__ import annotations

import logging
import os
from errno import ENOSPC
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

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
