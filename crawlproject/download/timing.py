"""The times of one request, measured by aiohttp's tracing and, on Linux, by the kernel."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import aiohttp

from crawlproject.clock import CLOCK

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Iterable
    from types import SimpleNamespace

    from aiohttp.connector import Connection

#: The first 24 counters of Linux's ``struct tcp_info``, after 8 single bytes.
_TCP_INFO = struct.Struct("8x24I")
_LAST_DATA_SENT, _LAST_DATA_RECV, _RTT = 9, 11, 15

#: The kernel's resolution, seconds: for smaller differences the process's clock is more accurate.
KERNEL_TICK = 0.008


@dataclass(frozen=True, slots=True)
class Exchange:
    """What went over the wire apart from the bodies; the transfer coding is removed."""

    #: The target in the request line.
    target: str
    #: Returns the headers of the request, as sent.
    asked: Callable[[], Iterable[tuple[bytes, bytes]]]
    reason: str | None
    #: Headers of the response, as received.
    answered: tuple[tuple[bytes, bytes], ...]
    #: ``tls/1.3``, or empty.
    tls_protocols: tuple[str, ...]


@dataclass(slots=True)
class Timing:
    """Times of one request in seconds; None if not measured (reused connection, failure)."""

    started: float = 0.0
    dns_time: float | None = None
    connect_time: float | None = None
    tls_time: float | None = None
    response_time: float | None = None
    #: As observed by the process: never shorter than ``response_time``.
    fetch_time: float = 0.0
    reused: bool = False
    connection_requests: int = 0
    sent: float = 0.0  # when the request was written
    lag: float = 0.0  # how late the process noticed the response
    paused: float = 0.0  # time without reading, because of BodyBudget
    connect_started: float = 0.0
    exchange: Exchange | None = None  # once the headers have arrived

    def end(self, now: float) -> None:
        """The last byte has arrived."""
        self.fetch_time = now - (self.sent or self.started) - self.paused
        self.response_time = max(0.0, self.fetch_time - self.lag)

    def fail(self, now: float) -> None:
        """The request failed: assign the elapsed time to the phase in which it failed."""
        self.fetch_time = now - self.started - self.paused
        if self.sent:
            self.response_time = now - self.sent - self.paused
        elif self.connect_started and self.connect_time is None:
            self.connect_time = now - self.connect_started


def kernel_times(sock: Any) -> tuple[float, float] | None:
    """(seconds from the last byte sent to the last byte received, round-trip time) by TCP_INFO; None if unavailable."""
    if sock is None or not hasattr(socket, "TCP_INFO"):
        return None
    try:
        fields = _TCP_INFO.unpack(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size))
    except (OSError, struct.error):
        return None
    return (fields[_LAST_DATA_SENT] - fields[_LAST_DATA_RECV]) / 1e3, fields[_RTT] / 1e6


def correct_lag(timing: Timing, kernel: tuple[float, float], now: float) -> None:
    """Note how late the process noticed the response at ``now``."""
    first_byte = kernel[0]
    if first_byte >= 0 and timing.sent:
        lag = now - timing.sent - first_byte
        timing.lag = lag if lag > KERNEL_TICK else 0.0


def tls_protocols(ssl_object: Any) -> tuple[str, ...]:
    """The version of TLS as in WARC records: ``tls/1.3``; empty without TLS."""
    version = (ssl_object.version() or "").lower().replace("tlsv", "tls/") if ssl_object is not None else ""
    return (version,) if version else ()


class TimedResponse(aiohttp.ClientResponse):
    """A response that inspects its socket when the headers have arrived."""

    transport: asyncio.Transport | None = None
    peername: tuple[str, int] | None = None
    kernel: tuple[float, float] | None = None
    ssl_object: Any = None
    #: Called with the size of each piece of the body: what to await before reading on, or None. Set by the handler.
    pace: Callable[[int], Awaitable[None] | None]

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Save what is not available once the connection has been released."""
        transport = connection.transport
        await super().start(connection)
        if transport is not None:
            self.transport = transport
            self.peername = transport.get_extra_info("peername")
            self.ssl_object = transport.get_extra_info("ssl_object")
            self.kernel = kernel_times(transport.get_extra_info("socket"))
        return self

    def correct(self, timing: Timing, now: float) -> None:
        """Remove the event loop's lag from ``timing``; called when the headers have arrived."""
        info = self.request_info
        asked = partial(_asked, info)
        tls = tls_protocols(self.ssl_object)
        timing.exchange = Exchange(info.url.raw_path_qs, asked, self.reason, self.raw_headers, tls)
        if self.kernel is None:
            return
        _, round_trip = self.kernel
        correct_lag(timing, self.kernel, now)
        if timing.connect_time is not None and self.ssl_object is not None:
            handshake = min(round_trip, timing.connect_time)
            timing.connect_time, timing.tls_time = handshake, timing.connect_time - handshake


def _asked(info: aiohttp.RequestInfo) -> Iterable[tuple[bytes, bytes]]:
    return ((name.encode(), value.encode("utf-8", "surrogateescape")) for name, value in info.headers.items())


def timing_trace() -> aiohttp.TraceConfig:
    """The trace configuration that fills in the ``Timing`` given as ``trace_request_ctx``."""
    return _TRACE


def _timing(context: SimpleNamespace) -> Timing:
    timing: Timing = context.trace_request_ctx
    return timing


async def _dns_start(_session: object, context: SimpleNamespace, _params: object) -> None:
    _timing(context).dns_time = -CLOCK()


async def _dns_end(_session: object, context: SimpleNamespace, _params: object) -> None:
    timing = _timing(context)
    timing.dns_time = CLOCK() + (timing.dns_time or 0.0)
    timing.connect_started = CLOCK()


async def _connect_start(_session: object, context: SimpleNamespace, _params: object) -> None:
    _timing(context).connect_started = CLOCK()


async def _connect_end(_session: object, context: SimpleNamespace, _params: object) -> None:
    timing = _timing(context)
    timing.reused = False
    timing.connect_time = CLOCK() - timing.connect_started
    if timing.dns_time is None:
        timing.dns_time = 0.0  # an address, not a name


async def _reused(_session: object, context: SimpleNamespace, _params: object) -> None:
    _timing(context).reused = True


async def _headers_sent(_session: object, context: SimpleNamespace, _params: object) -> None:
    _timing(context).sent = CLOCK()


def _build_trace() -> aiohttp.TraceConfig:
    trace = aiohttp.TraceConfig()
    trace.on_dns_resolvehost_start.append(_dns_start)
    trace.on_dns_resolvehost_end.append(_dns_end)
    trace.on_connection_create_start.append(_connect_start)
    trace.on_connection_create_end.append(_connect_end)
    trace.on_connection_reuseconn.append(_reused)
    trace.on_request_headers_sent.append(_headers_sent)
    trace.freeze()
    return trace


_TRACE = _build_trace()
