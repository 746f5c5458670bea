"""The keys of URLs seen, kept in JOBDIR over the runs of a crawl without a frontier store.

``seen.keys``, version 1, all numbers little-endian: 8 bytes ``seenkeys``, 4 bytes version, 4 zero bytes, then 8 bytes
for each key (``seen.fingerprint.url_fingerprint``), in the order in which they were seen.  A key cut short by a crash
is removed when the file is opened next.
"""

from __future__ import annotations

import logging
import os
from struct import pack, unpack
from typing import TYPE_CHECKING

from crawlproject.storage.replacing import LineFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)

FILE_NAME = "seen.keys"
VERSION = 1
HEADER = b"seenkeys" + VERSION.to_bytes(4, "little") + bytes(4)
KEY_BYTES = 8
CHUNK_BYTES = 512 * 1024


class SeenFile:
    """An append-only file of 64-bit keys.

    Keys are written immediately, so a kill loses none; they are not synced, so a power failure loses what the system
    has not written yet.  Keys that cannot be written wait in memory, 8 bytes each.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: LineFile | None = None
        self._waiting = bytearray()
        self._is_failing = False

    def open(self) -> Iterator[tuple[int, ...]]:
        """Open or create the file; yields its keys in chunks of at most 64 Ki.

        Raises ValueError, and does not change the file, if it has another kind or version.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()
        with self.path.open("r+b", buffering=0) as file:
            if not HEADER.startswith(file.read(len(HEADER))):  # a part of it: its creation was interrupted
                raise ValueError(f"{self.path}: not a file of seen keys of version {VERSION}; the file was not changed")
            os.pwrite(file.fileno(), HEADER, 0)
            length = file.seek(0, os.SEEK_END)
            length -= (length - len(HEADER)) % KEY_BYTES
            file.truncate(length)
        self._file = LineFile(self.path, is_text=False)
        return self._chunks(length - len(HEADER))

    def _chunks(self, size: int) -> Iterator[tuple[int, ...]]:
        with self.path.open("rb") as file:
            file.seek(len(HEADER))
            while data := file.read(min(CHUNK_BYTES, size)):
                size -= len(data)
                yield unpack(f"<{len(data) // KEY_BYTES}Q", data)

    def append(self, keys: Iterable[int]) -> None:
        """Write ``keys``. O(1) each, and one system call. Does not raise if the write fails."""
        self._waiting += b"".join(pack("<Q", key) for key in keys)
        assert self._file is not None
        try:
            self._file.write(self._waiting)
            self._waiting.clear()
            self._is_failing = False
        except OSError as error:
            if not self._is_failing:
                logger.error("%s: keys cannot be written, kept in memory: %s", self.path, error)
            self._is_failing = True

    def close(self) -> None:
        """Write the waiting keys; logs an error if some are lost."""
        if self._file is None:
            return
        self.append(())
        self._file.close()
        self._file = None
        if self._waiting:
            logger.error("%s: %d keys could not be written", self.path, len(self._waiting) // KEY_BYTES)
