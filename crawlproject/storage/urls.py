"""The rows of queued URLs on disk.

Table ``urls``: server number and sort key -> path, depth and payload (``frontier.queues.sort_key``).  Table ``places``:
server number and digest of the path -> sort key; only if the quality of queued URLs may change.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from crawlproject.frontier.queues.sort_key import SORT_KEY_BYTES
from crawlproject.storage.rocks import number_key, number_range

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawlproject.storage.disk import DiskStore
    from crawlproject.storage.rocks import Batch

#: Rows read at once when one is requested: a session reads several adjacent ones.
ROWS_AT_ONCE = 8

#: Rows read ahead that are kept until the next commit, which may write nothing.
MAX_AHEAD = 10_000

#: Size of the cache of URLs found by digest: links lead to the same URLs repeatedly. 200 bytes each; emptied when full.
RECENT = 1 << 16

#: Uncommitted changes: sort key -> row, or server and digest -> sort key; None removes the key.
Changes = dict[bytes, bytes | None]


class DiskUrlRows:
    """Implements ``frontier.UrlRows``; a ``Part`` of the store; raises StoreError if the disk fails."""

    def __init__(self, store: DiskStore) -> None:
        self._rocks = store.rocks
        self._rows: dict[int, Changes] = {}
        self._sort_keys: Changes = {}
        self._more: dict[int, int] = {}  # rows added minus rows removed, by server
        self._next: dict[bytes, bytes] = {}  # rows read ahead, unchanged since
        self._recent: dict[bytes, bytes] = {}  # server and digest -> sort key and row; empty if it is not queued
        store.add(self)

    def put(self, server: int, sort_key: bytes, row: bytes, digest: bytes | None = None) -> None:
        """Store ``row`` under ``sort_key``, which must be new; ``digest`` (8 bytes) makes it findable. O(1)."""
        more, rows = self._more, self._rows
        more[server] = more.get(server, 0) + 1
        changes = rows.get(server)
        if changes is None:
            changes = rows[server] = {}
        changes[sort_key] = row
        if digest is not None:
            key = number_key(server) + digest
            self._sort_keys[key] = sort_key
            self._note(key, sort_key + row)

    def move(self, server: int, digest: bytes, old: bytes, sort_key: bytes, row: bytes) -> None:
        """Move the ``row`` of ``digest`` from the sort key ``old`` to ``sort_key``. O(1)."""
        changes = self._remove(server, old)
        changes[sort_key] = row
        key = number_key(server) + digest
        self._sort_keys[key] = sort_key
        self._note(key, sort_key + row)

    def delete(self, server: int, sort_key: bytes, digest: bytes | None = None) -> None:
        """Remove the row of ``sort_key``, and ``digest`` if it refers to this row. O(1), plus O(log n) on disk."""
        self._more[server] = self._more.get(server, 0) - 1
        self._remove(server, sort_key)
        if digest is not None and self._sort_key(key := number_key(server) + digest) == sort_key:
            self._sort_keys[key] = None
            self._note(key, b"")

    def get(self, server: int, sort_key: bytes) -> bytes | None:
        """The row of ``sort_key``. O(log n) on disk; also reads the rows after it."""
        changes = self._rows.get(server)
        if changes is not None and sort_key in changes:
            return changes[sort_key]
        key, ahead = number_key(server) + sort_key, self._next
        if key not in ahead:
            if len(ahead) > MAX_AHEAD:
                ahead.clear()
            ahead.update(islice(self._rocks.rows("urls", key, number_key(server + 1)), ROWS_AT_ONCE))
        return ahead.get(key)

    def find(self, server: int, digest: bytes) -> tuple[bytes, bytes] | None:
        """Sort key and row of the URL of ``digest``; None if it is not queued. O(1) after ``read_ahead``."""
        key = number_key(server) + digest
        found = self._recent.get(key)
        if found is None:
            self.read_ahead([(server, digest)])
            found = self._recent.get(key)
        return (found[:SORT_KEY_BYTES], found[SORT_KEY_BYTES:]) if found else None

    def read_ahead(self, names: Sequence[tuple[int, bytes]]) -> None:
        """Cache sort keys and rows of the URLs ``names`` (server, digest): half the cost of single reads."""
        keys = {number_key(server) + digest: server for server, digest in names}
        if len(self._recent) + len(keys) > RECENT:
            self._recent.clear()
        recent, pending = self._recent, self._sort_keys
        asked = [key for key in keys if key not in recent]
        unknown = [key for key in asked if key not in pending]
        sort_keys = dict(zip(unknown, self._rocks.get_many("places", unknown), strict=True)) if unknown else {}
        stored: list[tuple[bytes, bytes]] = []
        for key in asked:
            sort_key = pending[key] if key in pending else sort_keys[key]
            row = None if sort_key is None else self._rows.get(keys[key], {}).get(sort_key)
            if sort_key is not None and row is None:
                stored.append((key, sort_key))
            else:
                recent[key] = b"" if sort_key is None or row is None else sort_key + row
        rows = self._rocks.get_many("urls", [key[:4] + sort_key for key, sort_key in stored]) if stored else ()
        for (key, sort_key), row in zip(stored, rows, strict=True):
            recent[key] = b"" if row is None else sort_key + row

    def after(self, server: int, sort_key: bytes, count: int) -> list[bytes]:
        """The first ``count`` sort keys after ``sort_key``, in order. O(count), O(n log n) in uncommitted ones."""
        changes = self._rows.get(server)
        if not changes:
            return list(islice((key for key, _ in self._stored(server, sort_key)), count))
        stored = (key for key, _ in self._stored(server, sort_key) if key not in changes)
        found = list(islice(stored, count))
        new = (key for key, row in changes.items() if row is not None and key > sort_key)
        return sorted([*found, *new])[:count]

    def rows(self, server: int) -> Iterator[tuple[bytes, bytes]]:
        """All committed sort keys and rows of ``server``, in order."""
        return self._stored(server, b"")

    def resized(self) -> dict[int, int]:
        """Server -> change of its number of rows since the last commit, if not 0."""
        return {server: more for server, more in self._more.items() if more}

    def forget(self, first: int, end: int) -> None:
        """Forget the uncommitted changes of the servers ``first`` to ``end`` - 1, and what is cached of their rows.

        O(uncommitted changes), plus O(``RECENT``): a few ms.
        """
        start, stop = number_range(first, end)
        self._rows = {server: rows for server, rows in self._rows.items() if not first <= server < end}
        self._more = {server: more for server, more in self._more.items() if not first <= server < end}
        self._sort_keys = {key: sort_key for key, sort_key in self._sort_keys.items() if not start <= key < stop}
        self._next = {key: row for key, row in self._next.items() if not start <= key < stop}
        self._recent = {key: found for key, found in self._recent.items() if not start <= key < stop}

    def write_to(self, batch: Batch) -> None:
        for server, changes in self._rows.items():
            batch.change("urls", changes, number_key(server))
        batch.change("places", self._sort_keys)

    def written(self) -> None:
        self._rows.clear()
        self._sort_keys.clear()
        self._more.clear()
        self._next.clear()

    def _sort_key(self, key: bytes) -> bytes | None:
        if key in self._sort_keys:
            return self._sort_keys[key]
        found = self._recent.get(key)
        return self._rocks.get("places", key) if found is None else found[:SORT_KEY_BYTES]

    def _note(self, key: bytes, found: bytes) -> None:
        if key in self._recent:
            self._recent[key] = found

    def _remove(self, server: int, sort_key: bytes) -> Changes:
        changes = self._rows.setdefault(server, {})
        if changes.get(sort_key) is not None:  # not committed yet
            del changes[sort_key]
        else:
            changes[sort_key] = None
        return changes

    def _stored(self, server: int, sort_key: bytes) -> Iterator[tuple[bytes, bytes]]:
        prefix = number_key(server)
        start = prefix + sort_key + b"\0" if sort_key else prefix  # the first key after `sort_key`
        for key, row in self._rocks.rows("urls", start, number_key(server + 1)):
            yield key[4:], row
