"""The emulated web on loopback: an asyncio server per address, all on one port.

A TCP handshake on loopback cannot be slowed down from user space, so the cost of a connection is an additional delay
before its first response: a client measures it as response time of the first request, not as connection time.
"""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
from functools import partial
from typing import TYPE_CHECKING

from .connection import Connection, Register
from .live import LiveServer
from .log import AccessLog

if TYPE_CHECKING:
    from pathlib import Path

    from .web import Web

BACKLOG = 512
PORT_TRIES = 50
SPARE_FILES = 4096  # for connections, in addition to one listening socket per server


class LocalWeb:
    """Serves a web inside the running event loop: `await start()`, `await stop()`, or `async with`.

    After the start, the URLs of `web` have the port, and `log` has the records. With `log_path`, records are also
    written to that file; `keep` is the number of records kept in memory (None: all).
    """

    def __init__(self, web: Web, port: int = 0, log_path: str | Path | None = None, keep: int | None = None) -> None:
        self.web = web
        self.log = AccessLog(log_path, keep)
        self._wanted_port = port or web.spec.port
        self._register = Register(self.log)
        self._servers: list[asyncio.Server] = []

    @property
    def port(self) -> int:
        """The port of all servers."""
        return self.web.port

    @property
    def seeds(self) -> list[str]:
        """URLs to start a crawl from."""
        return self.web.seeds()

    def limit(self, pages: float) -> None:
        """Answer each client (an address) at most so many requests for pages; the others wait until the next call."""
        self._register.limit(pages)

    async def start(self) -> None:
        """Listen on every live server's address. Raises `OSError` if the port is in use."""
        live = [server for server in self.web.servers if not server.is_dead]
        raise_file_limit(len(live) + SPARE_FILES)
        addresses = [server.address for server in live]
        sockets = _bind_all(addresses, self._wanted_port) if self._wanted_port else _bind_free(addresses)
        self.web = self.web.at(sockets[0].getsockname()[1])
        self.log.open(self.web.spec, self.port)
        loop = asyncio.get_running_loop()
        for server, sock in zip(live, sockets, strict=True):
            protocol = partial(Connection, LiveServer(self.web, server), self._register)
            self._servers.append(await loop.create_server(protocol, sock=sock, backlog=BACKLOG))

    async def stop(self) -> None:
        """Close all connections and listening sockets, then the log."""
        for server in self._servers:
            server.close()
        for connection in list(self._register.all.values()):
            connection.end("stop")
        while self._register.all:
            await asyncio.sleep(0)
        for server in self._servers:
            await server.wait_closed()
        self._servers.clear()
        self.log.close()

    async def __aenter__(self) -> LocalWeb:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()


def raise_file_limit(needed: int) -> None:
    """Raise this process's limit on open files to `needed`. Raises `OSError` if the system does not allow it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        if hard != resource.RLIM_INFINITY and hard < needed:
            raise OSError(errno.EMFILE, f"{needed} open files needed, but the hard limit is {hard}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _bind_free(addresses: list[str]) -> list[socket.socket]:
    """A bound socket per address on a port that is free on all of them."""
    for _ in range(PORT_TRIES - 1):
        try:
            return _bind_all(addresses, 0)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    return _bind_all(addresses, 0)


def _bind_all(addresses: list[str], port: int) -> list[socket.socket]:
    """A bound socket per address on the same port; 0: a port that is free on the first address."""
    sockets: list[socket.socket] = []
    try:
        for address in addresses:
            sockets.append(_bind(address, port))
            port = sockets[0].getsockname()[1]
    except OSError:
        for sock in sockets:
            sock.close()
        raise
    return sockets


def _bind(address: str, port: int) -> socket.socket:
    """A socket bound to exactly this address and port."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address, port))
    except OSError as error:
        sock.close()
        raise OSError(error.errno, f"cannot listen on {address}:{port}: {error.strerror}") from error
    return sock
