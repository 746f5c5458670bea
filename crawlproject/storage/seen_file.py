"""The keys of URLs seen, kept in JOBDIR over the runs of a crawl without a frontier store.

``seen.keys``, version 1, all numbers little-endian: 8 bytes ``seenkeys``, 4 bytes version, 4 zero bytes, then 8 bytes
for each key (``crawlproject.seen.url_fingerprint``), in the order in which they were seen.  A key cut short by a crash
is removed when the file is opened next.
"""

from __future__ import annotations

import logging
import os
import sys
from array import array
from time import monotonic
from typing import IO, TYPE_CHECKING

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

#: Seconds between two attempts to write to a full disk.
RETRY_AFTER = 1.0


class SeenFile:
    """An append-only file of 64-bit keys.

    Keys are written immediately, so a kill loses none; they are not synced, so a power failure loses what the system
    has not written yet.  Keys that cannot be written wait in memory, 8 bytes each.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = monotonic) -> None:
        self.path = path
        self._clock = clock
        self._file: IO[bytes] | None = None
        self._length = 0  # valid bytes in the file; those that wait follow them
        self._waiting = bytearray()
        self._is_failing = False
        self._retry_at = 0.0

    def open(self) -> Iterator[array[int]]:
        """Open or create the file; yields its keys in chunks of at most 64 Ki.

        Raises ValueError, and does not change the file, if it has another kind or version.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()
        self._file = file = self.path.open("r+b", buffering=0)
        start = file.read(len(HEADER))
        if start != HEADER and not HEADER.startswith(start):
            file.close()
            raise ValueError(f"{self.path}: {_wrong(start)}; the file was not changed")
        os.pwrite(file.fileno(), HEADER, 0)  # it may be new, or its creation was interrupted
        self._length = file.seek(0, os.SEEK_END)
        self._length -= (self._length - len(HEADER)) % KEY_BYTES
        file.truncate(self._length)
        return self._chunks(file, self._length)

    def _chunks(self, file: IO[bytes], end: int) -> Iterator[array[int]]:
        for at in range(len(HEADER), end, CHUNK_BYTES):
            yield _little_endian(array("Q", os.pread(file.fileno(), min(CHUNK_BYTES, end - at), at)))

    def append(self, keys: Iterable[int]) -> None:
        """Write ``keys``. O(1) each, and one system call. Does not raise if the write fails."""
        self._waiting += _little_endian(array("Q", keys)).tobytes()
        if self._waiting and not (self._is_failing and self._clock() < self._retry_at):
            self._write()

    def close(self) -> None:
        """Write the waiting keys; logs an error if some are lost."""
        if self._file is None:
            return
        if self._waiting:
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
            self._retry_at = self._clock() + RETRY_AFTER
            return  # the next write starts at the same offset, so that no key is split
        self._is_failing = False
        self._length += done
        self._waiting.clear()


def _wrong(start: bytes) -> str:
    if not start.startswith(MAGIC):
        return "not a file of seen keys"
    version = int.from_bytes(start[len(MAGIC) : len(MAGIC) + 4], "little")
    return f"seen keys of version {version}, this version reads {VERSION}"


def _little_endian(keys: array[int]) -> array[int]:
    if sys.byteorder == "big":
        keys.byteswap()
    return keys
