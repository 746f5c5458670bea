"""Data that nobody asked for closes the connection: it is never the answer to the next request."""

from __future__ import annotations

import asyncio
import select
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from crawlproject.compat import DownloadFailedError
from crawlproject.download.connection import Connection
from crawlproject.download.timing import Timing
from tests.crawl.nasty_server import response
from tests.download.direct_fetch import fetch_directly, in_loop, serving

EVIL = response(b"evil")


class Peer:
    """A server that answers each request with its path and sends more when it is told to."""

    def __init__(self) -> None:
        self.writers: list[asyncio.StreamWriter] = []
        self.before = self.behind = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A connection."""
        self.writers.append(writer)
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(self.before + response(request.split(b" ", 2)[1]) + self.behind)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


class Client:
    """A session's connection to a server."""

    connection: Connection
    root: str

    def __init__(self) -> None:
        self.counted: list[None] = []
        self.lost = asyncio.Event()

    async def get(self, path: str) -> str:
        """The body of a page."""
        self.lost = asyncio.Event()
        return (await fetch_directly(self.connection, self.root + path, Timing())).body.decode()

    def fileno(self) -> int:
        """Of the socket open now."""
        assert self.connection.transport is not None
        number: int = self.connection.transport.get_extra_info("socket").fileno()
        return number


@asynccontextmanager
async def connected(*, tls: bool) -> AsyncIterator[tuple[Peer, Client]]:
    """A server and a client of it."""
    peer, client = Peer(), Client()
    async with serving(
        peer.serve, tls=tls, on_lost=lambda _: client.lost.set(), on_unsolicited=lambda: client.counted.append(None)
    ) as (client.connection, client.root):
        try:
            yield peer, client
        finally:
            await client.connection.close()
            for writer in peer.writers:
                with suppress(AttributeError):  # Python 3.11.2, if TLS is closed already
                    writer.transport.abort()


async def _while_idle(peer: Peer, client: Client) -> None:
    assert await client.get("/a") == "/a"
    peer.writers[0].write(EVIL)
    await client.lost.wait()
    assert await client.get("/b") == "/b"


async def _before_the_loop_looks(peer: Peer, client: Client) -> None:
    assert await client.get("/a") == "/a"
    peer.writers[0].write(EVIL)  # sent at once; from here to the request the event loop does not run
    assert select.select([client.fileno()], [], [], 10)[0]
    assert await client.get("/b") == "/b"


async def _behind_the_answer(peer: Peer, client: Client) -> None:
    peer.behind = EVIL
    assert await client.get("/a") == "/a"
    peer.behind = b""
    assert await client.get("/b") == "/b"


async def _piece_behind_the_answer(peer: Peer, client: Client) -> None:
    peer.behind = b"HT"
    assert await client.get("/a") == "/a"
    peer.behind = b""
    assert await client.get("/b") == "/b"


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("case", [_while_idle, _before_the_loop_looks, _behind_the_answer, _piece_behind_the_answer])
@in_loop
async def test_it_is_no_answer(case: Callable[[Peer, Client], Any], tls: bool) -> None:
    """The second request goes over another connection, and has its own answer."""
    async with connected(tls=tls) as (peer, client):
        await case(peer, client)
        assert len(peer.writers) == 2
        assert len(client.counted) == (case is not _before_the_loop_looks)


@pytest.mark.parametrize("tls", [False, True])
@in_loop
async def test_connection_is_kept_without_it(tls: bool) -> None:
    """Ordinary answers follow each other on one connection."""
    async with connected(tls=tls) as (peer, client):
        for path in ("/a", "/b", "/c"):
            assert await client.get(path) == path
        assert len(peer.writers) == 1


@pytest.mark.parametrize("tls", [False, True])
@in_loop
async def test_end_that_the_loop_has_not_seen_is_no_data(tls: bool) -> None:
    """Also where TLS announces it.  The connection opened instead is not taken for lost."""
    async with connected(tls=tls) as (peer, client):
        assert await client.get("/a") == "/a"
        lost = client.lost
        writer = peer.writers[0]  # sends at once; from here to the request the event loop does not run
        writer.write_eof() if writer.can_write_eof() else writer.close()
        assert select.select([client.fileno()], [], [], 10)[0]
        assert await client.get("/b") == "/b"
        assert not lost.is_set()
        assert await client.get("/c") == "/c"
        assert not client.lost.is_set()
        assert len(peer.writers) == 2
        assert not client.counted


@in_loop
async def test_head_that_is_too_long_fails() -> None:
    """As any broken answer does."""
    async with connected(tls=False) as (peer, client):
        peer.before = b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000
        with pytest.raises(DownloadFailedError, match="head of more than"):
            await client.get("/a")
