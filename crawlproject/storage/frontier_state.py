"""Servers on disk: the frontier's state of each, and its number of stored URLs.

Tables ``servers`` (number -> JSON), ``lengths`` (number -> URLs stored) and ``state`` (``frontier`` -> state learned
from all servers; ``frontier.snapshot``).  Times are on the wall clock.
"""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import chain, islice
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from crawlproject.frontier.entry import path_of
from crawlproject.frontier.politeness import MAX_FIRST_REST
from crawlproject.frontier.queues.sort_key import decode_row, url_digest
from crawlproject.frontier.queues.stored_queue import QueueRows, StoredUrlQueue
from crawlproject.frontier.queues.url_queue import UrlQueue
from crawlproject.frontier.snapshot import frontier_state, restore_frontier, restore_server, server_state
from crawlproject.storage.errors import StoreError
from crawlproject.storage.fates import DiskEndedUrls
from crawlproject.storage.rocks import number_key, number_range
from crawlproject.storage.url_table import StoredUrls
from crawlproject.storage.urls import DiskUrlRows
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.server import Server
    from crawlproject.storage.disk import DiskStore
    from crawlproject.storage.rocks import Batch
    from crawlproject.urls.url_rows import End

#: Bytes of a number in ``lengths``.
LENGTH_BYTES = 5
#: Tables whose keys begin with a server's number.
TABLES = ("urls", "places", "servers", "lengths", "ended")
#: Servers loaded or unloaded in a step: about 15 ms.
SERVERS_AT_ONCE = 100
#: URLs indexed in a step: about 20 ms.
ROWS_AT_ONCE = 5000
_to_json = json.JSONEncoder(separators=(",", ":")).encode


class ServerRecord(NamedTuple):
    """The stored state of a server."""

    number: int
    key: str
    #: See ``frontier.snapshot``; ``ready_at`` is on the wall clock.
    state: dict[str, Any]

    @staticmethod
    def encode(key: str, state: dict[str, Any]) -> bytes:
        return _to_json({"key": key, **state}).encode("ascii")

    @classmethod
    def decode(cls, number: int, data: bytes) -> ServerRecord:
        """The inverse of ``encode``. Raises ValueError, KeyError or TypeError for other data."""
        state: dict[str, Any] = json.loads(data)
        return cls(number, str(state.pop("key")), state)


