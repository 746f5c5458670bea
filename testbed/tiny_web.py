"""The servers of a benchmark, in a thread: one object that answers HTTP requests and DNS queries."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from testbed.in_thread import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractContextManager


class TinyWeb(asyncio.DatagramProtocol):
    """All servers, on any loopback address, and their name server; subclasses have ``page``, ``datagram_received``."""

    transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The name server listens."""
        self.transport = transport  # type: ignore[assignment]

    def reply(self, query: bytes, addr: object, address: str | None, rcode: int = 0) -> None:
        """Answer a query with an IPv4 ``address``, if it asks for one, or with none."""
        end = query[12:].index(0) + 12
        has = address is not None and query[end + 2] == 1
        record = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x0e\x10\x00\x04" + socket.inet_aton(address or "0") if has else b""
        head = query[:2] + (0x8180 | rcode).to_bytes(2) + bytes((0, 1, 0, has)) + b"\0\0\0\0"
        assert self.transport is not None
        self.transport.sendto(head + query[12 : end + 5] + record, addr)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests on one connection."""
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):  # the latter: at the end
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                body = await self.page(head.partition("Host: ")[2].partition(":")[0], head.split(" ", 2)[1], writer)
                status = b"404 Not Found" if body is None else b"200 OK"
                text = (body or "").encode()
                writer.write(
                    b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % (status, len(text))
                )
                writer.write(text)
        writer.close()

    async def page(self, host: str, path: str, writer: asyncio.StreamWriter) -> str | None:
        """The body of an answer; None: not found."""
        raise NotImplementedError


def serving(web: TinyWeb) -> AbstractContextManager[tuple[int, int]]:
    """Serve ``web`` until the end of the block; its ports: of the name server, and of all servers."""
    return in_thread(_listening(web))


@asynccontextmanager
async def _listening(web: TinyWeb) -> AsyncIterator[tuple[int, int]]:
    loop = asyncio.get_running_loop()
    dns, _ = await loop.create_datagram_endpoint(lambda: web, local_addr=("127.0.0.1", 0))
    server = await asyncio.start_server(web.serve, "0.0.0.0", 0)
    yield dns.get_extra_info("sockname")[1], server.sockets[0].getsockname()[1]
