"""The answer to one request: limits, signals, memory and time, as its bytes arrive."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import lru_cache, partial
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag

from scrapy import signals
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from crawlproject.clock import CLOCK
from crawlproject.compat import DownloadCancelledError, DownloadFailedError, DownloadTimeoutError, ResponseDataLossError
from crawlproject.download.answer_repair import MAX_CONTENT_TYPE
from crawlproject.download.endings import BrokenOffError, ServerDisconnectedError, UnsizedBodyError
from crawlproject.download.receivers import Receivers
from crawlproject.download.request_head import headers_of, request_bytes
from crawlproject.download.timing import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.exceptions import StopDownload

    from crawlproject.download.answer_repair import Head
    from crawlproject.download.body_budget import Share
    from crawlproject.download.direct import DirectProtocol
    from crawlproject.download.request_head import Sent
    from crawlproject.download.timing import Timing

logger = logging.getLogger("scrapy.core.downloader.handlers._base_streaming")

#: Longest unwanted body (bytes) that is read to its end to keep the connection: at 650 kB/s (the median of real
#: servers) this takes as long as opening a new one.
MAX_DRAINED = 1 << 16


class BodySignals:
    """Sends ``headers_received`` and ``bytes_received``; a receiver may stop the download."""

    def __init__(self, crawler: Crawler) -> None:
        self._headers = Receivers(crawler, signals.headers_received)
        self._bytes = Receivers(crawler, signals.bytes_received)

    def headers(self, request: Request, headers: Headers, length: int | None) -> StopDownload | None:
        return _stopped(self._headers.send(headers=headers, body_length=length, request=request), request)

    def received(self, request: Request, data: bytes) -> StopDownload | None:
        return _stopped(self._bytes.send(data=data, request=request), request)


def _stopped(stopped: tuple[Any, StopDownload] | None, request: Request) -> StopDownload | None:
    if stopped is None:
        return None
    receiver, stop = stopped
    logger.debug("Download stopped for %s from signal handler %s", request, receiver.__qualname__)
    return stop


@dataclass
class Limits:
    """Limits on bodies, by the settings; 0 = no limit."""

    max_size: int
    warn_size: int
    fails_on_loss: bool
    #: Whether the loss of a body was logged: once, as the message promises.
    loss_is_logged: bool = False


@lru_cache(maxsize=256)
def _class_of(content_type: bytes) -> type[Response] | None:
    """The class of responses of this type; None if Scrapy would look at more than the type."""
    kind = responsetypes.from_content_type(content_type)
    return None if kind is Response else kind


def _as_headers(lines: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The same as ``Headers(lines)``, in a third of its time."""
    headers = Headers()
    values: dict[bytes, list[bytes]] = {}
    for name, value in lines:
        values.setdefault(name.title(), []).append(value)
    dict.update(headers, values)
    return headers


