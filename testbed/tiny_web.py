"""The servers of a benchmark, in a thread: one object that answers HTTP requests and DNS queries."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class TinyWeb(asyncio.DatagramProtocol):
    """All servers, on any loopback address, and their name server; a subclass also has ``datagram_received``."""

    transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The name server listens."""
        self.transport = transport  # type: ignore[assignment]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests on one connection."""
        raise NotImplementedError


@contextmanager
def serving(web: TinyWeb) -> Iterator[tuple[int, int]]:
    """Serve ``web`` until the end of the block; its ports: of the name server, and of all servers."""
    loop, started = asyncio.new_event_loop(), threading.Event()
    ports: list[int] = []
    stop = asyncio.Event()

    async def run() -> None:
        dns, _ = await loop.create_datagram_endpoint(lambda: web, local_addr=("127.0.0.1", 0))
        server = await asyncio.start_server(web.serve, "0.0.0.0", 0)
        ports.extend((dns.get_extra_info("sockname")[1], server.sockets[0].getsockname()[1]))
        started.set()
        await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
    thread.start()
    started.wait()
    try:
        yield ports[0], ports[1]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
