"""The times of one request, measured by this process and, on Linux, by the kernel."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: The first 24 counters of Linux's ``struct tcp_info``, after 8 single bytes.
_TCP_INFO = struct.Struct("8x24I")
_LAST_DATA_SENT, _LAST_DATA_RECV = 9, 11

#: The kernel's resolution, seconds: for smaller differences the process's clock is more accurate.
KERNEL_TICK = 0.008


@dataclass(frozen=True, slots=True)
class Exchange:
    """The heads as sent and received; the transfer coding is removed."""

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


def correct_lag(timing: Timing, sock: Any, now: float) -> None:
    """Note how late the process noticed the response at ``now``, by the TCP_INFO of its socket if there is one."""
    if sock is None or not hasattr(socket, "TCP_INFO"):
        return
    try:
        fields = _TCP_INFO.unpack(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size))
    except (OSError, struct.error):
        return
    first_byte = (fields[_LAST_DATA_SENT] - fields[_LAST_DATA_RECV]) / 1e3  # seconds after the last one sent
    if first_byte >= 0 and timing.sent:
        lag = now - timing.sent - first_byte
        timing.lag = lag if lag > KERNEL_TICK else 0.0


def tls_protocols(ssl_object: Any) -> tuple[str, ...]:
    """The version of TLS as in WARC records: ``tls/1.3``; empty without TLS."""
    version = (ssl_object.version() or "").lower().replace("tlsv", "tls/") if ssl_object is not None else ""
    return (version,) if version else ()