class DiskFrontierStore:
    """Implements ``frontier.FrontierStore``; a ``Part`` of the store.

    ``clock_offset``: wall clock minus the frontier's clock, seconds; see ``follow_clock``.  ``indexed``: whether the
    quality of queued URLs may rise, which costs about 30 bytes per URL.

    ``number_of``: key of a new server -> its number, below 2**32 - 1 and not in use; without it servers are numbered
    from 0.  None: another process stores this server.  Then nothing of it is stored here; a server that is contacted
    nevertheless (a redirect, an answer that was late) is known in memory only, until ``load_range`` restores it.
    """

    def __init__(
        self,
        store: DiskStore,
        clock_offset: float,
        *,
        indexed: bool = False,
        number_of: Callable[[str], int | None] | None = None,
    ) -> None:
        self._store = store
        self.clock_offset = clock_offset
        self._clock_error = 0.0
        self._number_of = number_of or self._next_number
        #: Seconds that a stored server rests, at most, from ``load`` on: another wall clock may have been wrong.
        self._longest_wait = 0.0
        self._rests: dict[str, float] = {}  # unloaded servers -> end of their rest, while it lasts
        self._indexed = indexed
        self.rows = DiskUrlRows(store)
        self._ended = DiskEndedUrls(store)
        self._changed: dict[int, Server] = {}
        self._queues = QueueRows(self.rows, store.label.order == "quality", indexed)
        self._servers: dict[int, Server] = {}  # by number
        self._next = 0  # number of the next new server, without ``number_of``
        self._frontier: Frontier | None = None
        store.add(self)

    def follow_clock(self, offset: float, error: float) -> None:
        """Another ``clock_offset``, which may be too small by ``error`` seconds: times are stored later by as much, so
        that a server's rest is never shorter for a process with another offset."""
        self.clock_offset, self._clock_error = offset, error

    def open_queue(self, key: str) -> StoredUrlQueue | UrlQueue:
        """See ``FrontierStore``; in memory if another process stores the server."""
        number = self._number_of(key)
        if number is None:
            return UrlQueue(by_quality=self._queues.by_quality, window=1)
        return StoredUrlQueue(self._queues, number)

    def changed(self, server: Server) -> None:
        """See ``FrontierStore``; ignores servers that are not stored here, or no longer."""
        if isinstance(server.urls, StoredUrlQueue):
            number = server.urls.number
            self._servers[number] = self._changed[number] = server

    def clock_set(self, seconds: float) -> None:
        """The wall clock was set forward by ``seconds``, or back: store rests that are not over by it. O(servers)."""
        assert self._frontier is not None
        earliest = self._frontier.queue.now - max(0.0, -seconds)
        rests = ((number, server) for number, server in self._servers.items() if earliest < server.ready_at < inf)
        self._changed.update(rests)

    def read_ahead(self, urls: Sequence[tuple[Server, str]]) -> None:
        if self._indexed:
            queues = ((server.urls, path) for server, path in urls)
            self.rows.read_ahead([urls.name_of(path) for urls, path in queues if isinstance(urls, StoredUrlQueue)])

    def ended(self, url: str, end: End) -> None:
        """Keep what became of the canonical ``url``, if its server is stored here. A few µs. Raises StoreError."""
        with suppress(ValueError):  # no URL
            key = server_key(url)
            if (number := self.number(key)) is not None:
                self._ended.add(number, path_of(url, key), end)

    def urls(self) -> StoredUrls:
        """All URLs of the store by name, for people."""
        return StoredUrls(
            self._store.rocks, lambda: self._servers, self.key, self.number, by_quality=self._queues.by_quality
        )

    def key(self, number: int) -> str | None:
        """The key of the server stored under ``number``. O(1)."""
        server = self._servers.get(number)
        return None if server is None else server.key

    @property
    def count(self) -> int:
        return len(self._servers)

    def server(self, number: int) -> Server | None:
        """The server stored under ``number``. O(1)."""
        return self._servers.get(number)

    def number(self, key: str) -> int | None:
        """The number under which the server ``key`` is stored. O(1)."""
        server = None if self._frontier is None else self._frontier.server(key)
        return server.urls.number if server is not None and isinstance(server.urls, StoredUrlQueue) else None

    def numbers(self, servers: Iterable[Server]) -> list[int]:
        """The numbers of those ``servers`` that are stored here, in order. O(n log n)."""
        return sorted(server.urls.number for server in servers if isinstance(server.urls, StoredUrlQueue))

    def load(self, frontier: Frontier, now: float, longest_rest: float = 0.0) -> None:
        """Load the stored state into ``frontier``, which must be new; about 150 µs per server, to read its best URLs.

        No server rests longer than its politeness lets one wait from ``now`` (the wall clock may have been wrong), or
        than ``longest_rest`` seconds.
        Raises StoreError if a record is damaged.
        """
        self._frontier, self._longest_wait = frontier, max(frontier.politeness.longest_wait, longest_rest)
        frontier.keep_in(self, now)
        saved = self._store.rocks.get("state", b"frontier")
        try:
            if saved is not None:
                restore_frontier(frontier, json.loads(saved))
        except (ValueError, KeyError, TypeError, AttributeError) as error:  # of any shape
            raise self._damaged("the state learned from all servers", error) from error
        lengths = {_to_int(key): _to_int(value) for key, value in self._store.rocks.rows("lengths")}
        for key, data in self._store.rocks.rows("servers"):
            number = _to_int(key)
            self._restore(frontier, number, data, lengths.get(number), now)
        self._next = max(self._servers, default=-1) + 1

    def load_range(self, first: int, end: int, now: float) -> Iterator[list[Server]]:
        """Load the servers with the numbers ``first`` to ``end`` - 1, whose rows were loaded into the store, in steps.

        Call it after ``load``, and after ``Frontier.raise_arrivals`` with the numbers of the process that stored them.
        Yields the servers restored in each step: at most ``SERVERS_AT_ONCE``, 150 µs each; none while it indexes
        their URLs, ``ROWS_AT_ONCE`` in a step.  A server may get a session from its step on.
        Raises StoreError if a record is damaged; the servers before it stay.
        """
        assert self._frontier is not None
        start, stop = number_range(first, end)
        if self._indexed:
            yield from self._index(start, stop)
        records = self._store.scan("servers", start, stop)
        while step := list(islice(records, SERVERS_AT_ONCE)):
            lengths = self._store.rocks.get_many("lengths", [key for key, _ in step])
            yield [
                self._restore(self._frontier, _to_int(key), data, None if length is None else _to_int(length), now)
                for (key, data), length in zip(step, lengths, strict=True)
            ]

    def unload_range(self, first: int, end: int) -> Iterator[None]:
        """Remove the servers with the numbers ``first`` to ``end`` - 1 from frontier and store, in steps.

        They must have no session, and get none: hold them first.  From the start ``number_of`` must return None for
        their keys.  A commit between two steps may record changes of them.  Those that rest do so until the same time
        if they are loaded again, whatever their rows say.
        Raises IllegalStepError if one has a session; those before it are removed.
        """
        assert self._frontier is not None
        now = self._frontier.queue.now
        self._rests = {key: ready_at for key, ready_at in self._rests.items() if ready_at > now}
        servers = self.servers_in(first, end)
        while step := list(islice(servers, SERVERS_AT_ONCE)):
            for server in step:
                number = cast("StoredUrlQueue", server.urls).number
                if now < server.ready_at < inf:
                    self._rests[server.key] = server.ready_at
                self._frontier.remove(server.key)
                del self._servers[number]
                self._changed.pop(number, None)
            yield
        self.rows.forget(first, end)
        start, stop = number_range(first, end)
        self._store.drop((table, start, stop) for table in TABLES)

    def servers_in(self, first: int, end: int) -> Iterator[Server]:
        """The servers with the numbers ``first`` to ``end`` - 1, in no order; a few µs each. O(changed servers)."""
        new = [number for number in self._changed if first <= number < end]
        committed = self._store.scan("servers", *number_range(first, end))
        for number in dict.fromkeys(chain(new, (_to_int(key) for key, _ in committed))):
            server = self._servers.get(number)
            if server is not None:
                yield server

    def records(self) -> Iterator[ServerRecord]:
        """The last committed records of all servers."""
        for key, data in self._store.rocks.rows("servers"):
            yield ServerRecord.decode(_to_int(key), data)

    def write_to(self, batch: Batch) -> None:
        numbers = self.rows.resized().keys() | self._changed.keys()
        for number in numbers:
            server = self._servers.get(number)
            if server is not None and isinstance(server.urls, StoredUrlQueue):
                length = server.urls.stored
                batch.put("lengths", number_key(number), length.to_bytes(LENGTH_BYTES, "big"))
        for number, server in self._changed.items():
            state = server_state(server)
            state["ready_at"] += self.clock_offset + self._clock_error
            batch.put("servers", number_key(number), ServerRecord.encode(server.key, state))
        if numbers and self._frontier is not None:
            batch.put("state", b"frontier", _to_json(frontier_state(self._frontier)).encode("ascii"))

    def written(self) -> None:
        self._changed.clear()

    def _next_number(self, key: str) -> int:
        self._next += 1
        return self._next - 1

    def _restore(self, frontier: Frontier, number: int, data: bytes, length: int | None, now: float) -> Server:
        """Restore a server from its record and its number of URLs, None if that is missing. O(log servers)."""
        name = "the record of a server"
        try:
            record = ServerRecord.decode(number, data)
            name = f"the record of {record.key}"
            if length is None:
                raise ValueError("its number of URLs is missing")
            queue = StoredUrlQueue(self._queues, number)
            queue.restore(length)
            ready_at = float(record.state["ready_at"]) - self.clock_offset
            longest = self._longest_wait if record.state.get("answered") else min(self._longest_wait, MAX_FIRST_REST)
            longest = max(longest, frontier.servers.orders.delay(record.key))
            ready_at = min(ready_at, now + longest) if isfinite(ready_at) else 0.0
            ready_at = max(ready_at, self._rests.pop(record.key, 0.0))
            known = frontier.server(record.key)  # in memory only
            if known is not None:
                frontier.remove(record.key)
                ready_at = max(ready_at, known.ready_at)
            record.state["ready_at"] = ready_at
            server = self._servers[number] = restore_server(frontier, record.key, queue, record.state)
        except (ValueError, KeyError, TypeError, LookupError) as error:
            raise self._damaged(name, error) from error
        return server

    def _index(self, start: bytes, stop: bytes) -> Iterator[list[Server]]:
        rows = self._store.scan("urls", start, stop)
        while step := list(islice(rows, ROWS_AT_ONCE)):
            self._store.load({"places": (_place(key, row) for key, row in step)})
            yield []

    def _damaged(self, name: str, error: Exception) -> StoreError:
        return StoreError(self._store.path, f"damaged: {name} cannot be read: {_in_words(error)}")


def _place(key: bytes, row: bytes) -> tuple[bytes, bytes]:
    return key[:4] + url_digest(decode_row(row).path), key[4:]


def _in_words(error: Exception) -> str:
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) and error.args else str(error)


def _to_int(data: bytes) -> int:
    return int.from_bytes(data, "big")
