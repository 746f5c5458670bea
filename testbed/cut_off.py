"""A TCP proxy that cuts connections off, or freezes them: for clients of a server that must survive that."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from testbed.children import own_address

if TYPE_CHECKING:
    from collections.abc import Coroutine

BLOCK = 65_536
NO_LINGER = struct.pack("ii", 1, 0)  # closing sends a reset


class CutOff:
    """A proxy in front of the server of ``target`` (``redis://host:port/0``), in a thread, for a ``with`` block.

    ``url`` is ``target`` by way of the proxy. The methods return when what they do has happened.
    """

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        if parts.hostname is None or parts.port is None:
            raise ValueError(f"target={target!r}: must be a URL with host and port")
        self._target = parts.hostname, parts.port
        self._parts = parts
        self._address = own_address(), 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cut-off", daemon=True)
        self._server: asyncio.Server | None = None
        self._pipes: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The URL for clients."""
        login, at, _ = self._parts.netloc.rpartition("@")
        host, port = self._address
        return self._parts._replace(netloc=f"{login}{at}{host}:{port}").geturl()

    def cut(self) -> None:
        """Reset all connections, and refuse new ones. What is under way is lost, in both directions."""
        self._run(self._cut())

    def freeze(self) -> None:
        """Accept connections and pass nothing; what is sent meanwhile passes after ``heal``, however late."""
        self._run(self._hold(self._asks, self._answers))

    def mute(self) -> None:
        """Pass what clients send, but no answer: commands are executed, and their clients do not learn it."""
        self._run(self._hold(self._answers))

    def heal(self) -> None:
        """Pass everything again."""
        self._run(self._heal())

    def __enter__(self) -> CutOff:
        self._thread.start()
        self._run(self._open())
        return self

    def __exit__(self, *exc: object) -> None:
        self._run(self._cut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result()

    async def _open(self) -> None:
        self._asks, self._answers = asyncio.Event(), asyncio.Event()
        await self._heal()

    async def _heal(self) -> None:
        self._asks.set()
        self._answers.set()
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, *self._address, backlog=512)
            self._address = self._server.sockets[0].getsockname()

    async def _hold(self, *gates: asyncio.Event) -> None:
        for gate in gates:
            gate.clear()

    async def _cut(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
        pipes = list(self._pipes)
        for pipe in pipes:
            pipe.cancel()
        await asyncio.gather(*pipes, return_exceptions=True)
        self._pipes.clear()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._pipes.add(task)
        try:
            if self._server is not None:  # else it was accepted just before the cut
                await self._pipe(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # one side has gone, or the proxy cuts
        finally:
            _close(writer, at_once=self._server is None)
            self._pipes.discard(task)

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass both directions until one side closes."""
        await self._asks.wait()
        theirs, ours = await asyncio.open_connection(*self._target)
        both = (reader, ours, self._asks), (theirs, writer, self._answers)
        ways = [asyncio.ensure_future(_copy(*way)) for way in both]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            _close(ours, at_once=self._server is None)  # before the wait, in which a cut may cancel this task
            await asyncio.gather(*ways, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: asyncio.Event) -> None:
    while block := await reader.read(BLOCK):
        await gate.wait()
        writer.write(block)
        await writer.drain()


def _close(writer: asyncio.StreamWriter, *, at_once: bool) -> None:
    """Close a connection; at once: by a reset, what has not been sent is lost."""
    if not at_once:
        writer.close()
        return
    with suppress(OSError):
        sock = writer.get_extra_info("socket")
        if sock is not None and sock.fileno() >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    writer.transport.abort()
