"""The base of a session's connections, with and without aiohttp."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlproject.download.guarded_socket import GuardedSockets
    from crawlproject.download.timing import Timing

#: Longest wait (seconds) for a server to acknowledge the close of its connection.
CLOSE_TIMEOUT = 1.0


class Connection:
    """A session's connection to one server: opened at the first request, and again if it was lost.

    ``DirectConnection`` and ``AiohttpConnection`` are the two kinds.
    """

    is_direct: bool

    def __init__(self, sockets: GuardedSockets, local_address: tuple[str, int] | None) -> None:
        self.sockets = sockets
        self.local_address = local_address
        self.turn = asyncio.Lock()  # one request at a time
        self.requests = 0  # on the current socket
        self.transport: asyncio.Transport | None = None
        self.has_place = False
        self.is_kept = False  # by a session
        self.is_aborted = False
        self.users = 0  # requests in progress or waiting for their turn
        self.unused = asyncio.Event()
        self.unused.set()

    @property
    def is_over(self) -> bool:
        """Whether its socket has been closed, and no other is being opened: there is nothing left to close."""
        return False

    def abort(self) -> asyncio.Task[None]:
        """Close the socket in the next step of the event loop: requests in progress fail, further ones, too."""
        self.is_aborted = True
        self.transport = None  # nothing is learned from this
        return asyncio.get_running_loop().create_task(self._close_now())

    async def close(self) -> None:
        """Close the socket and return when the server has acknowledged it, or after ``CLOSE_TIMEOUT``."""
        transport, self.transport = self.transport, None
        if transport is not None and not transport.is_closing() and (self.is_direct or transport.can_write_eof()):
            closed = getattr(transport.get_protocol(), "closed", None)
            if transport.can_write_eof():
                transport.write_eof()
            else:  # TLS says that it ends, and waits for the server to say the same
                transport.close()
            if closed is not None:
                await asyncio.wait([closed], timeout=CLOSE_TIMEOUT)
        await self._close_now()

    async def check(self) -> None:
        """Close the socket if data arrived on it since the last response; the next request opens another one."""
        protocol: Any = self.transport.get_protocol() if self.transport is not None else None
        is_readable = getattr(protocol, "is_readable", None)  # of ``DirectProtocol`` and ``AnswerProtocol``
        if protocol is not None and is_readable is not None and is_readable():
            self.transport = None  # the session continues
            await protocol.close_readable()

    def note(self, timing: Timing, transport: asyncio.Transport | None, on_lost: Callable[[], None]) -> None:
        """Count a request on this connection; ``on_lost`` is called when its socket is closed."""
        self.requests = self.requests + 1 if timing.reused else 1
        timing.connection_requests = self.requests
        if transport is not None and transport is not self.transport:
            self.transport = transport
            closed = getattr(transport.get_protocol(), "closed", None)
            if closed is not None:
                closed.add_done_callback(partial(self._lost, transport, on_lost))

    async def _close_now(self) -> None:
        raise NotImplementedError

    def _lost(self, transport: asyncio.Transport, on_lost: Callable[[], None], closed: asyncio.Future[None]) -> None:
        """The socket of ``transport`` was closed; ignored if another socket has replaced it."""
        if not closed.cancelled():
            closed.exception()  # retrieved, otherwise asyncio logs a reset as "exception was never retrieved"
        if transport is self.transport:
            on_lost()
