"""The durable store: an embedded database in a directory, written in batches.

Each ``Part`` (URL rows, seen-set, server records) keeps the changes since the last commit in memory, and reads them
first.  ``commit`` writes the changes of all parts in one atomic, synced batch: after a crash either all or none are
stored.  Nothing is written between commits, so the caller decides what belongs together: it commits when no page is
partly processed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from crawlproject.storage.directory import StoreDirectory, StoreLabel
from crawlproject.storage.errors import StoreError
from crawlproject.storage.rocks import Batch, Rocks

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self


#: How often a reader tries to open the store of a running crawl.
ATTEMPTS = 3


class Part(Protocol):
    """A part of a store."""

    def write_to(self, batch: Batch) -> None:
        """Add all changes since the last ``written`` to ``batch``."""
        ...

    def written(self) -> None:
        """The changes are on disk: drop them from memory."""
        ...


class DiskStore:
    """A store in the directory ``path``, locked for writing by this process.

    Raises StoreError, and changes nothing, if the store is in use, another spider's, of a newer format or damaged.
    Memory: up to about 300 MB, whatever the size of the store, plus the uncommitted changes.
    """

    def __init__(self, path: Path, label: StoreLabel) -> None:
        self.path = path
        self.label = label
        self._parts: list[Part] = []
        self._directory: StoreDirectory | None = StoreDirectory(path)
        self._directory.claim(label)
        try:
            self.rocks = Rocks(self._directory.database)
        except StoreError:
            self._directory.release()
            raise

    @classmethod
    def read_only(cls, path: Path) -> Self:
        """The last committed state, for reading only; also while a crawl runs. Raises StoreError if there is none."""
        directory = StoreDirectory(path)
        label = directory.read_label()
        if label is None:
            raise StoreError(path, "no frontier is stored here")
        store = cls.__new__(cls)
        store.path, store.label = path, label
        store._parts, store._directory = [], None
        for attempt in range(ATTEMPTS):
            try:
                store.rocks = Rocks(directory.database, read_only=True)
                break
            except StoreError:  # the crawl may have replaced a file in the meantime
                if attempt == ATTEMPTS - 1:
                    raise
        return store

    def add(self, part: Part) -> None:
        """Include ``part`` in commits; parts are written in the order of adding."""
        self._parts.append(part)

    def commit(self) -> bool:
        """Write all changes durably and atomically; returns whether there were any. One fsync, O(changes).

        Raises StoreError if that fails (disk full), or if an earlier operation has failed (later reads may be
        incomplete); then the changes stay in memory and the store is unchanged.
        """
        if self.rocks.failure is not None:
            raise self.rocks.failure
        batch = Batch(self.rocks)
        for part in self._parts:
            part.write_to(batch)
        if not len(batch):
            return False
        self.rocks.write(batch)
        for part in self._parts:
            part.written()
        return True

    def close(self) -> None:
        """Release the directory without a commit."""
        try:
            self.rocks.close()
        finally:
            if self._directory is not None:
                self._directory.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
