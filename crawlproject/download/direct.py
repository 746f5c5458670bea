"""The client's side of a connection: one request at a time, each answered by one future.

It sends the bytes of a request and hands what arrives to a ``Transfer``, which decides by itself: no coroutine runs
between the request and the end of its answer.  A general client, such as aiohttp's, builds a request, a response, a
stream, timers and tasks for each page, and its parser rejects what ``answer_repair`` reads.
"""

from __future__ import annotations

import asyncio
import select
import ssl
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from weakref import WeakSet

from crawlproject.compat import DownloadFailedError
from crawlproject.download.answer_repair import AnswerReader, BrokenAnswerError, BrokenBodyError
from crawlproject.download.endings import BrokenOffError, ServerDisconnectedError, UnsizedBodyError

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlproject.download.answer_repair import Head

#: Maximum bytes that a server may send before the first request.
MAX_EARLY = 1 << 18

#: Seconds between two steps of all answers that have more chunks than are read at a time, one step of some 2 ms each.
TURN = 0.01


class Answer(Protocol):
    """What ``Transfer`` does with an answer; ``head`` and ``body`` return whether more of it is wanted."""

    @property
    def has_no_body(self) -> bool: ...
    @property
    def is_paused(self) -> bool: ...
    def head(self, head: Head) -> bool: ...
    def body(self, data: bytes) -> bool: ...
    def end(self) -> None: ...
    def broken(self, error: Exception) -> None: ...


class DirectProtocol(asyncio.Protocol):
    """The client's side of HTTP/1.1 on one socket; ``on_unsolicited`` is called when unsolicited data arrives.

    Data before the first request counts as its answer: some servers answer as soon as the connection is open.

    An answer of very many chunks is read step by step, and all such answers of the process take turns: sixty of them
    held the event loop for ten seconds at a time.
    """

    _waiting: ClassVar[WeakSet[DirectProtocol]] = WeakSet()  # for their turn

    def __init__(self, loop: asyncio.AbstractEventLoop, on_unsolicited: Callable[[], None]) -> None:
        self._on_unsolicited = on_unsolicited
        self._answer: Answer | None = None
        self._reader: AnswerReader | None = None
        self._early = bytearray()
        self._unread = b""
        self._turn: asyncio.TimerHandle | None = None
        self._lost: list[Exception | None] = []  # how the connection ended, if there is still data to read
        self.transport: asyncio.Transport | None = None
        self.closed: asyncio.Future[None] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    @property
    def is_usable(self) -> bool:
        """Whether another request may be sent."""
        return self.transport is not None and not self.transport.is_closing()

    def ask(self, request: bytes, answer: Answer) -> None:
        """Send ``request``; ``answer`` receives what comes: its ``head`` and ``body`` return False to have no more."""
        assert self.transport is not None
        if self.closed.done():
            answer.broken(ServerDisconnectedError())
            return
        self._reader, self._answer = AnswerReader(no_body=answer.has_no_body), answer
        self.transport.write(request)
        if self._early:
            early, self._early = bytes(self._early), bytearray()
            self.data_received(early)

    def data_received(self, data: bytes) -> None:
        if self._turn is not None:  # the answer has read on by itself
            self._unread += data
            assert self.transport is not None
            self.transport.pause_reading()
            return
        answer, reader = self._answer, self._reader
        if answer is None or reader is None:
            self._take_unasked(data)
            return
        had_head = reader.head is not None
        try:
            body = reader.feed(data)
            if reader.head is None:
                return
            if not had_head and not answer.head(reader.head):
                self._leave()
                return
        except BrokenAnswerError as error:
            self._break(DownloadFailedError(str(error)))
            return
        except BrokenBodyError as error:
            if (had_head or (reader.head is not None and answer.head(reader.head))) and error.before:
                answer.body(error.before)
            self._break(BrokenOffError("broken chunk"))
            return
        if reader.surplus:
            self._on_unsolicited()
        if body and not answer.body(body):
            self._leave()
        elif reader.complete:
            self._end(answer, reader)
        elif reader.unread:
            self._wait(reader.unread)

    def _take_unasked(self, data: bytes) -> None:
        if self._reader is not None:
            self._on_unsolicited()
            self.abort()
        elif len(self._early) + len(data) <= MAX_EARLY:
            self._early += data
        else:
            self.abort()

    def _wait(self, unread: bytes) -> None:
        """Read ``unread`` when it is this connection's turn."""
        assert self.transport is not None
        self.transport.pause_reading()
        self._unread = unread
        self._waiting.add(self)
        self._turn = asyncio.get_running_loop().call_later(TURN * len(self._waiting), self._read_on)

    def _read_on(self) -> None:
        unread = self._end_turn()
        if self._answer is None or self.transport is None:
            return
        self.data_received(unread)
        if self._turn is not None:
            return
        if self._lost:
            self._finish(self._lost[0])
        elif self._answer is None or not self._answer.is_paused:
            self.transport.resume_reading()

    def _end_turn(self) -> bytes:
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
            self._waiting.discard(self)
        unread, self._unread = self._unread, b""
        return unread

    def _end(self, answer: Answer, reader: AnswerReader) -> None:
        self._answer, head = None, reader.head
        if reader.surplus or (head is not None and (head.contradicts or head.closes)):
            self.abort()
        answer.end()

    def _leave(self) -> None:
        """The answer is not wanted to its end."""
        self._answer = None
        self.abort()

    def _break(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        self.abort()
        if answer is not None:
            answer.broken(error)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)
        if self._turn is None:
            self._finish(exc)
        else:  # TLS delivers the end although reading is paused
            self._lost = [exc]

    def _finish(self, exc: Exception | None) -> None:
        answer, reader, self._answer = self._answer, self._reader, None
        if answer is None or reader is None:
            return
        if reader.head is not None and reader.ends_with_connection:
            if _is_end(exc):
                answer.end()
            else:
                answer.broken(UnsizedBodyError())
        elif reader.head is not None:
            answer.broken(BrokenOffError("the connection ended before the body"))
        elif isinstance(exc, OSError):
            answer.broken(exc)
        else:
            answer.broken(ServerDisconnectedError())

    def abort(self) -> None:
        """Close the socket, without waiting for the server."""
        self._end_turn()
        if self.transport is not None:
            self.transport.abort()

    def is_readable(self) -> bool:
        """Whether the idle connection's socket holds data, or its end, that the event loop has not read yet."""
        sock = self.transport.get_extra_info("socket") if self.transport is not None else None
        if self._reader is None or sock is None or sock.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(sock.fileno(), select.POLLIN)
        return bool(poll.poll(0))


def _is_end(error: Exception | None) -> bool:
    """Whether a connection that ended by ``error`` was closed by the server, and not cut off.

    Of TLS, browsers also accept an end without its closing message: many servers do not send it.
    """
    return error is None or isinstance(error, ssl.SSLEOFError)


def peer_of(transport: asyncio.Transport) -> Any:
    """The IP address of the other side."""
    return _parsed(transport.get_extra_info("peername")[0].partition("%")[0])


_parsed = lru_cache(maxsize=4096)(ip_address)  # a server has several connections, most of one request or two
