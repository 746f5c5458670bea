"""One answer as it came over the network, and what was measured of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """What the crawl knows of a page besides its bytes; times in seconds, None where not known."""

    #: scheme://host[:port]
    server: str
    depth: int | None = None
    quality: float | None = None
    #: Where its URL was found.
    via: str | None = None
    dns_time: float | None = None
    connect_time: float | None = None
    tls_time: float | None = None
    response_time: float | None = None
    fetch_time: float | None = None


@dataclass(frozen=True, slots=True)
class Capture:
    """A request and its answer."""

    url: str
    #: When the request was sent, seconds since 1970.
    fetched_at: float
    status: int
    #: Request line and headers, with the empty line behind them, and the same of the answer.
    request_head: bytes
    request_body: bytes
    response_head: bytes
    #: As received, but for the transfer coding: compressed where Content-Encoding says so.
    body: bytes
    content_type: str | None
    last_modified: str | None
    ip_address: str | None
    #: From the upper to the lower: ``http/1.1``, ``tls/1.3``.
    protocols: tuple[str, ...]
    #: Why the body ends early (``disconnect``, ``length``, ``unspecified``), None for a whole one.
    truncated: str | None
    measured: Measured
