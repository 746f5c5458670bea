"""Records the links of a crawl in a file, for ``scrapy pagerank``, ``scrapy simulate`` and other programs."""

from __future__ import annotations

import gzip
import logging
import os
import re
import zlib
from contextlib import suppress
from typing import IO, TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

#: Pages, and bytes, between writes: a crash loses at most this many.
PAGES_PER_WRITE, BYTES_PER_WRITE = 100, 1_000_000

#: Start of a gzip member, as in ``simulation.link_file``, which is of the same layer.
_MEMBER = re.compile(rb"\x1f\x8b\x08[\x00\x08].{4}[\x00\x02\x04]", re.DOTALL)
_HEADER = 10  # bytes of such a start

_BLOCK = 1_000_000  # bytes read at a time


class LinkRecord:
    """Writes a line ``URL<TAB>link<TAB>link...`` for each page whose links came as ``Links``; URLs are canonical.

    Compressed if the file's name ends in ``.gz``: each write is a gzip member, so that a killed crawl leaves a whole
    file.  A resumed crawl appends.
    If the disk is full, recording stops and the crawl continues.  Raises ValueError if the file cannot be opened.
    """

    def __init__(self, path: Path, stats: StatsCollector) -> None:
        self._stats = stats
        self._pages = 0
        self._lines: list[bytes] = []
        self._size = 0
        self._is_gzip = path.suffix == ".gz"
        self._file: IO[bytes] | None = None
        try:
            if path.is_file():
                _mend(path, is_gzip=self._is_gzip)
            self._file = path.open("ab")
        except OSError as error:
            raise ValueError(f"LINKS_FILE={str(path)!r}: {error}") from error

    def add(self, page: str, links: Iterable[str]) -> None:
        """Write a page's line. O(its length)."""
        if self._file is None:
            return
        line = "\t".join((page, *links)).encode("utf-8", "replace") + b"\n"
        self._lines.append(line)
        self._size += len(line)
        self._pages += 1
        if len(self._lines) >= PAGES_PER_WRITE or self._size >= BYTES_PER_WRITE:
            try:
                self._write(self._file)
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
                with self._file:
                    self._write(self._file)
            except OSError as error:
                logger.error("LINKS_FILE: %s", error)
                self._stats.inc_value("frontier/links/record_failed")

    def _write(self, file: IO[bytes]) -> None:
        data = b"".join(self._lines)
        self._lines.clear()
        self._size = 0
        if data:
            file.write(gzip.compress(data, 6) if self._is_gzip else data)
            file.flush()


def _mend(path: Path, *, is_gzip: bool) -> None:
    """Make a file end with a whole line, and a whole gzip member, whatever an interrupted write has left.

    Otherwise what is appended could not be read.  O(what was written last).
    """
    with path.open("rb+") as file:
        start = _last_start(file, is_gzip=is_gzip)
        file.seek(start)
        tail = file.read()
        lines = b""
        if is_gzip:
            whole, is_whole = _unpacked(tail)
            if is_whole:
                return
            if len(tail) >= _HEADER and not _MEMBER.match(tail):
                raise OSError("not a gzip file")  # nor ours
            lines = whole[: whole.rfind(b"\n") + 1]
        elif not tail:
            return
        file.seek(start)
        if lines:
            file.write(gzip.compress(lines, 6))
        file.truncate()
    logger.warning("LINKS_FILE=%r ended with a part of a page's links, which is removed", str(path))


def _last_start(file: BinaryIO, *, is_gzip: bool) -> int:
    """The position of the last gzip member, or after the last line break; 0 if there is none."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - _BLOCK)
        file.seek(start)
        block = file.read(end - start + (_HEADER if is_gzip else 0))
        found = max((member.start() for member in _MEMBER.finditer(block)), default=-1)
        if not is_gzip:
            found = block.rfind(b"\n") + 1 or -1
        if found >= 0:
            return start + found
        end = start
    return 0


def _unpacked(data: bytes) -> tuple[bytes, bool]:
    if not data:
        return b"", True
    member = zlib.decompressobj(wbits=31)
    read = bytearray()
    with suppress(zlib.error):  # damaged from here on
        for position in range(0, len(data), 1024):
            read += member.decompress(data[position : position + 1024])
    return bytes(read), member.eof and not member.unused_data
