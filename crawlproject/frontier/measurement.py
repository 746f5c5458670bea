"""What one request to a server told."""

from __future__ import annotations

from typing import NamedTuple


class Measurement(NamedTuple):
    """What one request to a server told; times in seconds, None where not measured."""

    server_key: str
    #: When the response ended or failed, on the clock given to the frontier.
    now: float
    #: HTTP status, None if no response came.
    status: int | None = None
    #: The server could not be reached or did not answer: refused, reset, timed out, no address.
    failed: bool = False
    #: TCP (and TLS) set-up, None on a reused connection.
    connect_time: float | None = None
    #: From request to the last byte of the response, as exactly as it could be measured.
    response_time: float | None = None
    #: The same as the process saw it (never shorter): what politeness waits a multiple of.
    fetch_time: float = 0.0
    #: Which request of its connection it was, from 1.
    connection_requests: int = 1
    #: The server announced or did close the connection after this response, without being asked to.
    server_closed: bool = False
    #: Further requests the server offers on this connection (``Keep-Alive: max``).
    requests_left: int | None = None
    #: How long the server keeps an idle connection (``Keep-Alive: timeout``).
    keep_alive_time: float | None = None
    #: HTTP/1.1 with a connection that can be kept.
    persistent: bool = True
    #: Seconds the server asks to be left alone (``Retry-After``).
    retry_after: float | None = None
    #: Why no response came, in words.
    error: str = ""
