"""The keys of URLs seen, kept in JOBDIR over the runs of a crawl without a frontier store.

``seen.keys``, version 1, all numbers little-endian: 8 bytes ``seenkeys``, 4 bytes version, 4 zero bytes, then 8 bytes
for each key (``seen.fingerprint.url_fingerprint``), in the order in which they were seen.  A key cut short by a crash
is removed when the file is opened next.
"""

from __future__ import annotations

import logging
import os
from struct import pack, unpack
from typing import IO, TYPE_CHECKING

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
        self._file: IO[bytes] | None = None
        self._length = 0  # valid bytes in the file; those that wait follow them
        self._waiting = bytearray()
        self._is_failing = False

    def open(self) -> Iterator[tuple[int, ...]]:
        """Open or create the file; yields its keys in chunks of at most 64 Ki.

        Raises ValueError, and does not change the file, if it has another kind or version.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()
        self._file = file = self.path.open("r+b", buffering=0)
        if not HEADER.startswith(file.read(len(HEADER))):  # a part of it: its creation was interrupted
            file.close()
            raise ValueError(f"{self.path}: not a file of seen keys of version {VERSION}; the file was not changed")
        os.pwrite(file.fileno(), HEADER, 0)
        self._length = file.seek(0, os.SEEK_END)
        self._length -= (self._length - len(HEADER)) % KEY_BYTES
        file.truncate(self._length)
        return self._chunks(file, self._length)

    def _chunks(self, file: IO[bytes], end: int) -> Iterator[tuple[int, ...]]:
        for at in range(len(HEADER), end, CHUNK_BYTES):
            data = os.pread(file.fileno(), min(CHUNK_BYTES, end - at), at)
            yield unpack(f"<{len(data) // KEY_BYTES}Q", data)

    def append(self, keys: Iterable[int]) -> None:
        """Write ``keys``. O(1) each, and one system call. Does not raise if the write fails."""
        self._waiting += b"".join(pack("<Q", key) for key in keys)
        self._write()

    def close(self) -> None:
        """Write the waiting keys; logs an error if some are lost."""
        if self._file is None:
            return
        self._write()
        self._file.close()
        self._file = None
        if self._waiting:
            logger.error("%s: %d keys could not be written", self.path, len(self._waiting) // KEY_BYTES)

    def _write(self) -> None:
        assert self._file is not None
        data, done = bytes(self._waiting), 0
        try:
            while done < len(data):
                done += os.pwrite(self._file.fileno(), data[done:], self._length + done)
        except OSError as error:
            if not self._is_failing:
                logger.error("%s: keys cannot be written, kept in memory: %s", self.path, error)
            self._is_failing = True
            return  # the next write starts at the same offset, so that no key is split
        self._is_failing = False
        self._length += done
        self._waiting.clear()
