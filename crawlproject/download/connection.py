"""The connections of the crawl: one per session, never more open than allowed, each closed before its place is free.

aiohttp does HTTP; here is only what a pool would hide: which server has a connection, how long it took to
open, and that it is really closed (the server has seen it) before another one takes its place.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiohttp

from crawlproject.download.timing import TimedResponse, timing_trace

if TYPE_CHECKING:
    import ssl as ssl_module
    from collections.abc import AsyncIterator, Callable

    from aiohttp.abc import AbstractResolver

    from crawlproject.download.timing import Timing

#: Longest wait (seconds) for a server to see that its connection was closed.
CLOSE_TIMEOUT = 1.0


class Connection:
    """A session's connection to one server; aiohttp opens it at the first request and again if it was lost."""

    def __init__(self, connector: aiohttp.TCPConnector) -> None:
        self.client = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            response_class=TimedResponse,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
            trace_configs=[timing_trace()],
        )
        self.turn = asyncio.Lock()  # requests follow one another
        self.requests = 0  # on the socket open now
        self.transport: asyncio.Transport | None = None
        self.has_place = False

    async def close(self) -> None:
        """Close the socket and return when the server has seen it, or after ``CLOSE_TIMEOUT``."""
        transport, self.transport = self.transport, None
        if transport is not None and not transport.is_closing() and transport.can_write_eof():
            protocol = transport.get_protocol()
            closed = getattr(protocol, "closed", None)
            transport.write_eof()
            if closed is not None:
                await asyncio.wait([closed], timeout=CLOSE_TIMEOUT)
        await self.client.close()

    def note(self, timing: Timing, response: TimedResponse, on_lost: Callable[[], None]) -> None:
        """Count a request of this connection; ``on_lost`` is called when the socket it went over is closed."""
        self.requests = self.requests + 1 if timing.reused else 1
        timing.connection_requests = self.requests
        transport = response.transport
        if transport is not None and transport is not self.transport:
            self.transport = transport
            closed = getattr(transport.get_protocol(), "closed", None)
            if closed is not None:
                closed.add_done_callback(lambda _: on_lost())


class ConnectionPool:
    """Connections by server key; at most ``limit`` are open at any moment.

    ``on_lost`` is called with the server's key when a server closes the connection of a session.

    A connection lives until ``close`` names its server (its session has ended), or, where ``keep`` is False
    and no session is open, for one request.
    """

    def __init__(
        self,
        limit: int,
        *,
        ssl: ssl_module.SSLContext,
        resolver: AbstractResolver,
        local_address: tuple[str, int] | None = None,
        on_lost: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._on_lost = on_lost
        self._places = asyncio.Semaphore(limit)
        self._ssl = ssl
        self._resolver = resolver
        self._local_address = local_address
        self._connections: dict[str, Connection] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._connections)

    @asynccontextmanager
    async def use(self, server_key: str, *, keep: bool) -> AsyncIterator[Connection]:
        """The connection to a server, for one request; waits for its turn and for a free place."""
        connection = self._connections.get(server_key)
        if connection is None:
            connection = self._connections[server_key] = Connection(self._connector())
            one_shot = not keep
        else:
            one_shot = False
        try:
            async with connection.turn:
                if not connection.has_place:
                    if one_shot:
                        self._make_room()
                    await self._places.acquire()
                    connection.has_place = True
                yield connection
        finally:
            if one_shot:
                self.close(server_key)

    def note(self, server_key: str, timing: Timing, response: TimedResponse) -> None:
        """Tell the connection of a server of the response that has begun on it."""
        connection = self._connections[server_key]
        connection.note(timing, response, lambda: self._lost(server_key, connection))

    def _lost(self, server_key: str, connection: Connection) -> None:
        if self._connections.get(server_key) is connection:
            self._on_lost(server_key)

    def close(self, server_key: str) -> None:
        """Close the connection to a server, if there is one; its place is free once the server knows."""
        connection = self._connections.pop(server_key, None)
        if connection is not None:
            self._spawn_close(connection)

    async def aclose(self) -> None:
        """Close all connections."""
        for key in list(self._connections):
            self.close(key)
        if self._closing:
            await asyncio.wait(self._closing)

    def _connector(self) -> aiohttp.TCPConnector:
        return aiohttp.TCPConnector(
            limit=1,
            ssl=self._ssl,
            resolver=self._resolver,
            use_dns_cache=False,  # the resolver caches, for all connections
            keepalive_timeout=3600.0,  # the session decides, not the pool
            local_addr=self._local_address,
        )

    def _make_room(self) -> None:
        """If no place is free, have an idle connection give up its own: its session may wait for this very request."""
        if self._places.locked() and not self._closing:
            idle = next((c for c in self._connections.values() if c.has_place and not c.turn.locked()), None)
            if idle is not None:
                self._evict(idle)

    def _evict(self, connection: Connection) -> None:
        """Close an idle connection's socket; its session opens another one when it needs it."""
        for key, value in self._connections.items():
            if value is connection:
                self._connections[key] = Connection(self._connector())
                break
        self._spawn_close(connection)

    def _spawn_close(self, connection: Connection) -> None:
        task = asyncio.get_running_loop().create_task(self._close(connection))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _close(self, connection: Connection) -> None:
        try:
            await connection.close()
        finally:
            if connection.has_place:
                connection.has_place = False
                self._places.release()
