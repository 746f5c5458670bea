"""Connections of sessions that end: after the request in flight, or at once."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from crawlproject import crawl_frontier
from crawlproject.compat import DownloadFailedError, ResponseDataLossError
from crawlproject.crawl_frontier import Unrecorded
from crawlproject.download.opening import Opening
from crawlproject.download.pool import MAX_WAIT, ConnectionPool, Courtesy, SessionAbandoned, Use
from crawlproject.download.timing import Timing
from tests.crawl.nasty_server import response
from tests.download.direct_fetch import GUARD, fetch_directly, in_loop, resolved


class Slow:
    """A server that sends ``start`` of its answer, and ``rest`` when ``go`` is set; ``gone``: the client has closed."""

    def __init__(self, start: bytes = b"") -> None:
        self.start, self.rest = start, response(b"page")[len(start) :]
        self.asked, self.go, self.gone = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A connection."""
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(self.start)
                self.asked.set()
                go, gone = asyncio.ensure_future(self.go.wait()), asyncio.ensure_future(reader.read(1))
                await asyncio.wait([go, gone], return_when=asyncio.FIRST_COMPLETED)
                if gone.done() and not self.go.is_set():
                    gone.exception()  # a reset, perhaps
                    break
                writer.write(self.rest)
                gone.cancel()
                await asyncio.wait([gone])
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.gone.set()
            writer.close()


@asynccontextmanager
async def crawling(*servers: Slow) -> AsyncIterator[tuple[ConnectionPool, list[str]]]:
    """A pool for one connection, and the servers' keys."""
    listening = [await asyncio.start_server(server.serve, "127.0.0.1", 0) for server in servers]
    keys = [f"http://127.0.0.1:{each.sockets[0].getsockname()[1]}" for each in listening]
    pool = ConnectionPool(1, Opening(ssl.create_default_context(), resolved, GUARD))
    try:
        yield pool, keys
    finally:
        await pool.aclose()
        for each in listening:
            each.close()


#: Errors of a request whose connection was aborted; the handler raises SessionAbandoned from them.
ENDED = (DownloadFailedError, ResponseDataLossError)


async def at_once() -> None:
    """All requests are recorded."""


async def fetch(pool: ConnectionPool, key: str) -> bytes:
    """A page of a server with a session."""
    async with Use(pool, key, lambda: True) as connection:
        return (await fetch_directly(connection, f"{key}/", Timing())).body


def stranger_of(pool: ConnectionPool, key: str, courtesy: Courtesy) -> Use:
    """The use of a connection by a request outside sessions."""
    return Use(pool, key, lambda: False, courtesy=courtesy)


@pytest.mark.parametrize("size", [0, 20, len(response(b"page")) - 2])
@in_loop
async def test_an_aborted_request_fails_and_its_socket_is_closed(size: int) -> None:
    """Before the answer, in its head and in its body; its slot is free then, also for another connection to it."""
    first, second = Slow(response(b"page")[:size]), Slow()
    second.go.set()
    async with crawling(first, second) as (pool, keys):
        request = asyncio.ensure_future(fetch(pool, keys[0]))
        await first.asked.wait()
        pool.abort(keys[0])
        with pytest.raises(ENDED):
            await request
        await first.gone.wait()
        assert await fetch(pool, keys[1]) == b"page"
        pool.close(keys[1])
        first.start, first.rest = b"", response(b"again")
        first.go.set()
        assert await fetch(pool, keys[0]) == b"again"


@in_loop
async def test_a_request_that_waits_for_its_turn_is_not_sent() -> None:
    """It fails as abandoned."""
    server = Slow()
    async with crawling(server) as (pool, keys):
        requests = [asyncio.ensure_future(fetch(pool, keys[0])) for _ in range(2)]
        await server.asked.wait()
        pool.abort(keys[0])
        first, second = await asyncio.gather(*requests, return_exceptions=True)
        assert isinstance(first, ENDED)
        assert isinstance(second, SessionAbandoned)
        await server.gone.wait()


@in_loop
async def test_a_closed_session_lets_its_request_end() -> None:
    """Then the socket is closed; closing or aborting a server without a connection does nothing."""
    server = Slow()
    async with crawling(server) as (pool, keys):
        request = asyncio.ensure_future(fetch(pool, keys[0]))
        await server.asked.wait()
        pool.close(keys[0])
        await asyncio.sleep(0)
        assert not server.gone.is_set()
        server.go.set()
        assert await request == b"page"
        await server.gone.wait()
        pool.close(keys[0])
        pool.abort(keys[0])