class Transfer:
    """What becomes of one request; ``done`` is set at its end, and has the error, if any.

    ``head``, ``body``, ``end`` and ``broken`` are called as the answer arrives (``direct``); the first two return
    whether more of it is wanted.
    """

    def __init__(self, sent: Sent, timing: Timing, share: Share, limits: Limits, body_signals: BodySignals) -> None:
        self.sent, self.timing, self.share = sent, timing, share
        self._limits, self._signals = limits, body_signals
        self._request = sent.request
        meta = sent.request.meta
        self._max_size: int = meta.get("download_maxsize", limits.max_size) or 0
        self._warn_size: int = meta.get("download_warnsize", limits.warn_size) or 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._head: Head  # once it has arrived
        self._headers: Headers
        self._body = BytesIO()  # it does not copy its content
        self._size = 0
        self._is_unwanted = False  # the rest of the body
        self._stop: StopDownload | None = None
        self._flags: list[str] = []
        self._timer: asyncio.TimerHandle | None = None
        self._ends_at = 0.0
        self._noted: Callable[[Timing], tuple[str, ...]] | None = None
        self._left: Callable[[], None] | None = None
        self._socket: DirectProtocol | None = None
        self._pause: asyncio.Task[None] | None = None
        self._timeout = 0.0

    def begin(
        self,
        socket: DirectProtocol,
        noted: Callable[[Timing], tuple[str, ...]],
        left: Callable[[], None],
        ends_at: float,
        timeout: float,
    ) -> None:
        """The request is about to be sent; ``ends_at``: on the event loop's clock, ``timeout`` seconds in all.

        ``noted`` is called when the head has arrived, and returns the version of TLS (see ``Exchange``); ``left`` if
        the rest of the body is not read.
        """
        self._socket, self._noted, self._left, self._timeout = socket, noted, left, timeout
        self.share.reads(self._give_up)
        self._set_timer(ends_at)

    @property
    def is_paused(self) -> bool:
        return self._pause is not None

    @property
    def has_no_body(self) -> bool:
        """Whether the answer has a head only."""
        return self._request.method == "HEAD"

    def request_bytes(self) -> bytes:
        """The bytes to send. Raises ValueError if a header has a line break."""
        return request_bytes(self.sent)

    def head(self, head: Head) -> bool:
        self._head, self._headers = head, _as_headers(head.headers)
        timing, sent = self.timing, self.sent
        sent.request.meta["download_latency"] = CLOCK() - timing.started
        assert self._noted is not None
        asked, tls = partial(headers_of, sent), self._noted(timing)
        timing.exchange = Exchange(sent.to.target, asked, head.reason, tuple(head.headers), tls)
        stated = dict.get(self._headers, b"Content-Length")
        expected = int(stated[-1]) if stated else None
        if expected and not self._may_be_so_large(expected, "Expected to receive"):
            return False
        return self._goes_on(self._signals.headers(self._request, self._headers, expected))

    def body(self, data: bytes) -> bool:
        if self._is_unwanted:
            return True
        self._size += len(data)
        self._body.write(data)
        stop = self._signals.received(self._request, data)
        if stop is not None:
            return self._goes_on(stop)
        if not self._may_be_so_large(self._size, "Received"):
            return False
        if not self.share.grow(len(data)) and self._pause is None:
            self._pause = asyncio.get_running_loop().create_task(self._wait())
        return True

    def end(self) -> None:
        if not self.done.done():
            self._let_go()
            self.done.set_result(None)

    def broken(self, error: Exception) -> None:
        if self._is_unwanted or self.done.done():
            self.end()
        elif isinstance(error, BrokenOffError):
            self._lose(error)
        elif isinstance(error, ServerDisconnectedError | OSError):
            failure = DownloadFailedError(str(error))
            failure.__cause__ = error
            self.fail(failure)
        else:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """End it by ``error``."""
        if not self.done.done():
            self._let_go()
            self._take_body()
            self.done.set_exception(error)

    def cancel(self) -> None:
        """Nobody waits for it any longer: its timers would keep it, and its body, until the time-out."""
        self._let_go()
        self._take_body()

    def response(self, *, address: Any, certificate: Any) -> Response:
        """The response, after the end. Raises StopDownload if a receiver asked for that."""
        url = urldefrag(self._request.url).url if "#" in self._request.url else self._request.url
        headers, body, kind = self._headers, self._take_body(), None
        if not dict.__contains__(headers, b"Content-Encoding") and (types := dict.get(headers, b"Content-Type")):
            kind = _class_of(types[-1][:MAX_CONTENT_TYPE])
        if kind is None:
            kind = responsetypes.from_args(headers=headers, url=url, body=body)
        response = kind(
            url,
            self._head.status,
            None,
            body,
            flags=self._flags,
            certificate=certificate,
            ip_address=address,
            protocol=self._head.protocol,
        )
        response.headers = headers  # the constructor would copy them
        if self._stop is not None:
            response.flags.append("download_stopped")
            if self._stop.fail:
                self._stop.response = response
                raise self._stop
        return response

    def _take_body(self) -> bytes:
        """The body, which is forgotten: others hold the transfer longer than the response."""
        body, self._body = self._body.getvalue(), BytesIO()
        return body

    def _goes_on(self, stop: StopDownload | None) -> bool:
        if stop is None:
            return True
        self._stop, self._is_unwanted = stop, True
        length = self._head.length
        if length is not None and length <= MAX_DRAINED:
            return True  # cheaper than a new connection
        if self._left is not None:
            self._left()
        self.end()
        return False

    def _lose(self, error: Exception) -> None:
        """Part of the body is missing; of one without a length, Scrapy takes what came for the whole."""
        if isinstance(error, UnsizedBodyError) or not self._request.meta.get(
            "download_fail_on_dataloss", self._limits.fails_on_loss
        ):
            self._flags = ["dataloss"]
            self.end()
            return
        if not self._limits.loss_is_logged:
            self._limits.loss_is_logged = True
            logger.warning(
                "Got data loss in %s. DOWNLOAD_FAIL_ON_DATALOSS = False keeps broken responses. "
                "This message is not shown for further requests",
                self._request.url,
            )
        failure = ResponseDataLossError(str(error))
        failure.__cause__ = error
        self.fail(failure)

    def _may_be_so_large(self, size: int, how: str) -> bool:
        """Whether ``size`` is within the limits; in Scrapy's words."""
        for what, limit in (("max", self._max_size), ("warn", self._warn_size)):
            if 0 < limit < size:
                message = f"{how} {size} bytes which is larger than download {what} size ({limit}) in request"
                logger.warning("%s %s.", message, self._request)
                if what == "max":
                    self.fail(DownloadCancelledError(f"{message} {self._request}."))
                    return False
                self._warn_size = 0  # once
        return True

    async def _wait(self) -> None:
        """Stop reading until the share may grow. The wait counts neither for the time-out nor as the server's time."""
        assert self._socket is not None
        transport = self._socket.transport
        if transport is None or transport.is_closing():
            return
        started = CLOCK()
        self._cancel_timer()
        transport.pause_reading()
        try:
            await self.share.wait()
        finally:
            self._pause = None
            waited = CLOCK() - started
            self.timing.paused += waited
            if not self.done.done():
                self._set_timer(self._ends_at + waited)
            if not transport.is_closing():
                transport.resume_reading()

    def _set_timer(self, ends_at: float) -> None:
        self._ends_at = ends_at
        self._timer = asyncio.get_running_loop().call_at(ends_at, self._timed_out)

    def _timed_out(self) -> None:
        self._abort(DownloadTimeoutError(f"Getting {self._request.url} took longer than {self._timeout} seconds."))

    def _give_up(self) -> None:
        self._abort(DownloadFailedError("Connection closed"))

    def _abort(self, error: Exception) -> None:
        socket = self._socket
        self.fail(error)
        if socket is not None:
            socket.abort()

    def _let_go(self) -> None:
        """Stop the timers and break the cycles: those of each page were two thirds of the garbage collector's work."""
        self._cancel_timer()
        self.share.reads(None)
        if self._pause is not None:
            self._pause.cancel()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
