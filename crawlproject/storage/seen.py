"""The exact seen-set on disk: one key per URL met, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawlproject.storage.disk import DiskStore
    from crawlproject.storage.rocks import Batch

TABLE = "seen"


class DiskSeenStore:
    """Keys (12 bytes: server prefix, URL hash) met before; those of the last second in memory, the rest on disk."""

    def __init__(self, store: DiskStore) -> None:
        self._rocks = store.rocks
        self._fresh: set[bytes] = set()
        store.add(self)

    def add_new(self, keys: Sequence[bytes]) -> list[bool]:
        """Add ``keys``; for each whether it had not been there (nor earlier among them). About 3 µs each.

        Raises StoreError where the disk fails.
        """
        fresh = self._fresh
        old = self._rocks.get_many(TABLE, keys)
        answers = []
        for key, value in zip(keys, old, strict=True):
            is_new = value is None and key not in fresh
            if is_new:
                fresh.add(key)
            answers.append(is_new)
        return answers

    def __contains__(self, key: bytes) -> bool:
        return key in self._fresh or self._rocks.get(TABLE, key) is not None

    def __iter__(self) -> Iterator[bytes]:
        """All keys that have been committed, in their order."""
        return (key for key, _ in self._rocks.rows(TABLE, b""))

    def write_to(self, batch: Batch) -> None:
        """See ``Part``."""
        for key in self._fresh:
            batch.put(TABLE, key, b"")

    def written(self) -> None:
        """See ``Part``."""
        self._fresh.clear()
