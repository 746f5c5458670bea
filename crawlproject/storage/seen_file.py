"""The keys of URLs met, kept in JOBDIR over the runs of a crawl where no frontier store keeps them.

``seen.keys``, version 1, all numbers little-endian: 8 bytes ``seenkeys``, 4 bytes version, 4 bytes of zero, then 8
bytes for each key (``crawlproject.seen.url_fingerprint``), in order of meeting.  The file only ever grows at its
end; a key cut short there by a crash is removed when it is next opened.  Versions and whatever else can be told from
the first 16 bytes are checked before anything is written.
"""

from __future__ import annotations

import logging
import sys
from array import array
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from io import FileIO
    from pathlib import Path

logger = logging.getLogger(__name__)

FILE_NAME = "seen.keys"
VERSION = 1
MAGIC = b"seenkeys"
HEADER = MAGIC + VERSION.to_bytes(4, "little") + bytes(4)
KEY_BYTES = 8
CHUNK_BYTES = 512 * 1024
RETRY_AFTER = 1.0  # seconds


class SeenFile:
    """An append-only file of 64-bit keys.

    Every batch is written at once, without a buffer of ours, so that killing the process loses none; it is not synced,
    so a power failure loses what the system had not written yet.  While the disk refuses (full), keys wait in memory,
    8 bytes each, and are tried again with later ones, once a second at most.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = monotonic) -> None:
        self.path = path
        self._clock = clock
        self._waiting = bytearray()
        self._retry_at = 0.0
        self._is_failing = False
        self._length = 0  # bytes in the file that are whole keys
        self._file: FileIO | None = None

    def open(self) -> Iterator[array[int]]:
        """Make the file if there is none; its keys in chunks of at most 64 Ki.

        ValueError, with the file left as it is, if it is not one of ours or of a newer version.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            self.path.touch()
        file = self.path.open("r+b", buffering=0)
        try:
            start = file.read(len(HEADER)) or b""
            if len(start) < len(HEADER) and HEADER.startswith(start):  # new, or cut short when it was
                file.seek(0)
                file.write(HEADER)
            else:
                self._check(start)
            size = file.seek(0, 2) - len(HEADER)
            self._length = len(HEADER) + size - size % KEY_BYTES
            file.truncate(self._length)
        except BaseException:
            file.close()
            raise
        self._file = file
        return self._chunks(file)

    def _check(self, start: bytes) -> None:
        if not start.startswith(MAGIC):
            raise ValueError(f"{self.path}: not a file of seen keys; it is left as it is")
        version = int.from_bytes(start[len(MAGIC) : len(MAGIC) + 4], "little")
        if start != HEADER:
            raise ValueError(
                f"{self.path}: seen keys of version {version}, this program knows version {VERSION}; "
                "the file is left as it is"
            )

    def _chunks(self, file: FileIO) -> Iterator[array[int]]:
        with self.path.open("rb") as reader:
            reader.seek(len(HEADER))
            left = self._length - len(HEADER)
            while left > 0 and (data := reader.read(min(CHUNK_BYTES, left))):
                left -= len(data)
                yield _little_endian(array("Q", data))

    def append(self, keys: Iterable[int]) -> None:
        """Write ``keys``. O(1) each, and one system call. Does not raise where the disk refuses."""
        self._waiting += _little_endian(array("Q", keys)).tobytes()
        if self._waiting and not (self._is_failing and self._clock() < self._retry_at):
            self._write()

    def close(self) -> None:
        """Write what waits still, or log how much is lost."""
        if self._file is None:
            return
        if self._waiting:
            self._write()
        if self._waiting:
            logger.error("%s: %d keys could not be kept", self.path, len(self._waiting) // KEY_BYTES)
        self._file.close()
        self._file = None

    def _write(self) -> None:
        assert self._file is not None
        try:
            done = 0
            self._file.seek(self._length)
            while done < len(self._waiting):
                done += self._file.write(self._waiting[done:]) or 0
        except OSError as error:
            if not self._is_failing:
                logger.error("%s: keys cannot be written, they wait in memory: %s", self.path, error)
            self._is_failing = True
            self._retry_at = self._clock() + RETRY_AFTER
            return  # the next write starts where this one did, so that no key stands askew
        self._is_failing = False
        self._length += done
        self._waiting.clear()


def _little_endian(keys: array[int]) -> array[int]:
    if sys.byteorder == "big":
        keys.byteswap()
    return keys
