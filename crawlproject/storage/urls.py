"""The rows of queued URLs on disk: key = server number, place in its queue; value = the URL and what belongs to it.

Places are bytes that sort as the URLs are to be fetched (``frontier.place``).  Table ``places`` finds a URL's row by a
hash of the URL, where qualities change while URLs wait.
"""

from __future__ import annotations

from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawlproject.storage.disk import DiskStore
    from crawlproject.storage.rocks import Batch

_server_key = Struct(">I").pack

#: Rows read where one is asked for: a session asks for several, which lie together.
ROWS_AT_ONCE = 8

#: What has not been committed: place (or hash) -> row (or place); None where it is to be removed.
Changes = dict[bytes, bytes | None]


class DiskUrlRows:
    """Implements ``frontier.UrlRows``; raises StoreError where the disk fails."""

    def __init__(self, store: DiskStore) -> None:
        self._rocks = store.rocks
        self._rows: dict[int, Changes] = {}
        self._places: Changes = {}
        self._fresh: set[bytes] = set()  # places of rows that were put and not committed
        self._ahead: dict[str, dict[bytes, bytes | None]] = {"places": {}, "urls": {}}  # read, not changed since
        store.add(self)

    def put(self, server: int, place: bytes, row: bytes) -> None:
        """Keep ``row`` at ``place``, which no row had before. O(1)."""
        self._changes(server)[place] = row
        self._fresh.add(place)

    def delete(self, server: int, place: bytes) -> None:
        """Remove the row at ``place``. O(1)."""
        if place in self._fresh:  # the store has not heard of it
            self._fresh.discard(place)
            del self._rows[server][place]
        else:
            self._changes(server)[place] = None

    def get(self, server: int, place: bytes) -> bytes | None:
        """The row at ``place``. O(log n) of the disk; the rows behind it are read as well."""
        changes = self._rows.get(server)
        if changes is not None and place in changes:
            return changes[place]
        key, ahead = _server_key(server) + place, self._ahead["urls"]
        if key not in ahead:
            ahead.update(islice(self._rocks.rows("urls", key, _server_key(server + 1)), ROWS_AT_ONCE))
        return ahead.get(key)

    def read_ahead(self, names: Sequence[tuple[int, bytes]]) -> None:
        """Read places and rows of the URLs named (server, digest) all at once: half the cost of one by one."""
        places, rows = self._ahead["places"], self._ahead["urls"]
        keys = [_server_key(server) + digest for server, digest in names]
        asked = [key for key in keys if key not in places and key not in self._places]
        found = dict(zip(asked, self._rocks.get_many("places", asked), strict=True))
        places.update(found)
        keys = [key[:4] + place for key, place in found.items() if place is not None]
        rows.update(zip(keys, self._rocks.get_many("urls", keys), strict=True))

    def after(self, server: int, place: bytes, count: int) -> list[bytes]:
        """The first ``count`` places behind ``place``, in order. O(count), and O(n log n) in uncommitted changes."""
        changes = self._rows.get(server)
        if not changes:
            return list(islice((key for key, _ in self._stored(server, place)), count))
        stored = (key for key, _ in self._stored(server, place) if key not in changes)
        found = list(islice(stored, count))
        new = (key for key, row in changes.items() if row is not None and key > place)
        return sorted([*found, *new])[:count]

    def rows(self, server: int) -> Iterator[tuple[bytes, bytes]]:
        """All committed places and rows of ``server``, in order."""
        return self._stored(server, b"")

    def put_place(self, server: int, digest: bytes, place: bytes) -> None:
        """Remember at which ``place`` the URL of ``digest`` (8 bytes) waits. O(1)."""
        self._places[_server_key(server) + digest] = place

    def delete_place(self, server: int, digest: bytes) -> None:
        """Forget where the URL of ``digest`` waited. O(1)."""
        self._places[_server_key(server) + digest] = None

    def get_place(self, server: int, digest: bytes) -> bytes | None:
        """Where the URL of ``digest`` waits; None if it does not. O(log n) of the disk."""
        key = _server_key(server) + digest
        if key in self._places:
            return self._places[key]
        ahead = self._ahead["places"]
        return ahead[key] if key in ahead else self._rocks.get("places", key)

    def touched(self) -> set[int]:
        """Servers with rows that have not been committed."""
        return set(self._rows)

    def write_to(self, batch: Batch) -> None:
        """See ``Part``."""
        for server, changes in self._rows.items():
            prefix = _server_key(server)
            for place, row in changes.items():
                _write(batch, "urls", prefix + place, row)
        for key, place_or_none in self._places.items():
            _write(batch, "places", key, place_or_none)

    def written(self) -> None:
        """See ``Part``."""
        self._rows.clear()
        self._places.clear()
        self._fresh.clear()
        self._ahead = {"places": {}, "urls": {}}

    def _changes(self, server: int) -> Changes:
        changes = self._rows.get(server)
        if changes is None:
            changes = self._rows[server] = {}
        return changes

    def _stored(self, server: int, place: bytes) -> Iterator[tuple[bytes, bytes]]:
        prefix = _server_key(server)
        start = prefix + place + b"\0" if place else prefix  # the first key behind `place`
        for key, row in self._rocks.rows("urls", start, _server_key(server + 1)):
            yield key[4:], row


def _write(batch: Batch, table: str, key: bytes, value: bytes | None) -> None:
    if value is None:
        batch.delete(table, key)
    else:
        batch.put(table, key, value)
