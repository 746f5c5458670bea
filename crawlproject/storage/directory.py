"""The directory of a store: its format, its owner, and a lock that admits one writing process.

``store.json`` is written when the store is created::

    {"kind": "crawlproject-frontier", "format": 1, "spider": "web", "order": "quality"}

``lock`` is locked (flock) by the writing process and contains its PID.  The lock ends with the process.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from crawlproject.storage.errors import StoreError
from crawlproject.storage.replacing import replace_file

if TYPE_CHECKING:
    from pathlib import Path

KIND = "crawlproject-frontier"
#: Increased with every change after which older code cannot read a store, or newer code an older one.
FORMAT = 1

#: File beside it with the names of several spiders and their domains, as JSON.
SPIDERS = "spiders.json"


@dataclass(frozen=True, slots=True)
class StoreLabel:
    #: Name of the spider.
    spider: str
    #: How URLs are sorted within a server: ``quality`` or ``arrival``.
    order: str


class StoreDirectory:
    """A directory with a label and a lock; the database is in ``database``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "db"
        self._label_file = path / "store.json"
        self._lock_file = path / "lock"
        self._lock: int | None = None

    def read_label(self) -> StoreLabel | None:
        """The label; None if there is no store yet.

        Raises StoreError if the directory contains something else, or a store that this version cannot read.
        """
        try:
            text = self._label_file.read_text(encoding="utf-8")
        except FileNotFoundError:
            if self.database.exists():
                raise StoreError(self.path, "damaged: store.json is missing") from None
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(self.path, f"store.json cannot be read: {error}") from error
        return self._parse(text)

    def _parse(self, text: str) -> StoreLabel:
        try:
            values: dict[str, Any] = json.loads(text)
            kind, version = values["kind"], int(values["format"])
            if kind == KIND and version != FORMAT:
                raise StoreError(self.path, f"has format {version}, this version reads format {FORMAT}")
            label = StoreLabel(str(values["spider"]), str(values["order"]))
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(self.path, f"damaged: store.json is not a label of a store: {error!r}") from error
        if kind != KIND:
            raise StoreError(self.path, f"is a store of another kind: {kind!r}")
        return label

    def claim(self, label: StoreLabel) -> None:
        """Lock the store for writing by this process; create it with ``label`` if there is none yet.

        Raises StoreError, and changes nothing, if the store is another spider's or in use.
        """
        self._compare(label)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._take_lock()
            if self._compare(label) is None:
                replace_file(self._label_file, json.dumps({"kind": KIND, "format": FORMAT, **asdict(label)}))
        except OSError as error:
            self.release()
            raise StoreError(self.path, f"cannot be written: {error}") from error
        except StoreError:
            self.release()
            raise

    @property
    def is_deleted(self) -> bool:
        """Whether someone has deleted the claimed store, whose open files can still be written to. 1 us."""
        return self._lock is not None and not os.fstat(self._lock).st_nlink

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def delete(self) -> None:
        """Delete the store, which must be released; errors are ignored."""
        rmtree(self.path, ignore_errors=True)

    def _compare(self, label: StoreLabel) -> StoreLabel | None:
        found = self.read_label()
        if found is not None and found.spider != label.spider:
            raise StoreError(self.path, f"belongs to the spider {found.spider!r}, not to {label.spider!r}")
        if found is not None and found.order != label.order:
            reason = f"its URLs are sorted by {found.order}, this crawl's FRONTIER_POLICY needs them by {label.order}"
            raise StoreError(self.path, reason)
        return found

    def _take_lock(self) -> None:
        lock = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(lock, 20, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(lock)
            raise StoreError(self.path, f"in use by pid {owner}") from None
        except OSError:
            os.close(lock)
            raise
        self._lock = lock
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
