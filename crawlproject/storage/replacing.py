"""Files that a crash leaves whole: replaced in one step, or appended to by whole lines."""

from __future__ import annotations

import os
from contextlib import suppress
from errno import ENOSPC
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import BinaryIO

#: Bytes that ``last_line`` reads at once.
_BLOCK = 1 << 16


def replace_file(path: Path, content: str | Iterable[str], *, is_durable: bool = True) -> None:
    """Replace the text in ``path``, as UTF-8. Raises OSError naming ``path``; then the old file is as it was.

    ``is_durable``: a power cut leaves one of both as well, for which the disk has to write twice (some 10 ms each: the
    file before its name, then the name).  Without it the file may be empty afterwards.
    """
    new = path.with_name(f"{path.name}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            file.writelines((content,) if isinstance(content, str) else content)
            file.flush()
            if is_durable:
                os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:  # of the new file, whose name nobody has heard of
        with suppress(OSError):
            new.unlink()  # on a full disk, each byte counts
        raise OSError(error.errno, error.strerror, str(path)) from error
    if is_durable:
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class LineFile:
    """A file to which whole lines are appended, unbuffered. Every method raises OSError.

    ``is_text``: a part of a line at its end, which a crash has left, is removed.
    """

    def __init__(self, path: Path, *, is_text: bool = True) -> None:
        self._file = path.open("ab", buffering=0)
        if is_text and path.is_file():
            with path.open("rb") as file:
                self._file.truncate(last_line(file))

    def write(self, data: bytes | bytearray) -> None:
        """Append ``data``, all of it or nothing."""
        length = self._file.seek(0, os.SEEK_END) if self._file.seekable() else 0
        try:
            if self._file.write(data) < len(data):
                raise OSError(ENOSPC, os.strerror(ENOSPC))
        except OSError:
            with suppress(OSError):
                self._file.truncate(length)
            raise

    def close(self) -> None:
        self._file.close()


def last_line(file: BinaryIO) -> int:
    """The position after the last line break of ``file``. O(length of the last line)."""
    start = file.seek(0, os.SEEK_END)
    while start:
        end, start = start, max(0, start - _BLOCK)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
    return 0
