"""aiohttp's protocol of one connection: repairs responses before they are parsed, rejects unsolicited data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

from crawlproject.download.answer_repair import AnswerRepair, BrokenAnswerError, BrokenBodyError
from crawlproject.download.idle_socket import count_unread, is_readable

if TYPE_CHECKING:
    import asyncio
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
        return self._answer is not None and is_readable(self.transport)

    async def close_readable(self) -> None:
        """Close the connection, for which ``is_readable`` is true; data is counted, but not TLS's close message."""
        await count_unread(self.transport, self._on_unsolicited)
        self._close()

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
