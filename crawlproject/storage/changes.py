"""The changes of commits, for a copy of the store elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.storage.rocks import Batch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawlproject.storage.rocks import Rocks

#: Tables whose rows follow from those of others.
DERIVED = frozenset({"places"})


class Changes:
    """The rows that commits have written: ``tables[table][key]`` is the new value, None if the row was removed.

    A later change of a row replaces an earlier one.  ``places`` is left out: its rows follow from those of ``urls``.
    """

    __slots__ = ("tables",)

    def __init__(self) -> None:
        self.tables: dict[str, dict[bytes, bytes | None]] = {}

    def __len__(self) -> int:
        """Number of changed rows. O(tables)."""
        return sum(map(len, self.tables.values()))


class RecordingBatch(Batch):
    """A batch that also adds its changes to ``changes``."""

    def __init__(self, rocks: Rocks, changes: Changes) -> None:
        super().__init__(rocks)
        self._tables = changes.tables

    def put(self, table: str, key: bytes, value: bytes) -> None:
        super().put(table, key, value)
        self._tables.setdefault(table, {})[key] = value

    def change(self, table: str, changes: Mapping[bytes, bytes | None], prefix: bytes = b"") -> None:
        if prefix:
            changes = {prefix + key: value for key, value in changes.items()}
        super().change(table, changes)
        if changes and table not in DERIVED:
            self._tables.setdefault(table, {}).update(changes)
