"""Replaces files in one step, so that a crash leaves the old content or the new one; finds where one cut short ends."""

from __future__ import annotations

import os
from contextlib import suppress
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
    try:
        _replace(path, content, is_durable=is_durable)
    except OSError as error:  # of the new file, whose name nobody has heard of
        with suppress(OSError):
            _new(path).unlink()  # on a full disk, each byte counts
        raise OSError(error.errno, error.strerror, str(path)) from error
    if is_durable:
        sync_folder(path.parent)


def _replace(path: Path, content: str | Iterable[str], *, is_durable: bool) -> None:
    new = _new(path)
    with new.open("w", encoding="utf-8") as file:
        file.writelines((content,) if isinstance(content, str) else content)
        file.flush()
        if is_durable:
            os.fsync(file.fileno())
    new.replace(path)


def _new(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")


def sync_folder(folder: Path) -> None:
    """Make the names of files in ``folder`` durable. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
