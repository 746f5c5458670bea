"""The keys of URLs seen, kept in JOBDIR over the runs of a crawl without a frontier store.

``seen.keys``, version 1, all numbers little-endian: 8 bytes ``seenkeys``, 4 bytes version, 4 zero bytes, then 8 bytes
for each key (``crawlproject.seen.url_fingerprint``), in the order in which they were seen.  A key cut short by a crash
is removed when the file is opened next.
"""

from __future__ import annotations

import logging
import sys
from array import array
from time import monotonic
from typing import TYPE_CHECKING

from crawlproject.storage.append_file import AppendFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)

FILE_NAME = "seen.keys"
VERSION = 1
MAGIC = b"seenkeys"
HEADER = MAGIC + VERSION.to_bytes(4, "little") + bytes(4)
KEY_BYTES = 8
CHUNK_BYTES = 512 * 1024


class SeenFile:
    """An append-only file of 64-bit keys; keys that cannot be written wait in memory, 8 bytes each."""

    def __init__(self, path: Path, clock: Callable[[], float] = monotonic) -> None:
        self.path = path
        self._file = AppendFile(path, HEADER, "keys", clock)

    def open(self) -> Iterator[array[int]]:
        """Open or create the file; yields its keys in chunks of at most 64 Ki.

        Raises ValueError, and does not change the file, if it has another kind or version.
        """
        size = self._file.open(_wrong) - len(HEADER)
        end = len(HEADER) + size - size % KEY_BYTES
        self._file.cut(end)
        return self._chunks(end)

    def _chunks(self, end: int) -> Iterator[array[int]]:
        for at in range(len(HEADER), end, CHUNK_BYTES):
            yield _little_endian(array("Q", self._file.read(at, min(CHUNK_BYTES, end - at))))

    def append(self, keys: Iterable[int]) -> None:
        """Write ``keys``. O(1) each, and one system call. Does not raise if the write fails."""
        self._file.append(_little_endian(array("Q", keys)).tobytes())

    def close(self) -> None:
        """Write the waiting keys; logs an error if some are lost."""
        lost = self._file.close()
        if lost:
            logger.error("%s: %d keys could not be written", self.path, lost // KEY_BYTES)


def _wrong(start: bytes) -> str:
    if not start.startswith(MAGIC):
        return "not a file of seen keys"
    version = int.from_bytes(start[len(MAGIC) : len(MAGIC) + 4], "little")
    return f"seen keys of version {version}, this version reads {VERSION}"


def _little_endian(keys: array[int]) -> array[int]:
    if sys.byteorder == "big":
        keys.byteswap()
    return keys
