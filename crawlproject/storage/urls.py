"""The rows of queued URLs on disk: key = server number, place in its queue; value = the URL and what belongs to it.

Places are bytes that sort as the URLs are to be fetched (``frontier.place``).  Table ``places`` finds a URL's row by a
hash of the URL, where qualities change while URLs wait.
"""

from __future__ import annotations

from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING

from crawlproject.frontier.queues.sort_key import PLACE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawlproject.storage.disk import DiskStore
    from crawlproject.storage.rocks import Batch

_server_key = Struct(">I").pack

#: Rows read where one is asked for: a session asks for several, which lie together.
ROWS_AT_ONCE = 8

#: URLs found by their hash that are remembered: links meet the same ones again and again.  Some 200 bytes each.
RECENT = 1 << 16

#: What has not been committed: place (or hash) -> row (or place); None where it is to be removed.
Changes = dict[bytes, bytes | None]


class DiskUrlRows:
    """Implements ``frontier.UrlRows``; raises StoreError where the disk fails."""

    def __init__(self, store: DiskStore) -> None:
        self._rocks = store.rocks
        self._rows: dict[int, Changes] = {}
        self._places: Changes = {}
        self._fresh: set[bytes] = set()  # places of rows that were put and not committed
        self._more: dict[int, int] = {}  # rows put less those removed, by server
        self._next: dict[bytes, bytes] = {}  # rows read ahead, not changed since
        self._recent = Recent(RECENT)
        store.add(self)

    def put(self, server: int, place: bytes, row: bytes, digest: bytes | None = None) -> None:
        """Keep ``row`` at ``place``, which no row had before; ``digest`` (8 bytes) finds it. O(1)."""
        self._more[server] = self._more.get(server, 0) + 1
        self._changes(server)[place] = row
        self._fresh.add(place)
        if digest is not None:
            key = _server_key(server) + digest
            self._places[key] = place
            self._recent.replace(key, place + row)

    def move(self, server: int, digest: bytes, old: bytes, place: bytes, row: bytes) -> None:
        """Keep the ``row`` that is at ``old`` at ``place`` instead, where ``digest`` finds it. O(1)."""
        changes = self._remove(server, old)
        changes[place] = row
        self._fresh.add(place)
        key = _server_key(server) + digest
        self._places[key] = place
        self._recent.replace(key, place + row)

    def delete(self, server: int, place: bytes, digest: bytes | None = None) -> None:
        """Remove the row at ``place``, and that ``digest`` finds it, if it does. O(1), O(log n) of the disk."""
        self._more[server] = self._more.get(server, 0) - 1
        self._remove(server, place)
        if digest is not None and self._place(key := _server_key(server) + digest) == place:
            self._places[key] = None
            self._recent.replace(key, b"")

    def get(self, server: int, place: bytes) -> bytes | None:
        """The row at ``place``. O(log n) of the disk; the rows behind it are read as well."""
        changes = self._rows.get(server)
        if changes is not None and place in changes:
            return changes[place]
        key, ahead = _server_key(server) + place, self._next
        if key not in ahead:
            ahead.update(islice(self._rocks.rows("urls", key, _server_key(server + 1)), ROWS_AT_ONCE))
        return ahead.get(key)

    def find(self, server: int, digest: bytes) -> tuple[bytes, bytes] | None:
        """Place and row of the URL of ``digest``; None where it is not queued. O(1) if ``read_ahead``."""
        key = _server_key(server) + digest
        found = self._recent.get(key)
        if found is None:
            self.read_ahead([(server, digest)])
            found = self._recent.get(key)
        return (found[:PLACE_BYTES], found[PLACE_BYTES:]) if found else None

    def read_ahead(self, names: Sequence[tuple[int, bytes]]) -> None:
        """Read the places and rows of the URLs named (server, digest) all at once: half the cost of one by one."""
        keys = {_server_key(server) + digest: server for server, digest in names}
        recent, pending = self._recent, self._places
        asked = [key for key in keys if recent.get(key) is None]
        unknown = [key for key in asked if key not in pending]
        places = dict(zip(unknown, self._rocks.get_many("places", unknown), strict=True)) if unknown else {}
        stored: list[tuple[bytes, bytes]] = []
        for key in asked:
            place = pending[key] if key in pending else places[key]
            row = None if place is None else self._rows.get(keys[key], {}).get(place)
            if place is not None and row is None:
                stored.append((key, place))
            else:
                recent.put(key, b"" if place is None or row is None else place + row)
        rows = self._rocks.get_many("urls", [key[:4] + place for key, place in stored]) if stored else ()
        for (key, place), row in zip(stored, rows, strict=True):
            recent.put(key, b"" if row is None else place + row)

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

    def resized(self) -> dict[int, int]:
        """Servers whose number of rows has changed since the last commit, and by how much."""
        return {server: more for server, more in self._more.items() if more}

    def write_to(self, batch: Batch) -> None:
        """See ``Part``."""
        for server, changes in self._rows.items():
            batch.change("urls", changes, _server_key(server))
        batch.change("places", self._places)

    def written(self) -> None:
        """See ``Part``."""
        self._rows.clear()
        self._places.clear()
        self._fresh.clear()
        self._more.clear()
        self._next.clear()

    def _place(self, key: bytes) -> bytes | None:
        """Where the URL of this server and digest waits."""
        if key in self._places:
            return self._places[key]
        found = self._recent.get(key)
        return self._rocks.get("places", key) if found is None else found[:PLACE_BYTES]

    def _remove(self, server: int, place: bytes) -> Changes:
        changes = self._changes(server)
        if place in self._fresh:  # the store has not heard of it
            self._fresh.discard(place)
            del changes[place]
        else:
            changes[place] = None
        return changes

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


class Recent:
    """The values last asked for, at most ``size`` of them: those of two generations, the older of which is dropped."""

    def __init__(self, size: int) -> None:
        self._half = size // 2
        self._young: dict[bytes, bytes] = {}
        self._old: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        """The value of ``key``, if it is remembered. O(1)."""
        value = self._young.get(key)
        if value is None and (value := self._old.get(key)) is not None:
            self.put(key, value)
        return value

    def put(self, key: bytes, value: bytes) -> None:
        """Remember it. O(1) amortised."""
        if len(self._young) >= self._half:
            self._young, self._old = {}, self._young
        self._young[key] = value

    def replace(self, key: bytes, value: bytes) -> None:
        """Have it right where it is remembered. O(1)."""
        if key in self._young:
            self._young[key] = value
        elif key in self._old:
            self._old[key] = value
