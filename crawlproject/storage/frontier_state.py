"""Servers on disk: the frontier's state of each, and its number of stored URLs.

Tables ``servers`` (number -> JSON), ``lengths`` (number -> URLs stored) and ``state`` (``frontier`` -> state learned
from all servers).  Times are on the wall clock.  Each record has the version of its state (``frontier.snapshot``); an
older version is upgraded when it is read, and rewritten when the server changes.

Stores of format 2 had the number of URLs in the record, followed by the sort keys of the best URLs: a number missing
in ``lengths`` is read from there.
"""

from __future__ import annotations

import json
from math import isfinite
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from crawlproject.frontier.queues.stored_queue import QueueRows, StoredUrlQueue
from crawlproject.frontier.snapshot import frontier_state, restore_frontier, restore_server, server_state
from crawlproject.storage.errors import StoreError
from crawlproject.storage.urls import DiskUrlRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.server import Server
    from crawlproject.storage.disk import DiskStore
    from crawlproject.storage.rocks import Batch

_number = Struct(">I")
#: Bytes of a number in ``lengths``.
LENGTH_BYTES = 5
_to_json = json.JSONEncoder(separators=(",", ":")).encode


class ServerRecord(NamedTuple):
    """The stored state of a server."""

    number: int
    key: str
    #: See ``frontier.snapshot``; ``ready_at`` is on the wall clock.
    state: dict[str, Any]

    @staticmethod
    def encode(key: str, state: dict[str, Any]) -> bytes:
        """As bytes. O(size)."""
        return _to_json({"key": key, **state}).encode("ascii")

    @classmethod
    def decode(cls, number: int, data: bytes) -> ServerRecord:
        """The inverse of ``encode``. Raises ValueError, KeyError or TypeError for other data."""
        if not data.startswith(b"{"):  # format 2 begins with the length
            data = data[4 : 4 + int.from_bytes(data[:4], "big")]
        state: dict[str, Any] = json.loads(data)
        return cls(number, str(state.pop("key")), state)


class DiskFrontierStore:
    """Implements ``frontier.FrontierStore``; a ``Part`` of the store.

    ``clock_offset``: wall clock minus the frontier's clock, seconds.  ``indexed``: whether the quality of queued URLs
    may rise, which costs about 30 bytes per URL.
    """

    def __init__(self, store: DiskStore, clock_offset: float, *, indexed: bool = False) -> None:
        self._store = store
        self._offset = clock_offset
        self._indexed = indexed
        self.rows = DiskUrlRows(store)
        self._changed: dict[int, Server] = {}
        self._queues = QueueRows(self.rows, store.label.order == "quality", indexed)
        self._servers: list[Server | None] = []  # by number
        self._frontier: Frontier | None = None
        store.add(self)

    def open_queue(self, key: str) -> StoredUrlQueue:
        """See ``FrontierStore``."""
        self._servers.append(None)
        return StoredUrlQueue(self._queues, len(self._servers) - 1)

    def changed(self, server: Server) -> None:
        """See ``FrontierStore``."""
        number = cast("StoredUrlQueue", server.urls).number
        self._servers[number] = self._changed[number] = server

    def read_ahead(self, urls: Sequence[tuple[Server, str]]) -> None:
        """See ``FrontierStore``."""
        if self._indexed:
            self.rows.read_ahead([cast("StoredUrlQueue", server.urls).name_of(path) for server, path in urls])

    @property
    def count(self) -> int:
        """Number of servers."""
        return len(self._servers)

    def server(self, number: int) -> Server | None:
        """The server stored under ``number``. O(1)."""
        return self._servers[number] if number < len(self._servers) else None

    def number(self, key: str) -> int | None:
        """The number under which the server ``key`` is stored. O(1)."""
        server = None if self._frontier is None else self._frontier.server(key)
        return None if server is None else cast("StoredUrlQueue", server.urls).number

    def load(self, frontier: Frontier, now: float, longest_wait: float) -> None:
        """Load the stored state into ``frontier``, which must be new; about 150 µs per server, to read its best URLs.

        No server rests longer than ``longest_wait`` seconds from ``now`` (the wall clock may have been wrong).
        Raises StoreError if a record is damaged.
        """
        self._frontier = frontier
        frontier.keep_in(self, now)
        saved = self._store.rocks.get("state", b"frontier")
        latest = now + longest_wait
        lengths = {_to_int(key): _to_int(value) for key, value in self._store.rocks.rows("lengths", b"")}
        name = "the state learned from all servers"
        try:
            if saved is not None:
                restore_frontier(frontier, json.loads(saved))
            name = "the record of a server"
            for record in self.records():
                name = f"the record of {record.key}"
                self._servers += [None] * (record.number + 1 - len(self._servers))
                queue = StoredUrlQueue(self._queues, record.number)
                queue.restore(lengths.get(record.number, int(record.state.pop("urls", 0))))
                ready_at = float(record.state["ready_at"]) - self._offset
                record.state["ready_at"] = min(ready_at, latest) if isfinite(ready_at) else 0.0
                self._servers[record.number] = restore_server(frontier, record.key, queue, record.state)
        except (ValueError, KeyError, TypeError, LookupError) as error:
            raise StoreError(self._store.path, f"damaged: {name} cannot be read: {_in_words(error)}") from error

    def records(self) -> Iterator[ServerRecord]:
        """The last committed records of all servers."""
        for key, data in self._store.rocks.rows("servers", b""):
            yield ServerRecord.decode(_to_int(key), data)

    def write_to(self, batch: Batch) -> None:
        """See ``Part``."""
        numbers = self.rows.resized().keys() | self._changed.keys()
        for number in numbers:
            server = self._servers[number]
            if server is not None:
                length = cast("StoredUrlQueue", server.urls).stored
                batch.put("lengths", _number.pack(number), length.to_bytes(LENGTH_BYTES, "big"))
        for number, server in self._changed.items():
            state = server_state(server)
            state["ready_at"] += self._offset
            batch.put("servers", _number.pack(number), ServerRecord.encode(server.key, state))
        if numbers and self._frontier is not None:
            batch.put("state", b"frontier", _to_json(frontier_state(self._frontier)).encode("ascii"))

    def written(self) -> None:
        """See ``Part``."""
        self._changed.clear()


def _in_words(error: Exception) -> str:
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) and error.args else str(error)


def _to_int(data: bytes) -> int:
    return int.from_bytes(data, "big")
