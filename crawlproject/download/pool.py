"""The connections of the crawl: one per session, at most a fixed number open, each closed before its slot is reused.

The first of three layers: this pool decides which connection a request gets, and when; ``connection`` opens, checks and
closes it; ``transfer`` is one exchange over it, a request and its answer.

A connection is really closed, that is acknowledged by the server, before another one takes its slot.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from crawlproject.download.connection import Connection

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from crawlproject.download.opening import Opening

#: Seconds after which a waiting request asks again how long it has to: meanwhile it may have to be given up.
MAX_WAIT = 2.0


class SessionAbandoned(IgnoreRequest):
    """A request ended without an answer because its session was abandoned."""

    def __init__(self, server_key: str) -> None:
        super().__init__(f"the session of {server_key} was abandoned")


class RestBeganError(ConnectionAbortedError):
    """Another request of the server has failed while this one opened its connection: it was not sent."""


@dataclass(frozen=True)
class Courtesy:
    """How a request that bypasses the scheduler waits for its server."""

    #: Seconds until the server may be contacted, asked before the request waits for its turn, and when it has it.
    wait: Callable[[], float]
    #: Returns when the requests to the server that have ended are recorded, which decides about ``wait``.
    recorded: Callable[[], Awaitable[None]]


class ConnectionPool:
    """Connections by server key; at most ``limit`` are open at any moment.

    ``on_lost`` is called with the server's key when a server closes the connection of a session;
    ``on_left`` when the rest of an answer is not read, which ends the connection.  ``has_room(server's key, address)``
    tells whether its session may connect to this IP address.

    A connection with a session lives until ``close`` is called for its server (the session has ended); one
    without a session lives while requests use it (``Use``).
    """

    def __init__(
        self,
        limit: int,
        opening: Opening,
        *,
        on_lost: Callable[[str], None] = lambda _: None,
        on_left: Callable[[str], None] = lambda _: None,
        has_room: Callable[[str, str], bool] = lambda _, __: True,
    ) -> None:
        self._on_lost, self._on_left, self._has_room = on_lost, on_left, has_room
        self._limit = limit
        self._places = asyncio.Semaphore(limit)
        self._opening = opening
        self._connections: dict[str, Connection] = {}
        self._closing: dict[str, asyncio.Task[None]] = {}  # the last task of each server
        self._more: dict[str, int] = {}  # servers that have had several connections -> the most
        self._strangers = 0  # requests without a session that wait for a slot

    def __len__(self) -> int:
        return len(self._connections)

    def allow(self, limit: int) -> None:
        """Raise the limit to ``limit``; a lower one changes nothing: sessions are limited by the frontier. O(limit)."""
        for _ in range(self._limit, limit):
            self._places.release()
        self._limit = max(self._limit, limit)

    @property
    def open(self) -> int:
        """Number of connections that are open, opening or closing. O(connections)."""
        return sum(connection.has_place for connection in self._connections.values()) + len(self._closing)

    def least_used(self, server_key: str, most: int) -> str:
        """The key of that one of ``most`` connections to a server which the fewest requests use. O(most)."""
        if most == 1:
            return server_key
        keys = _keys(server_key, most)
        self._more[server_key] = max(most, self._more.get(server_key, 0))
        return min(keys, key=lambda key: self._connections[key].users if key in self._connections else 0)

    async def begin(self, key: str, local_address: tuple[str, int] | None, *, keep: bool) -> Connection:
        """The connection ``key``, when it is the request's turn and a slot is free; see ``Use``. ``end`` must follow.

        One that was aborted, or is bound to another ``local_address``, is closed first.
        """
        connection = self._connections.get(key)
        while connection is not None and (connection.is_aborted or connection.local_address != local_address):
            if connection.users:
                await connection.unused.wait()
            if self._connections.get(key) is connection and not connection.users:
                self._drop(key, connection)
            connection = self._connections.get(key)
        if connection is None:
            connection = self._connections[key] = Connection(
                self._opening,
                local_address,
                partial(self._lost, key),
                partial(self._on_left, key),
                partial(self._has_room, key),
            )
        connection.is_kept = connection.is_kept or keep
        connection.users += 1
        connection.unused.clear()
        has_turn = False
        try:
            has_turn = await connection.turn.acquire()
            if not connection.has_place:
                if closing := self._closing.get(key):
                    await asyncio.wait([closing])  # one connection per server at a time
                await self._take_place(connection)
            if connection.is_aborted:
                raise SessionAbandoned(key)
        except BaseException:
            self.end(key, connection, has_turn=has_turn)
            raise
        return connection

    def end(self, key: str, connection: Connection, *, has_turn: bool = True) -> None:
        """The request is over."""
        if has_turn:
            connection.turn.release()
        connection.users -= 1
        if not connection.users:
            connection.unused.set()
            is_wanted = self._strangers and self._places.locked() and not self._closing  # its place, by others
            if is_wanted or not connection.is_kept:
                self._drop(key, connection)

    def close(self, server_key: str) -> None:
        """The server's session has ended: close each connection of it as soon as no request uses it."""
        self._end_session(server_key)

    def abort(self, server_key: str) -> None:
        """The server's session was abandoned: close its connections now, whatever uses them."""
        self._end_session(server_key, is_abandoned=True)

    def _end_session(self, server_key: str, *, is_abandoned: bool = False) -> None:
        for key in _keys(server_key, self._more.get(server_key, 1)):
            if (connection := self._connections.get(key)) is not None:
                connection.is_kept = False
                if is_abandoned:
                    connection.abort()
                if not connection.users:
                    self._drop(key, connection)

    async def aclose(self) -> None:
        """Close all connections."""
        for key, connection in list(self._connections.items()):
            self._drop(key, connection)
        if self._closing:
            await asyncio.wait(self._closing.values())

    async def _take_place(self, connection: Connection) -> None:
        if connection.is_kept and not self._more:  # one per session: a slot is free, or a closing connection frees one
            await self._places.acquire()
        else:  # a session may hold its slot while it waits for this request, or hold several
            self._strangers += 1
            try:
                if self._places.locked() and not self._closing:
                    unused = (item for item in self._connections.items() if item[1].has_place and not item[1].users)
                    # A session that waits takes only what another has beside its first.
                    idle = (item for item in unused if not connection.is_kept or " " in item[0])
                    if (item := next(idle, None)) is not None:
                        self._drop(*item)  # its session reopens it when needed
                await self._places.acquire()
            finally:
                self._strangers -= 1
        connection.has_place = True

    def _lost(self, key: str, connection: Connection) -> None:
        if connection.is_kept and self._connections.get(key) is connection:
            self._on_lost(key)

    def _drop(self, key: str, connection: Connection) -> None:
        if self._connections.get(key) is connection:
            del self._connections[key]
            before = self._closing.get(key)
            if before is None and connection.is_over:
                self._free(connection)
                return
            closing = self._close(key, connection, before)
            self._closing[key] = asyncio.get_running_loop().create_task(closing)

    async def _close(self, key: str, connection: Connection, before: asyncio.Task[None] | None) -> None:
        try:
            if before is not None:
                await asyncio.wait([before])
            await connection.close()
        finally:
            self._free(connection)
            if self._closing.get(key) is asyncio.current_task():
                del self._closing[key]

    def _free(self, connection: Connection) -> None:
        """Another connection may take the place of ``connection``, which is closed."""
        if connection.has_place:
            connection.has_place = False
            self._places.release()


def _keys(server_key: str, count: int) -> tuple[str, ...]:
    return (server_key, *(f"{server_key} {number}" for number in range(2, count + 1)))


@dataclass(slots=True)
class Use:
    """The use of a connection by one request: ``async with`` waits for its turn and for a free slot.

    Raises SessionAbandoned if the connection is aborted meanwhile.  A class: a context manager made of an async
    generator takes three times as long, and the event loop keeps a record of each such generator.
    """

    pool: ConnectionPool
    server_key: str
    #: Whether the server has a session: then ``ConnectionPool.close`` will be called when it ends.
    keep: Callable[[], bool]
    local_address: tuple[str, int] | None = None
    #: Number of connections to the server among which the request may choose.
    most: Callable[[], int] = lambda: 1
    courtesy: Courtesy | None = None
    _key: str = field(init=False)
    _connection: Connection = field(init=False)

    async def __aenter__(self) -> Connection:
        courtesy = self.courtesy
        while True:
            while courtesy is not None and (wait := courtesy.wait()) > 0.0:
                await asyncio.sleep(min(wait, MAX_WAIT))
            self._key = self.pool.least_used(self.server_key, self.most())
            self._connection = await self.pool.begin(self._key, self.local_address, keep=self.keep())
            if courtesy is None:
                return self._connection
            try:
                await courtesy.recorded()
                if courtesy.wait() <= 0.0:
                    return self._connection
            except BaseException:
                await self.__aexit__()
                raise
            await self.__aexit__()

    async def __aexit__(self, *_: object) -> None:
        self.pool.end(self._key, self._connection)
