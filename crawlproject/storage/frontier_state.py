"""Servers on disk: what the frontier knows of each, and its queue's length and best places, in one record.

Tables ``servers`` (number -> record) and ``state`` (``frontier`` -> what was learned over all).  A record is JSON, its
length (4 bytes) before it, and the queue's head behind it (17 bytes a place), so that opening reads no URL.  Times
are stored by the wall clock.
"""

from __future__ import annotations

import json
from math import isfinite
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from crawlproject.frontier import QueueRows, StoredUrlQueue
from crawlproject.frontier.snapshot import frontier_state, restore_frontier, restore_server, server_state
from crawlproject.storage.errors import StoreError
from crawlproject.storage.urls import DiskUrlRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawlproject.frontier import Frontier, Server
    from crawlproject.storage.disk import DiskStore
    from crawlproject.storage.rocks import Batch

_number = Struct(">I")
_to_json = json.JSONEncoder(separators=(",", ":")).encode


class ServerRecord(NamedTuple):
    """What is stored of a server."""

    number: int
    key: str
    #: See ``frontier.snapshot``; ``ready_at`` by the wall clock.
    state: dict[str, Any]
    #: Stored URLs, those handed out and not acknowledged included.
    urls: int
    #: Places of the best of them.
    head: bytes

    @staticmethod
    def encode(described: bytes, urls: int, head: bytes) -> bytes:
        """As bytes; ``described`` is what ``describe`` says. O(size)."""
        text = b'{"urls":%d,%b' % (urls, described)
        return _number.pack(len(text)) + text + head

    @staticmethod
    def describe(key: str, state: dict[str, Any]) -> bytes:
        """The part of a record that pushing and popping do not change. O(size)."""
        return _to_json({"key": key, **state}).encode("ascii")[1:]

    @classmethod
    def decode(cls, number: int, data: bytes) -> ServerRecord:
        """What ``encode`` wrote. Raises ValueError, KeyError or TypeError where it is something else."""
        end = 4 + int.from_bytes(data[:4], "big")
        state: dict[str, Any] = json.loads(data[4:end])
        return cls(number, str(state.pop("key")), state, int(state.pop("urls")), data[end:])


class DiskFrontierStore:
    """Implements ``frontier.FrontierStore``; a ``Part`` of the store.

    ``clock_offset``: seconds to add to the frontier's clock for the wall clock's time.  ``indexed``: whether
    qualities may rise while URLs wait, which costs some 30 bytes for each URL.
    """

    def __init__(self, store: DiskStore, clock_offset: float, *, indexed: bool = False) -> None:
        self._store = store
        self._offset = clock_offset
        self._indexed = indexed
        self._by_quality = store.label.order == "quality"
        self.rows = DiskUrlRows(store)
        self._changed: dict[int, Server] = {}
        self._described: dict[int, bytes] = {}  # as they are now, by number
        self._servers: list[Server | None] = []  # by number
        self._frontier: Frontier | None = None
        store.add(self)

    def open_queue(self, key: str) -> StoredUrlQueue:
        """See ``FrontierStore``."""
        self._servers.append(None)
        return self._queue(len(self._servers) - 1)

    def changed(self, server: Server) -> None:
        """See ``FrontierStore``."""
        number = cast("StoredUrlQueue", server.urls).number
        self._servers[number] = self._changed[number] = server
        self._described.pop(number, None)

    def read_ahead(self, urls: Sequence[tuple[Server, str]]) -> None:
        """See ``FrontierStore``."""
        if self._indexed:
            self.rows.read_ahead([cast("StoredUrlQueue", server.urls).name_of(url, server.key) for server, url in urls])

    @property
    def count(self) -> int:
        """How many servers there are."""
        return len(self._servers)

    def server(self, number: int) -> Server | None:
        """The server that is stored under ``number``. O(1)."""
        return self._servers[number] if number < len(self._servers) else None

    def number(self, key: str) -> int | None:
        """The number under which the server ``key`` is stored. O(1)."""
        server = None if self._frontier is None else self._frontier.server(key)
        return None if server is None else cast("StoredUrlQueue", server.urls).number

    def load(self, frontier: Frontier, now: float, longest_wait: float) -> None:
        """Fill ``frontier``, which must be new, with what is stored; about 150 µs a server with a full head.

        No server rests longer than ``longest_wait`` seconds from ``now`` (the wall clock may have been wrong).
        Raises StoreError where a record is damaged.
        """
        self._frontier = frontier
        frontier.keep_in(self, now)
        saved = self._store.rocks.get("state", b"frontier")
        latest = now + longest_wait
        try:
            if saved is not None:
                restore_frontier(frontier, json.loads(saved))
            for record in self.records():
                self._servers += [None] * (record.number + 1 - len(self._servers))
                queue = self._queue(record.number)
                queue.restore(record.urls, record.head)
                ready_at = float(record.state["ready_at"]) - self._offset
                record.state["ready_at"] = min(ready_at, latest) if isfinite(ready_at) else 0.0
                self._servers[record.number] = restore_server(frontier, record.key, queue, record.state)
        except (ValueError, KeyError, TypeError, LookupError) as error:
            raise StoreError(self._store.path, f"damaged: a record cannot be read: {error!r}") from error

    def records(self) -> Iterator[ServerRecord]:
        """All servers as they were last committed."""
        for key, data in self._store.rocks.rows("servers", b""):
            yield ServerRecord.decode(int.from_bytes(key, "big"), data)

    def write_to(self, batch: Batch) -> None:
        """See ``Part``."""
        numbers = self.rows.touched() | self._changed.keys()
        for number in numbers:
            server = self._servers[number]
            if server is not None:
                urls, head = cast("StoredUrlQueue", server.urls).saved()
                batch.put("servers", _number.pack(number), ServerRecord.encode(self._description(server), urls, head))
        if numbers and self._frontier is not None:
            batch.put("state", b"frontier", json.dumps(frontier_state(self._frontier)).encode("ascii"))

    def written(self) -> None:
        """See ``Part``."""
        self._changed.clear()

    def _queue(self, number: int) -> StoredUrlQueue:
        return StoredUrlQueue(QueueRows(self.rows, number, self._by_quality, self._indexed))

    def _description(self, server: Server) -> bytes:
        number = cast("StoredUrlQueue", server.urls).number
        described = self._described.get(number)
        if described is None:
            state = server_state(server)
            state["ready_at"] += self._offset
            described = self._described[number] = ServerRecord.describe(server.key, state)
        return described
