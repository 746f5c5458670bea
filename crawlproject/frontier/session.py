"""A session: one TCP connection to one server, from open to close, and what was measured on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from crawlproject.frontier.queues.heap import HeapItem
    from crawlproject.frontier.server import Server


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


class Session:
    """An open connection to a server; opened and closed by the frontier.

    ``limit`` requests may be made on it, one after another, ``requests`` have been; none before ``ready_at``.
    """

    __slots__ = (
        "busy_since",
        "carried",
        "ending",
        "heap_item",
        "last_end",
        "limit",
        "parked_until",
        "ready_at",
        "requests",
        "server",
        "waits",
    )

    def __init__(self, server: Server, now: float, limit: int) -> None:
        self.server = server
        self.limit = limit
        self.requests = 0
        self.carried = 0  # by its connection, as last measured
        self.ready_at = now
        self.busy_since: float | None = None  # when its first request was handed out
        self.last_end = now  # when its last response ended
        self.ending = False  # the server closes it, or failed
        self.waits = False  # for its server's queue to be filled again
        self.parked_until = now
        self.heap_item: HeapItem | None = None

    def resume(self, now: float, limit: int) -> None:
        """Take up to ``limit`` requests more, as far as there are any left, on the connection that was parked."""
        self.limit = min(self.limit - self.requests, limit)
        self.requests = 0
        self.ready_at = now
        self.busy_since = None

    @property
    def is_spent(self) -> bool:
        """Whether no further request may be made on it."""
        return self.ending or self.requests >= self.limit

    def __repr__(self) -> str:
        return f"<Session {self.server.key} requests={self.requests}/{self.limit}>"
