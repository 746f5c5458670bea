"""The durable store: an embedded database in a directory, written in batches.

Each ``Part`` (URL rows, seen-set, server records) keeps the changes since the last commit in memory, and reads them
first.  ``commit`` writes the changes of all parts in one atomic, synced batch: after a crash either all or none are
stored.  Nothing is written between commits, so the caller decides what belongs together: it commits when no page is
partly processed.

A scratch store is a local copy of data kept elsewhere: it does not survive the process.  Its owner loads rows, learns
from ``commit`` what has changed, and drops ranges of rows that others continue.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Protocol

from crawlproject.storage.directory import StoreDirectory, StoreLabel
from crawlproject.storage.errors import StoreError
from crawlproject.storage.rocks import Batch, Rocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from crawlproject.storage.rocks import Changes

#: How often a reader tries to open the store of a running crawl.
ATTEMPTS = 3

#: Rows that ``load`` writes at once.
LOADED_AT_ONCE = 1000


class Part(Protocol):
    def write_to(self, batch: Batch) -> None:
        """Add all changes since the last ``written`` to ``batch``."""

    def written(self) -> None:
        """The changes are on disk: drop them from memory."""


class DiskStore:
    """A store in the directory ``path``, locked for writing by this process.

    Raises StoreError, and changes nothing, if the store is in use, another spider's, of a newer format or damaged.
    Memory: up to about 300 MB, whatever the size of the store, plus the uncommitted changes.
    """

    def __init__(self, path: Path, label: StoreLabel, *, is_scratch: bool = False) -> None:
        self.path = path
        self.label = label
        self._is_scratch = is_scratch
        self._parts: list[Part] = []
        self._directory: StoreDirectory | None = StoreDirectory(path)
        self._directory.claim(label)
        try:
            self.rocks = Rocks(self._directory.database, durable=not is_scratch)
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
        store._parts, store._directory, store._is_scratch = [], None, False
        for attempt in range(ATTEMPTS):
            try:
                store.rocks = Rocks(directory.database, read_only=True)
                break
            except StoreError:  # the crawl may have replaced a file in the meantime
                if attempt == ATTEMPTS - 1:
                    raise
        return store

    @classmethod
    def scratch(cls, path: Path, label: StoreLabel) -> Self:
        """A new store whose commits cost no fsync, and which ``close`` deletes.

        Raises StoreError, and changes nothing, if ``path`` exists.
        """
        if path.exists():
            raise StoreError(path, "exists: a scratch store needs a directory of its own")
        return cls(path, label, is_scratch=True)

    def add(self, part: Part) -> None:
        """Include ``part`` in commits; parts are written in the order of adding."""
        self._parts.append(part)

    def commit(self, changes: Changes | None = None) -> bool:
        """Write all changes durably and atomically; returns whether there were any. One fsync, O(changes).

        Adds what it wrote to ``changes``, which are of no use if it raises.
        Raises StoreError if that fails (disk full), if an earlier operation has failed (later reads may be incomplete),
        or if the directory was deleted; then the changes stay in memory and the store is unchanged.
        """
        if self.rocks.failure is None and self._directory is not None and self._directory.is_deleted:
            self.rocks.failure = StoreError(self.path, "was deleted while it was in use")
        if self.rocks.failure is not None:
            raise self.rocks.failure
        batch = Batch(self.rocks, changes)
        for part in self._parts:
            part.write_to(batch)
        if not len(batch):
            return False
        self.rocks.write(batch)
        for part in self._parts:
            part.written()
        return True

    # Rows that another process has written

    def load(self, tables: Mapping[str, Iterable[tuple[bytes, bytes | None]]]) -> None:
        """Write rows: table -> (key, value); None removes the key. O(rows), about 1 µs each.

        Parts do not learn of them: load the rows of a server before the server, and the keys of the seen-set through
        ``DiskSeenStore.load``.  Raises StoreError.
        """
        for table, rows in tables.items():
            left = iter(rows)
            while chunk := list(islice(left, LOADED_AT_ONCE)):
                batch = Batch(self.rocks)
                batch.change(table, dict(chunk))
                self.rocks.write(batch)

    def drop(self, ranges: Iterable[tuple[str, bytes, bytes]]) -> None:
        """Remove committed rows: (table, first key, key after the last). O(ranges). Raises StoreError.

        Parts do not learn of it: they have methods of their own.
        """
        batch = Batch(self.rocks)
        for table, start, end in ranges:
            batch.delete_range(table, start, end)
        self.rocks.write(batch)

    def scan(self, table: str, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The committed keys and values from ``start`` (inclusive) to ``end`` (exclusive), in order.

        As they are when this is called, whatever is committed while they are read.  About 1 µs each.
        """
        return self.rocks.rows(table, start, end)

    def close(self) -> None:
        """Release the directory without a commit."""
        try:
            self.rocks.close()
        finally:
            if self._directory is not None:
                self._directory.release()
                if self._is_scratch:
                    self._directory.delete()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