@in_loop
async def test_an_idle_connection_is_aborted() -> None:
    """Of a session that waits, for instance."""
    server = Slow()
    server.go.set()
    async with crawling(server) as (pool, keys):
        assert await fetch(pool, keys[0]) == b"page"
        pool.abort(keys[0])
        assert len(pool) == 0
        await server.gone.wait()


class Silent:
    """A name server that never answers; ``asked``: it was."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def resolve(self, *_: Any, **__: Any) -> Any:
        """Never returns."""
        self.asked.set()
        await asyncio.Event().wait()


@pytest.mark.parametrize("is_cancelled", [False, True])
@in_loop
async def test_a_request_whose_connection_is_being_opened_is_aborted_or_cancelled(*, is_cancelled: bool) -> None:
    """An aborted one fails; its task goes on and is not cancelled."""
    resolver = Silent()
    pool = ConnectionPool(1, Opening(ssl.create_default_context(), resolver.resolve, GUARD))
    cancelled = []

    async def request() -> None:
        try:
            await fetch(pool, "http://a.example")
        finally:
            task = asyncio.current_task()
            assert task is not None
            cancelled.append(task.cancelling())

    task = asyncio.ensure_future(request())
    await resolver.asked.wait()
    if is_cancelled:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        pool.abort("http://a.example")
        with pytest.raises(ConnectionAbortedError):
            await task
    assert cancelled == [int(is_cancelled)]
    await pool.aclose()
    assert not pool.open


@in_loop
async def test_a_connection_that_the_server_has_closed_leaves_its_place_at_once() -> None:
    """There is nothing to wait for."""
    server = Slow()
    server.rest = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\npage"
    server.go.set()
    async with crawling(server) as (pool, keys):
        assert await fetch(pool, keys[0]) == b"page"
        while not pool._connections[keys[0]].is_over:
            await asyncio.sleep(0)
        pool.close(keys[0])
        assert not pool.open


@in_loop
async def test_a_long_polite_wait_holds_no_slot() -> None:
    """A request outside sessions whose server rests leaves the only slot to others, and then gets its own turn."""
    resting, other = Slow(), Slow(response(b"page"))
    async with crawling(resting, other) as (pool, keys):
        has_asked, begun, rested = asyncio.Event(), asyncio.Event(), asyncio.Event()

        def wait() -> float:
            has_asked.set()
            return 0.0 if rested.is_set() else MAX_WAIT + 0.1

        async def stranger() -> None:
            async with stranger_of(pool, keys[0], Courtesy(wait, at_once)):
                begun.set()

        request = asyncio.ensure_future(stranger())
        await has_asked.wait()
        other.go.set()
        assert await fetch(pool, keys[1]) == b"page"
        rested.set()
        assert not begun.is_set()
        pool.close(keys[1])
        await request


@pytest.mark.parametrize("ended", [0, 1, 2])
@in_loop
async def test_the_wait_is_asked_for_when_all_requests_that_have_ended_are_recorded(ended: int) -> None:
    """At once if there was none, as for most robots.txt files; a middleware may see an answer for long before."""
    order: list[str] = []
    unrecorded = Unrecorded()

    async def record() -> None:
        for _ in range(ended):
            await asyncio.sleep(0)
            order.append("recorded")
            unrecorded.remove(keys[0])

    def wait() -> float:
        order.append("asked")
        return 0.0

    async with crawling(Slow()) as (pool, keys):
        for _ in range(ended):
            unrecorded.add(keys[0])
        recording = asyncio.ensure_future(record())
        courtesy = Courtesy(wait, partial(unrecorded.none_left, keys[0]))
        async with stranger_of(pool, keys[0], courtesy):
            pass
        await recording
    assert order == ["asked"] + ["recorded"] * ended + ["asked"]


@in_loop
async def test_a_request_that_nobody_records_holds_up_others_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It did not pass through Scrapy's downloader."""
    monkeypatch.setattr(crawl_frontier, "RECORDED_WITHIN", 0.0)
    unrecorded = Unrecorded()
    unrecorded.add("http://a.example")
    waiting = [asyncio.ensure_future(unrecorded.none_left("http://a.example")) for _ in range(3)]
    await asyncio.gather(*waiting)
    monkeypatch.setattr(crawl_frontier, "RECORDED_WITHIN", None)
    await unrecorded.none_left("http://a.example")


@in_loop
async def test_a_request_that_may_not_wait_gives_its_slot_back() -> None:
    """An error of ``wait``."""
    other = Slow(response(b"page"))
    other.go.set()
    async with crawling(Slow(), other) as (pool, keys):
        with pytest.raises(ZeroDivisionError):
            async with stranger_of(pool, keys[0], Courtesy(lambda: 1 / 0, at_once)):
                pass
        assert await fetch(pool, keys[1]) == b"page"
