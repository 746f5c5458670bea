"""The error of all stores, and the messages of errors of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class StoreError(Exception):
    """A store cannot be opened, read or written; the message has path and reason. Committed data is unchanged.

    ``path``: of a file or folder, or a URL without password.
    """

    def __init__(self, path: Path | str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def plain_message(error: Exception) -> str:
    """The message of ``error``; of an OSError ``FILE: No space left on device``, without its number."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
