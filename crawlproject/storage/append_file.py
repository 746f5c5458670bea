"""An append-only file, for state that must survive a kill at any moment."""

from __future__ import annotations

import logging
import os
import tempfile
from time import monotonic
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

logger = logging.getLogger(__name__)

RETRY_AFTER = 1.0  # seconds
BUFFER = 1 << 16  # bytes that wait for a temporary file, which survives nothing


class AppendFile:
    """A header and the bytes appended to it.

    Data is written immediately, without buffering in the process, so a kill loses nothing; it is not synced, so a power
    failure loses what the system has not written yet.  While writes fail (disk full), data waits in memory and is
    written together with later data, tried at most once a second.

    ``path`` None: a temporary file, deleted when the process ends; in memory if there is no directory for such files.
    ``content``: what it holds, for log messages.
    """

    def __init__(self, path: Path | None, header: bytes, content: str, clock: Callable[[], float] = monotonic) -> None:
        self.path = path
        self._header = header
        self._content = content
        self._clock = clock
        self._file: IO[bytes] | None = None
        self._length = 0  # valid bytes in the file; waiting data follows them
        self._waiting = bytearray()
        self._is_failing = False
        self._retry_at = 0.0

    def open(self, wrong: Callable[[bytes], str]) -> int:
        """Open the file, or create it; returns its length.

        Raises ValueError, and does not change the file, if it does not start with the header; ``wrong`` returns the
        reason for the bytes found instead.
        """
        if self.path is None:
            file = _temporary_file()
        else:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
            file = self.path.open("r+b", buffering=0)
        try:
            start = file.read(len(self._header))
            if len(start) < len(self._header) and self._header.startswith(start):
                os.pwrite(file.fileno(), self._header, 0)  # new, or its creation was interrupted
            elif start != self._header:
                raise ValueError(f"{self.path}: {wrong(start)}; the file was not changed")
            self._length = file.seek(0, os.SEEK_END)
        except BaseException:
            file.close()
            raise
        self._file = file
        return self._length

    def cut(self, length: int) -> None:
        """Truncate to ``length``: removes a record cut short by a crash."""
        assert self._file is not None
        self._file.truncate(length)
        self._length = length

    @property
    def end(self) -> int:
        """Offset of the next bytes."""
        return self._length + len(self._waiting)

    def append(self, data: bytes) -> None:
        """Write ``data``: one system call, for a temporary file one per ``BUFFER``. Never raises."""
        self._waiting += data
        if self.path is None and len(self._waiting) < BUFFER:
            return
        if self._waiting and not (self._is_failing and self._clock() < self._retry_at):
            self._write()

    def read(self, at: int, size: int) -> bytes:
        """Up to ``size`` bytes from ``at``, an offset at which data was appended; stops at the end of the file, or of
        the waiting data."""
        assert self._file is not None
        if at >= self._length:
            at -= self._length
            return bytes(self._waiting[at : at + size])
        return os.pread(self._file.fileno(), min(size, self._length - at), at)

    def close(self) -> int:
        """Write the waiting data; returns the number of bytes lost."""
        if self._file is None:
            return 0
        if self._waiting:
            self._write()
        self._file.close()
        self._file = None
        return len(self._waiting)

    def _write(self) -> None:
        assert self._file is not None
        data, done = bytes(self._waiting), 0
        try:
            while done < len(data):
                done += os.pwrite(self._file.fileno(), data[done:], self._length + done)
        except OSError as error:
            if not self._is_failing:
                logger.error("%s: %s cannot be written, kept in memory: %s", self.path, self._content, error)
            self._is_failing = True
            self._retry_at = self._clock() + RETRY_AFTER
            return  # the next write starts at the same offset, so that no record is split
        self._is_failing = False
        self._length += done
        self._waiting.clear()


def _temporary_file() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(buffering=0)
    except OSError as error:  # a container whose file system is read-only
        if not hasattr(os, "memfd_create"):  # Linux has it
            raise
        logger.warning("Temporary files are kept in memory, set TMPDIR to a writable directory: %s", error)
        return os.fdopen(os.memfd_create("crawlproject"), "r+b", buffering=0)
