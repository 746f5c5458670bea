"""Measurements of one request to a server."""

from __future__ import annotations

from typing import NamedTuple


class Measurement(NamedTuple):
    """The result of one request; times in seconds, None if not measured."""

    server_key: str
    now: float  # when the response ended or failed, on the clock given to the frontier
    status: int | None = None  # HTTP status, None if no response came
    failed: bool = False  # the server was unreachable or did not answer: refused, reset, timed out, no address
    connect_time: float | None = None  # TCP (and TLS) set-up, None on a reused connection
    response_time: float | None = None  # from the request to the last byte of the response, as exact as possible
    fetch_time: float = 0.0  # the same as the process observed it (never shorter): polite waits are multiples of it
    size: int = 0  # bytes of the answer's body, as they came
    connection_requests: int = 1  # number of the request on its connection, from 1
    #: The server closed the connection after this response, or announced it, without being asked to.
    server_closed: bool = False
    requests_left: int | None = None  # further requests the server offers on this connection (``Keep-Alive: max``)
    keep_alive_time: float | None = None  # how long the server keeps an idle connection (``Keep-Alive: timeout``)
    persistent: bool = True  # HTTP/1.1 and the connection can be kept open
    retry_after: float | None = None  # seconds that the server asks the client to wait (``Retry-After``)
    error: str = ""  # why no response came, as a message
    url: str = ""  # for people, and for the sizes of files
