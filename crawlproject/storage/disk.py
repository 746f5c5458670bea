"""The durable store: an embedded database in a directory, written in groups.

Each ``Part`` (URL rows, seen-set, server records) keeps what has changed since the last commit in memory and answers
reads from there first.  ``commit`` writes the changes of all parts in one atomic, synced batch: after a crash either
all of them are there or none.  Nothing is written between commits, so the caller decides what belongs together: it
commits when no page is half dealt with.
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
    """Something kept in a store."""

    def write_to(self, batch: Batch) -> None:
        """Put all changes since the last ``written`` into ``batch``."""
        ...

    def written(self) -> None:
        """Forget these changes: they are on disk."""
        ...


class DiskStore:
    """A store in the directory ``path``; the only one of its kind that may write there.

    Raises StoreError where the store is in use, another spider's, of a newer format or damaged; then nothing has
    been changed.  Memory: up to some 300 MB, whatever it holds, and what has not been committed.
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
        """The store as it was last committed, to look at; also while a crawl runs. StoreError if there is none."""
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
            except StoreError:  # the crawl may just have replaced a file
                if attempt == ATTEMPTS - 1:
                    raise
        return store

    def add(self, part: Part) -> None:
        """Have the changes of ``part`` committed with all others, in the order of adding."""
        self._parts.append(part)

    def commit(self) -> bool:
        """Write all changes, durably and all at once; whether there were any. One fsync, O(changes).

        Raises StoreError where that fails (disk full), or anything has failed before (what was read since may be
        incomplete): then the changes stay in memory, the store as it was.
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
        """Release the directory, without committing."""
        try:
            self.rocks.close()
        finally:
            if self._directory is not None:
                self._directory.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
