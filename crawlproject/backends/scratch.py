"""The directory of a worker's local copy: removed with the worker; if that was killed, by the next one."""

from __future__ import annotations

import os
import shutil
import tempfile
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import IO
from weakref import finalize

_PREFIX = "crawlproject-worker-"
_LOCK = "lock"


class Scratch:
    """A new directory in the one for temporary files (``TMPDIR``). Raises OSError if there is no room."""

    def __init__(self) -> None:
        remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        new = self.path / "new"
        lock = new.open("wb")
        flock(lock, LOCK_EX | LOCK_NB)
        new.rename(self.path / _LOCK)  # locked from the beginning
        #: Removes it; also called at the end of the process.
        self.remove = finalize(self, _remove, self.path, lock)


def remove_abandoned() -> None:
    """Remove the directories whose process has ended. O(directories)."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            with (path / _LOCK).open("rb") as lock:
                flock(lock, LOCK_EX | LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except OSError:  # no lock yet; or its process runs
            continue


def _remove(path: Path, lock: IO[bytes]) -> None:
    shutil.rmtree(path, ignore_errors=True)
    lock.close()
