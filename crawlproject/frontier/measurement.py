"""Measurements of one request to a server."""

from __future__ import annotations

from typing import NamedTuple


class Measurement(NamedTuple):
    """The result of one request; times in seconds, None if not measured."""

    server_key: str
    #: When the response ended or failed, on the clock given to the frontier.
    now: float
    #: HTTP status, None if no response came.
    status: int | None = None
    #: The server was unreachable or did not answer: refused, reset, timed out, no address.
    failed: bool = False
    #: TCP (and TLS) set-up, None on a reused connection.
    connect_time: float | None = None
    #: From the request to the last byte of the response, as exact as possible.
    response_time: float | None = None
    #: The same as the process observed it (never shorter): polite waits are multiples of it.
    fetch_time: float = 0.0
    #: Bytes of the answer's body, as they came.
    size: int = 0
    #: Number of the request on its connection, from 1.
    connection_requests: int = 1
    #: The server closed the connection after this response, or announced it, without being asked to.
    server_closed: bool = False
    #: Further requests the server offers on this connection (``Keep-Alive: max``).
    requests_left: int | None = None
    #: How long the server keeps an idle connection (``Keep-Alive: timeout``).
    keep_alive_time: float | None = None
    #: HTTP/1.1 and the connection can be kept open.
    persistent: bool = True
    #: Seconds that the server asks the client to wait (``Retry-After``).
    retry_after: float | None = None
    #: Why no response came, as a message.
    error: str = ""
    #: For people, and for the sizes of files.
    url: str = ""
