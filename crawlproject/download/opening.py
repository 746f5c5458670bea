"""Opens the socket of a session's connection: to a server, or to a proxy and through it."""

from __future__ import annotations

import asyncio
import socket
import ssl as ssl_module
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohappyeyeballs

from crawlproject.clock import CLOCK
from crawlproject.compat import CannotResolveHostError, DownloadConnectionRefusedError, DownloadFailedError
from crawlproject.download.answer_repair import AnswerReader, BrokenAnswerError, Head
from crawlproject.download.endings import ConnectTimeoutError, ProxyError, ServerDisconnectedError
from crawlproject.download.lookup import is_address
from crawlproject.download.request_head import connect_head

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from crawlproject.download.address_guard import AddressGuard, GuardedSockets
    from crawlproject.download.direct import DirectProtocol
    from crawlproject.download.request_head import Destination, Proxy, Sent
    from crawlproject.download.timing import Timing

#: Seconds until the next address of a host is tried as well (RFC 8305 section 5).
NEXT_ADDRESS = 0.25

#: Status from which an answer to CONNECT may be the server's fault.
SERVER_ERROR = 500


class Tunnel(asyncio.Protocol):
    """Receives the answer of a proxy to CONNECT; after that the connection is the server's."""

    transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._reader = AnswerReader(no_body=True)
        self.answered: asyncio.Future[Head] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        if self.answered.done():
            return
        try:
            self._reader.feed(data)
        except BrokenAnswerError as error:
            self.answered.set_exception(error)
        else:
            if self._reader.head is not None:
                self.answered.set_result(self._reader.head)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.answered.done():
            self.answered.set_exception(exc or ServerDisconnectedError())


@dataclass(frozen=True)
class Opening:
    """Parameters of new connections."""

    ssl: ssl_module.SSLContext
    #: The addresses of a host; raises OSError.
    resolve: Callable[[str], Awaitable[tuple[str, ...]]]
    guard: AddressGuard
    #: Seconds for each address.
    timeout: float = 10.0
    #: Called when unsolicited data arrives.
    on_unsolicited: Callable[[], None] = lambda: None

    async def open(self, protocol: DirectProtocol, sent: Sent, sockets: GuardedSockets, timing: Timing) -> None:
        """Connect ``protocol`` to the first address of the server that answers, by a proxy if ``sent`` takes one; sets
        the times of ``timing``.

        Raises CannotResolveHostError, DownloadConnectionRefusedError, DownloadFailedError or TimeoutError.
        """
        to, via = sent.to, sent.via
        first = to if via is None else via
        sockets.expect(to_proxy=via is not None)
        infos = await self._addresses(first, timing)
        timing.connect_started = CLOCK()
        failure: Exception | None = None
        while infos:
            try:
                async with asyncio.timeout(self.timeout):
                    if via is None or not to.is_https:
                        await self._connect(protocol, first, infos, sockets, timing)
                        return
                    tunnel = Tunnel(asyncio.get_running_loop())
                    await self._connect(tunnel, first, infos, sockets, timing)
            except TimeoutError:
                failure = ConnectTimeoutError(f"Connection timeout to host {first.host}")
            except (OSError, ssl_module.CertificateError) as error:
                failure = DownloadConnectionRefusedError(f"Cannot connect to {first.host}:{first.port}: {error}")
                failure.__cause__ = error
                if via is not None:
                    failure.__cause__ = ProxyError(str(error))
                    failure.__cause__.__cause__ = error
            else:
                await self._pass(tunnel, protocol, to, via, timing)
                return
            aiohappyeyeballs.pop_addr_infos_interleave(infos)
        raise failure or DownloadConnectionRefusedError(f"{first.host} has no address")

    async def _addresses(self, first: Destination | Proxy, timing: Timing) -> list[Any]:
        """As ``getaddrinfo`` gives them."""
        started = CLOCK()
        try:
            found = await self.resolve(first.host)
        except OSError as error:
            raise CannotResolveHostError(f"Cannot resolve {first.host}: {error}") from error
        finally:
            timing.dns_time = 0.0 if is_address(first.host) else CLOCK() - started
        tcp = socket.SOCK_STREAM, socket.IPPROTO_TCP, ""
        families = [socket.AF_INET6 if ":" in address else socket.AF_INET for address in found]
        return [(family, *tcp, (address, first.port)) for family, address in zip(families, found, strict=True)]

    async def _connect(
        self,
        protocol: asyncio.Protocol,
        first: Destination | Proxy,
        infos: list[Any],
        sockets: GuardedSockets,
        timing: Timing,
    ) -> None:
        loop = asyncio.get_running_loop()
        sock = await aiohappyeyeballs.start_connection(
            infos,
            local_addr_infos=aiohappyeyeballs.addr_to_addr_infos(sockets.local),
            happy_eyeballs_delay=NEXT_ADDRESS,
            loop=loop,
            socket_factory=sockets,
        )
        tls, name = (self.ssl, first.host.rstrip(".")) if first.is_https else (None, None)
        connected = CLOCK()
        try:
            await loop.create_connection(lambda: protocol, sock=sock, ssl=tls, server_hostname=name)
        except BaseException:
            sock.close()
            raise
        now = CLOCK()
        timing.connect_time = (connected if tls is not None else now) - timing.connect_started
        if tls is not None:
            timing.tls_time = now - connected

    async def _pass(
        self, tunnel: Tunnel, protocol: DirectProtocol, to: Destination, via: Proxy, timing: Timing
    ) -> None:
        """Ask the proxy for a connection to the server, and hand that to ``protocol``."""
        transport = tunnel.transport
        transport.write(connect_head(to, via))
        try:
            head = await tunnel.answered
            if head.status != 200:
                raise _refusal(head)
            started = CLOCK()
            name = to.host.rstrip(".")
            through = await asyncio.get_running_loop().start_tls(transport, protocol, self.ssl, server_hostname=name)
        except BaseException as error:
            transport.abort()
            if isinstance(error, BrokenAnswerError | ServerDisconnectedError):
                raise DownloadFailedError(f"the proxy {via.host}: {error}") from error
            if isinstance(error, OSError | ssl_module.CertificateError):
                raise DownloadConnectionRefusedError(f"Cannot connect to {to.host}:{to.port}: {error}") from error
            raise
        assert through is not None
        timing.tls_time = CLOCK() - started
        protocol.connection_made(through)


def _refusal(head: Head) -> DownloadFailedError:
    error = DownloadFailedError(f"the proxy answered CONNECT by {head.status} {head.reason:.100}")
    error.__cause__ = ProxyError(str(error)) if head.status < SERVER_ERROR else None
    return error
