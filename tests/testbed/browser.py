"""A client of the emulated web for its tests: one connection, one request after another."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from testbed.web import LocalWeb, Record, WebSpec, build_web

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

#: Seconds after which something is considered hung.
PATIENCE = 60.0


class Reply(NamedTuple):
    """A response as received."""

    status: int
    headers: dict[str, str]
    body: bytes


class Browser:
    """A connection to one server of a running web."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def get(self, target: str = "/", *lines: str, method: str = "GET") -> Reply:
        """Send a request with these further header lines and wait for its response."""
        self.send(target, *lines, method=method)
        return await self.receive(method)

    def send(self, target: str, *lines: str, method: str = "GET") -> None:
        head = "\r\n".join([f"{method} {target} HTTP/1.1", "Host: test", *lines])
        self.writer.write(f"{head}\r\n\r\n".encode())

    async def receive(self, method: str = "GET") -> Reply:
        """Wait for the next response."""
        head = (await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), PATIENCE)).decode()
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        body = b"" if method == "HEAD" else await self.reader.readexactly(int(headers["content-length"]))
        return Reply(int(first.split()[1]), headers, body)

    async def is_closed(self) -> bool:
        """Wait for the server to close; False where it sends something instead."""
        return await asyncio.wait_for(self.reader.read(1), PATIENCE) == b""


@asynccontextmanager
async def browse(local: LocalWeb, server: int = 0) -> AsyncIterator[Browser]:
    """A connection to a server, closed at the end."""
    reader, writer = await asyncio.open_connection(local.web.servers[server].address, local.port)
    try:
        yield Browser(reader, writer)
    finally:
        writer.close()
        await writer.wait_closed()


async def until(condition: Callable[[], bool]) -> None:
    """Give the server, which shares this loop, its turns until ``condition`` holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0)


def fast(**fields: object) -> WebSpec:
    """A small web without delays, with persistent connections, changed by these fields."""
    plain = {"servers": 4, "pages": 40, "time_scale": 0.0, "keep_alive_limit": 100, "seed_count": 2}
    return WebSpec.from_values(plain | fields)


def visit(spec: WebSpec, client: Callable[[LocalWeb], Awaitable[None]]) -> list[Record]:
    """Serve a web while the client runs; gives the log."""

    async def run() -> list[Record]:
        async with LocalWeb(build_web(spec)) as local:
            await client(local)
        return list(local.log.records)

    return asyncio.run(run())
