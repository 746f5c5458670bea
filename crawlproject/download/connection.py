"""The connection of a session: opened at its first request, and again if it was lost."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from crawlproject.clock import CLOCK
from crawlproject.download.address_guard import GuardedSockets
from crawlproject.download.direct import DirectProtocol, peer_of
from crawlproject.download.timing import correct_lag, tls_protocols

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlproject.download.opening import Opening
    from crawlproject.download.request_head import Proxy
    from crawlproject.download.timing import Timing
    from crawlproject.download.transfer import Transfer

#: Longest wait (seconds) for a server to acknowledge the close of its connection.
CLOSE_TIMEOUT = 1.0


class Connection:
    """A connection to one server, perhaps by a proxy; bound to ``local_address``.

    ``on_lost`` is called with it when the server closes its socket, ``on_left`` when an answer is not read to its end.
    ``has_room``: whether an IP address may have another session.
    """

    def __init__(
        self,
        opening: Opening,
        local_address: tuple[str, int] | None = None,
        on_lost: Callable[[Connection], None] = lambda _: None,
        on_left: Callable[[], None] = lambda: None,
        has_room: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self.sockets = GuardedSockets(opening.guard, local_address, has_room)
        self.local_address = local_address
        self.left = on_left
        self._on_lost = on_lost
        self._opening = opening
        # For the pool:
        self.turn = asyncio.Lock()  # one request at a time
        self.users = 0  # requests in progress or waiting for their turn
        self.unused = asyncio.Event()  # set by the last of them
        self.has_place = False  # it is one of those that may be open
        self.is_kept = False  # by a session
        self.is_aborted = False  # its session was abandoned
        # Of the current socket:
        self.requests = 0
        self.transport: asyncio.Transport | None = None  # from the head of its first answer on
        self.address: Any = None  # IP address of the server, or of the proxy
        self.ssl_object: Any = None
        self._protocol: DirectProtocol | None = None
        self._via: Proxy | None = None
        self._connecting: asyncio.Task[Any] | None = None  # that opens the socket, and is cancelled by ``abort``

    async def fetch(self, transfer: Transfer, timeout: float, may_send: Callable[[], bool] = lambda: True) -> None:
        """Send the request of ``transfer`` and return when it is done, or raise what ended it.

        If data, or the end, has arrived since the last answer, another socket is opened.

        The connection is aborted if ``may_send`` is False before it is opened, or as the last act before the request
        is written: the process may have been stopped for long in the meantime.
        """
        request, timing = transfer.request_bytes(), transfer.timing
        ends_at = asyncio.get_running_loop().time() + timeout
        protocol = self._protocol
        if protocol is not None and (self._via != transfer.sent.via or (self.transport and protocol.is_readable())):
            self.transport = None  # the session continues
            protocol.abort()
            protocol = None
        timing.reused = protocol is not None and protocol.is_usable
        if protocol is None or not timing.reused:
            self._abort_unless(may_send())
            async with asyncio.timeout(timeout):
                protocol = await self._open(transfer)
        transfer.begin(protocol, self.noted, self.left, ends_at, timeout)
        timing.sent = CLOCK()
        try:
            self._abort_unless(may_send())
            protocol.ask(request, transfer)
            await transfer.done
        except (asyncio.CancelledError, ConnectionAbortedError):
            transfer.cancel()
            protocol.abort()
            raise

    def _abort_unless(self, may_send: bool) -> None:
        if not may_send:
            self.is_aborted = True
            raise ConnectionAbortedError("the server may not be contacted any more")

    async def _open(self, transfer: Transfer) -> DirectProtocol:
        protocol = DirectProtocol(asyncio.get_running_loop(), self._opening.on_unsolicited)
        self._connecting = task = asyncio.current_task()
        assert task is not None
        try:
            await self._opening.open(protocol, transfer.sent, self.sockets, transfer.timing)
        except asyncio.CancelledError:
            if self.is_aborted and not task.uncancel():
                raise ConnectionAbortedError("the connection was aborted") from None
            raise
        finally:
            self._connecting = None
        if self.is_aborted:
            protocol.abort()
            raise ConnectionAbortedError("the connection was aborted")
        assert protocol.transport is not None
        self._protocol, self._via = protocol, transfer.sent.via
        self.address = peer_of(protocol.transport)
        self.ssl_object = protocol.transport.get_extra_info("ssl_object")
        return protocol

    def noted(self, timing: Timing) -> tuple[str, ...]:
        """The head of an answer has arrived: count the request; returns the version of TLS."""
        protocol = self._protocol
        assert protocol is not None
        assert protocol.transport is not None
        self.requests = self.requests + 1 if timing.reused else 1
        timing.connection_requests = self.requests
        if protocol.transport is not self.transport:
            self.transport = protocol.transport
            protocol.closed.add_done_callback(partial(self._lost, protocol.transport))
        correct_lag(timing, protocol.transport.get_extra_info("socket"), CLOCK())
        return tls_protocols(self.ssl_object)

    def _lost(self, transport: asyncio.Transport, _: asyncio.Future[None]) -> None:
        """The socket of ``transport`` was closed; ignored if another socket has replaced it."""
        if transport is self.transport:
            self._on_lost(self)

    @property
    def is_over(self) -> bool:
        """Whether its socket has been closed, and no other is being opened: there is nothing left to close."""
        return self._connecting is None and self._protocol is not None and self._protocol.closed.done()

    def abort(self) -> None:
        """The session was abandoned: close the socket; requests in progress fail, further ones, too."""
        self.is_kept, self.is_aborted = False, True
        self.transport = None  # nothing is learned from this
        self._close_now()

    async def close(self) -> None:
        """Close the socket and return when the server has acknowledged it, or after ``CLOSE_TIMEOUT``."""
        transport, self.transport = self.transport, None
        if transport is not None and self._protocol is not None and not transport.is_closing():
            if transport.can_write_eof():
                transport.write_eof()
            else:  # TLS says that it ends, and waits for the server to say the same
                transport.close()
            await asyncio.wait([self._protocol.closed], timeout=CLOSE_TIMEOUT)
        self._close_now()

    def _close_now(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
        if self._protocol is not None:
            self._protocol.abort()
