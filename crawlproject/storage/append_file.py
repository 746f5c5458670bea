"""A file that only grows at its end, for what a crawl must remember at once and over its runs."""

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


class AppendFile:
    """A header and the bytes appended to it.

    Everything is written at once, without a buffer of ours, so killing the process loses nothing; it is not synced, so
    a power failure loses what the system has not written yet.  While the disk refuses (full), bytes wait in memory and
    are tried again with later ones, at most once a second.

    ``path`` None: a temporary file, which ends with the process.  ``content``: what it holds, in words.
    """

    def __init__(self, path: Path | None, header: bytes, content: str, clock: Callable[[], float] = monotonic) -> None:
        self.path = path
        self._header = header
        self._content = content
        self._clock = clock
        self._file: IO[bytes] | None = None
        self._length = 0  # bytes of the file that count; what waits follows them
        self._waiting = bytearray()
        self._is_failing = False
        self._retry_at = 0.0

    def open(self, wrong: Callable[[bytes], str]) -> int:
        """Open the file, new if there is none; returns its length.

        ``wrong``: what is wrong with a file that starts with these bytes; raises ValueError with that, and leaves the
        file as it is, if it does not start with the header.
        """
        if self.path is None:
            file: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - open as long as the crawl
        else:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
            file = self.path.open("r+b", buffering=0)
        try:
            start = file.read(len(self._header))
            if len(start) < len(self._header) and self._header.startswith(start):  # new, or cut short when it was
                os.pwrite(file.fileno(), self._header, 0)
            elif start != self._header:
                raise ValueError(f"{self.path}: {wrong(start)}; the file is left as it is")
            self._length = file.seek(0, os.SEEK_END)
        except BaseException:
            file.close()
            raise
        self._file = file
        return self._length

    def cut(self, length: int) -> None:
        """Remove what is behind ``length``: a record that a crash cut short."""
        assert self._file is not None
        self._file.truncate(length)
        self._length = length

    @property
    def end(self) -> int:
        """Where the next bytes will be."""
        return self._length + len(self._waiting)

    def append(self, data: bytes) -> None:
        """Write ``data``: one system call. Does not raise if the disk refuses."""
        self._waiting += data
        if self._waiting and not (self._is_failing and self._clock() < self._retry_at):
            self._write()

    def read(self, at: int, size: int) -> bytes:
        """Up to ``size`` bytes from ``at``, where something was appended; not further than to the end of the file, or
        of what waits."""
        assert self._file is not None
        if at >= self._length:
            at -= self._length
            return bytes(self._waiting[at : at + size])
        return os.pread(self._file.fileno(), min(size, self._length - at), at)

    def close(self) -> int:
        """Write what waits still; returns how many bytes are lost."""
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
                logger.error("%s: %s cannot be written, they wait in memory: %s", self.path, self._content, error)
            self._is_failing = True
            self._retry_at = self._clock() + RETRY_AFTER
            return  # the next write starts where this one did, so that no record is cut in two
        self._is_failing = False
        self._length += done
        self._waiting.clear()
