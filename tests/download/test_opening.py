"""Connections by a proxy: through a tunnel to an https server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from crawlproject.compat import CannotResolveHostError, DownloadConnectionRefusedError, DownloadFailedError
from crawlproject.download.connection import Connection
from crawlproject.download.request_head import Proxy
from crawlproject.download.timing import Timing
from crawlproject.requests.failures import in_words, is_of_proxy
from tests.download.direct_fetch import fetch_directly, in_loop, serving
from tests.download.test_unsolicited import Peer

OK = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Tunnels:
    """A proxy that answers CONNECT by ``answer`` and then passes on what comes."""

    def __init__(self, answer: bytes = OK) -> None:
        self.answer = answer
        self.asked: list[bytes] = []
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A connection."""
        self.writers.append(writer)
        self.asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(self.answer)
        if self.answer == OK:
            host, port = self.asked[-1].split(b" ")[1].decode().split(":")
            from_server, to_server = await asyncio.open_connection(host, int(port))
            self.writers.append(to_server)
            await asyncio.gather(_passed(reader, to_server), _passed(from_server, writer))


async def _passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)


@asynccontextmanager
async def through(proxy: Tunnels, lost: asyncio.Event | None = None) -> AsyncIterator[tuple[Connection, str, Proxy]]:
    """A connection, the root of an https server, and the address of the proxy."""
    peer = Peer()
    front = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    via = Proxy(False, "127.0.0.1", front.sockets[0].getsockname()[1], b"Basic eA==")
    async with serving(peer.serve, tls=True, on_lost=lambda _: lost and lost.set()) as (connection, root):
        try:
            yield connection, root, via
        finally:
            connection.abort()
            for writer in (*proxy.writers, *peer.writers):
                with suppress(AttributeError):  # Python 3.11.2, if TLS is closed already
                    writer.transport.abort()
            for _ in range(3):  # until they are closed
                await asyncio.sleep(0)
            front.close()


@in_loop
async def test_a_tunnel_is_kept_for_one_proxy() -> None:
    """Two requests share it; another proxy gets a connection of its own, and is no loss of the first."""
    proxy, timing, lost = Tunnels(), Timing(), asyncio.Event()
    async with through(proxy, lost) as (connection, root, via):
        for path in ("/a", "/b"):
            assert (await fetch_directly(connection, root + path, timing, via=via)).text == path
        assert timing.reused
        assert timing.tls_time is not None
        assert (await fetch_directly(connection, f"{root}/c", timing, via=via._replace(credentials=b""))).text
        assert not lost.is_set()
    first, second = proxy.asked
    assert first.endswith(b"Proxy-Authorization: Basic eA==\r\n\r\n")
    assert b"Authorization" not in second


@pytest.mark.parametrize(
    ("answer", "is_its_fault"),
    [(b"HTTP/1.1 403 No\r\n\r\n", True), (b"HTTP/1.1 502 Bad\r\n\r\n", False), (b"x\r\n\r\n", False)],
)
def test_a_proxy_that_refuses(answer: bytes, *, is_its_fault: bool) -> None:
    """From 500 on the server may be at fault; an answer that is not HTTP counts as that."""

    @in_loop
    async def test() -> None:
        async with through(Tunnels(answer)) as (connection, root, via):
            with pytest.raises(DownloadFailedError) as found:
                await fetch_directly(connection, root, Timing(), via=via)
            assert is_of_proxy(found.value) == is_its_fault

    test()


@in_loop
async def test_a_proxy_that_is_not_there() -> None:
    """It is at fault, whatever the request; a server without a proxy is so itself."""
    async with through(Tunnels()) as (connection, root, via):
        for url in (root, "http://127.0.0.1:9/"):
            with pytest.raises(DownloadConnectionRefusedError) as found:
                await fetch_directly(connection, url, Timing(), via=via._replace(port=9))
            assert is_of_proxy(found.value)
            assert in_words(found.value) == "connection refused"
        with pytest.raises(DownloadConnectionRefusedError) as found:
            await fetch_directly(connection, "http://127.0.0.1:9/", Timing())
        assert not is_of_proxy(found.value)
        with pytest.raises(CannotResolveHostError):
            await fetch_directly(connection, root, Timing(), via=via._replace(host="a.invalid"))
