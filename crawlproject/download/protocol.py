"""aiohttp's protocol of one connection: repairs responses before they are parsed, rejects unsolicited data."""

from __future__ import annotations

import asyncio
import select
import socket
from typing import TYPE_CHECKING, Any

from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

from crawlproject.download.answer_repair import AnswerRepair, BrokenAnswerError, BrokenBodyError

if TYPE_CHECKING:
    from collections.abc import Callable


class AnswerProtocol(ResponseHandler):
    """aiohttp's client protocol; ``on_unsolicited`` is called when unsolicited data arrives.

    Such data would be read as the response to the next request.  Therefore it closes the connection: after the end of a
    response once that has been read, on an idle connection immediately.  Before the first request it is accepted,
    because some servers answer as soon as the connection is open.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, on_unsolicited: Callable[[], None]) -> None:
        super().__init__(loop)
        self._on_unsolicited = on_unsolicited
        self._answer: AnswerRepair | None = None

    def set_response_params(self, *, skip_payload: bool = False, **params: Any) -> None:
        """Called by aiohttp before each request."""
        self._answer = AnswerRepair(no_body=skip_payload)
        super().set_response_params(skip_payload=skip_payload, **params)

    def data_received(self, data: bytes) -> None:
        """Called by the transport, and by aiohttp with no data when it resumes reading."""
        answer = self._answer
        if answer is None or not data or self.upgraded:
            super().data_received(data)
            return
        if answer.complete:
            self._unsolicited()
            return
        try:
            read = answer.feed(data)
        except BrokenAnswerError as error:
            self._fail(str(error))
            return
        except BrokenBodyError as error:
            super().data_received(error.before)
            self._close()
            return
        if answer.surplus:
            self._on_unsolicited()
        if answer.surplus or answer.contradicts:
            self.force_close()  # before the parser releases the connection
        if read:
            super().data_received(read)

    def is_readable(self) -> bool:
        """Whether the idle connection's socket holds data, or its end, that the event loop has not read yet."""
        sock = self._socket()
        if sock is None or self._answer is None or sock.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(sock.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    async def close_readable(self) -> None:
        """Close the connection, for which ``is_readable`` is true; data is counted, but not TLS's close message."""
        sock = self._socket()
        if sock is not None and self.transport is not None and self.transport.get_extra_info("ssl_object") is None:
            with sock.dup() as same:
                if holds_data(same):
                    self._on_unsolicited()
        else:
            for _ in range(2):  # the loop reads, decrypts and calls ``data_received`` if there is data
                await asyncio.sleep(0)
        self._close()

    def _socket(self) -> Any:
        return self.transport.get_extra_info("socket") if self.transport is not None else None

    def _unsolicited(self) -> None:
        self._on_unsolicited()
        self._close()

    def _fail(self, why: str) -> None:
        self.set_exception(HttpProcessingError(code=400, message=why))
        self._close()

    def _close(self) -> None:
        self.force_close()
        if self.transport is not None:
            self.transport.abort()


def holds_data(sock: socket.socket) -> bool:
    """Whether ``sock`` has received data that nobody has read."""
    try:
        return bool(sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    except OSError:
        return False
