"""WARC files: whole records only, locked while open, renamed when finished.

Each record is compressed separately with gzip, so that each can be read alone (WARC 1.1, annex D).
"""

from __future__ import annotations

import fcntl
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from isal import isal_zlib

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO, Self

#: Suffix of the name of an open file.
OPEN = ".open"

#: Above this level more time saves hardly any space (docs/research/repository.md). It is ISA-L's, which needs a fifth
#: of zlib's time for the same size.
LEVEL = 2

_CHUNK = 65_536


def compress(data: bytes) -> bytes:
    """A whole record, compressed. O(length); thread-safe."""
    return isal_zlib.compress(data, LEVEL, wbits=31)


@dataclass(frozen=True, slots=True)
class Member:
    """A compressed record in a file: ``length`` bytes at ``offset``, which decompress to ``data``."""

    offset: int
    length: int
    data: bytes


def members(file: BinaryIO, start: int = 0) -> Iterator[Member]:
    """The records of a file from ``start`` up to its end or to the first incomplete or damaged one.

    O(bytes); one record in memory at a time.
    """
    file.seek(start)
    rest = b""
    while True:
        unpacker, parts, length = zlib.decompressobj(wbits=31), [], 0
        while not unpacker.eof:
            chunk = rest or file.read(_CHUNK)
            if not chunk:
                return
            rest = b""
            length += len(chunk)
            try:
                parts.append(unpacker.decompress(chunk))
            except zlib.error:
                return
        rest = unpacker.unused_data
        length -= len(rest)
        yield Member(start, length, b"".join(parts))
        start += length


class OpenFile:
    """A file ``NAME.open`` locked by this process; ``name`` is its final name."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self.name = path.name.removesuffix(OPEN)
        self.size = os.fstat(descriptor).st_size

    @classmethod
    def create(cls, path: Path) -> Self | None:
        """A new file; None if the name is taken. Raises OSError."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            return None
        return cls._locked(path, descriptor)

    @classmethod
    def abandoned(cls, path: Path) -> Self | None:
        """A file left by a dead process; None if its process is alive. Raises OSError."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        return cls._locked(path, descriptor)

    @classmethod
    def _locked(cls, path: Path, descriptor: int) -> Self | None:
        """None if another process has locked the file, or has taken it for abandoned and removed it."""
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:
                return cls(path, descriptor)
        os.close(descriptor)
        return None

    def append(self, records: bytes) -> int:
        """Append ``records`` and return their offset; the operating system has the data when this returns.

        Raises OSError if they cannot be written completely; then the file is unchanged.
        """
        rest = memoryview(records)
        try:
            while rest:
                rest = rest[os.pwrite(self._descriptor, rest, self.size + len(records) - len(rest)) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self.size)
            raise
        start = self.size
        self.size += len(records)
        return start

    def cut(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)
        self.size = size

    def finish(self) -> None:
        """Sync and rename to the final name; an empty file is deleted. Raises OSError; then the file stays open."""
        if self.size == 0:
            self._path.unlink()
        else:
            os.fsync(self._descriptor)
            self._path.rename(self._path.with_name(self.name))
            _sync_directory(self._path.parent)
        os.close(self._descriptor)


class WarcFiles:
    """The WARC files of a directory, and names for new ones."""

    def __init__(self, directory: Path, prefix: str = "") -> None:
        self.directory = directory
        self._prefix = prefix
        self._serial = 0

    def create(self) -> OpenFile:
        """A new file with a unique name: prefix, UTC, serial number, PID. Raises OSError."""
        while True:
            now = datetime.now(UTC).strftime("%Y%m%d%H%M%S%f")[:17]  # milliseconds, as in annex C
            name = f"{self._prefix}-{now}-{self._serial:05}-{os.getpid()}.warc.gz{OPEN}"
            self._serial += 1
            if (file := OpenFile.create(self.directory / name)) is not None:
                return file

    def abandoned(self) -> Iterator[OpenFile]:
        """The files left by dead processes, in the order of their names; now locked."""
        for path in sorted(self.directory.glob(f"*.warc.gz{OPEN}")):
            if (file := OpenFile.abandoned(path)) is not None:
                yield file

    def finished(self) -> list[Path]:
        """All finished files, also of other programs."""
        return sorted(self.directory.glob("*.warc.gz"))

    def path(self, name: str) -> Path:
        """Path of a file, finished or open."""
        path = self.directory / name
        return path if path.exists() else path.with_name(name + OPEN)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
