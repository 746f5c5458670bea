"""One response as received, with its measurements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """Properties of a page besides its bytes; times in seconds, None if unknown."""

    #: scheme://host[:port]
    server: str
    depth: int | None = None
    quality: float | None = None
    #: URL of the page on which its URL was found.
    via: str | None = None
    dns_time: float | None = None
    connect_time: float | None = None
    tls_time: float | None = None
    response_time: float | None = None
    fetch_time: float | None = None


@dataclass(frozen=True, slots=True)
class Capture:
    """A request and its response."""

    url: str
    #: When the request was sent, seconds since 1970.
    fetched_at: float
    status: int
    #: Request line and headers including the empty line; ``response_head`` likewise.
    request_head: bytes
    request_body: bytes
    response_head: bytes
    #: As received, without transfer coding; compressed if Content-Encoding says so.
    body: bytes
    content_type: str | None
    last_modified: str | None
    ip_address: str | None
    #: From the highest to the lowest layer: ``http/1.1``, ``tls/1.3``.
    protocols: tuple[str, ...]
    #: Reason why the body is incomplete (``disconnect``, ``length``, ``unspecified``); None if complete.
    truncated: str | None
    measured: Measured
