"""A direct connection whose server, or whose crawl, does not wait for the request or its answer."""

from __future__ import annotations

import asyncio
import gc
import itertools
import time
import tracemalloc

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from crawlproject.download.content_types import media_type
from crawlproject.download.direct import MAX_EARLY, DirectProtocol
from crawlproject.download.endings import BrokenOffError, ServerDisconnectedError
from crawlproject.download.timing import Timing
from crawlproject.download.transfer import Transfer
from crawlproject.middlewares.large_pages import LargePageMiddleware
from tests.download.direct_fetch import fetch_directly, in_loop, serving
from tests.download.test_pool import Slow


class Peer(asyncio.Transport):
    """A transport that sends nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.is_aborted = False
        self.reads = True

    def abort(self) -> None:
        self.is_aborted = True

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def write(self, data: object) -> None:
        """Nobody reads it."""


class Waiting:
    """An answer that must not come."""

    error: Exception | None = None
    has_no_body = False

    def head(self, head: object) -> bool:
        raise AssertionError(head)

    body = head

    def end(self) -> None:
        raise AssertionError

    def broken(self, error: Exception) -> None:
        self.error = error


class Collecting:
    """An answer that counts its bytes."""

    is_paused = has_no_body = False
    error: type[Exception] | None = None

    def __init__(self) -> None:
        self.size = 0
        self.ended = asyncio.Event()

    def head(self, _: object) -> bool:
        return True

    def body(self, data: bytes) -> bool:
        self.size += len(data)
        return True

    def end(self) -> None:
        self.ended.set()

    def broken(self, error: Exception) -> None:
        self.error = type(error)
        self.ended.set()


@in_loop
async def test_request_on_a_connection_that_is_closed_fails_at_once() -> None:
    """It does not wait for the time-out."""
    protocol, answer = DirectProtocol(asyncio.get_running_loop(), lambda: None), Waiting()
    protocol.connection_made(Peer())
    protocol.connection_lost(None)
    protocol.ask(b"GET / HTTP/1.1\r\n\r\n", answer)  # type: ignore[arg-type]
    assert isinstance(answer.error, ServerDisconnectedError)


@in_loop
async def test_too_much_before_the_request_ends_the_connection() -> None:
    """No piece of it is left out."""
    protocol, peer = DirectProtocol(asyncio.get_running_loop(), lambda: None), Peer()
    protocol.connection_made(peer)
    protocol.data_received(bytes(MAX_EARLY))
    assert not peer.is_aborted
    protocol.data_received(b"x")
    assert peer.is_aborted


@in_loop
async def test_long_content_types_are_not_kept() -> None:
    """They are keys of caches."""
    middleware, sent, ended = LargePageMiddleware.from_crawler(get_crawler()), itertools.count(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            await reader.readuntil(b"\r\n\r\n")
            kind = b"text/html; x=%d" % next(sent) + b"x" * 200_000
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: " + kind + b"\r\nContent-Length: 3\r\n\r\n<p>")
        writer.close()
        ended.set()

    async def fetch() -> None:
        response = await fetch_directly(connection, url, Timing(started=0.0))
        assert isinstance(middleware.process_response(Request(url), response), HtmlResponse)
        assert media_type(response.headers) == "text/html"

    async with serving(serve) as (connection, url):
        await fetch()
        tracemalloc.start()
        try:
            for _ in range(20):
                await fetch()
            gc.collect()
            kept = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
            await connection.close()
        await ended.wait()
    assert kept < 2_000_000


@in_loop
async def test_cancelled_request_leaves_nothing() -> None:
    """No timer keeps it until the time-out."""
    slow = Slow(b"HTTP/1.1 200 OK\r\n")
    async with serving(slow.serve) as (connection, url):
        task = asyncio.create_task(fetch_directly(connection, url, Timing(started=0.0)))
        await slow.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        del task
        await slow.gone.wait()
        gc.collect()
        assert not [each for each in gc.get_objects() if isinstance(each, Transfer) and each.done.cancelled()]


@pytest.mark.parametrize("answers", [[False], [True, False]])
@pytest.mark.parametrize("is_open", [False, True])
@in_loop
async def test_a_request_that_may_not_be_sent_any_more_is_not(answers: list[bool], is_open: bool) -> None:
    """Asked before the connection is opened, and again as the last act before the request is written."""
    slow = Slow()
    slow.go.set()
    async with serving(slow.serve) as (connection, url):
        if is_open:
            await fetch_directly(connection, url, Timing(started=0.0))
            slow.asked.clear()
        left = answers[is_open and len(answers) > 1 :]
        with pytest.raises(ConnectionAbortedError):
            await fetch_directly(connection, url, Timing(started=0.0), lambda: left.pop(0))
        assert not left
        assert connection.is_aborted
        if is_open or len(answers) > 1:
            await slow.gone.wait()
        assert not slow.asked.is_set()


#: The head of an answer, and chunks of one byte: six bytes each.
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
TINY = b"1\r\nx\r\n"


@in_loop
async def test_tiny_chunks_do_not_hold_the_event_loop() -> None:
    """Nor do those of many servers: they take turns. Each read took 0.1 s, and those of all servers followed."""
    loop, answers = asyncio.get_running_loop(), [Collecting() for _ in range(12)]
    for answer in answers:
        protocol = DirectProtocol(loop, lambda: None)
        protocol.connection_made(Peer())
        protocol.ask(b"GET / HTTP/1.1\r\n\r\n", answer)  # type: ignore[arg-type]
        loop.call_soon(protocol.data_received, CHUNKED + TINY * 40_000)
    longest = 0.0
    while any(answer.size < 2_000 for answer in answers):
        started = time.thread_time()
        await asyncio.sleep(0)
        longest = max(longest, time.thread_time() - started)
    assert longest < 0.25


@pytest.mark.parametrize("end", ["0\r\n\r\n", "0\r\n\r\nHTTP/1.1 200 OK\r\n", "", "Z\r\n"])
@pytest.mark.parametrize("is_lost", [False, True])
@in_loop
async def test_answer_of_tiny_chunks_is_read_to_its_end(end: str, is_lost: bool) -> None:
    """Also if the connection ends meanwhile, as TLS reports it; reading goes on for the next request."""
    is_lost = is_lost or not end
    peer, answer, unsolicited = Peer(), Collecting(), []
    protocol = DirectProtocol(asyncio.get_running_loop(), lambda: unsolicited.append(1))
    protocol.connection_made(peer)
    protocol.ask(b"GET / HTTP/1.1\r\n\r\n", answer)  # type: ignore[arg-type]
    protocol.data_received(CHUNKED + TINY * 3_000)
    assert not peer.reads
    protocol.data_received(TINY * 2_000 + end.encode())
    if is_lost:
        protocol.connection_lost(None)
        assert answer.size < 5_000
    await answer.ended.wait()
    assert answer.size == 5_000
    assert answer.error is (None if end.startswith("0") else BrokenOffError)
    assert len(unsolicited) == end.endswith("OK\r\n")
    assert peer.reads or peer.is_aborted or is_lost
