"""The connections to the emulated servers, and the register of those that are open."""

from __future__ import annotations

import asyncio
import math
import socket
import time
from collections import Counter, defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple, cast

from .log import AccessLog, Record
from .pages import Answer
from .wire import (
    END_OF_HEAD,
    END_OF_LINE,
    MALFORMED,
    MAX_HEAD,
    BadRequestError,
    Request,
    connection_headers,
    encode_response,
    parse_head,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .live import LiveServer

TCP_ESTABLISHED = 1  # first byte of Linux's struct tcp_info


class _Taken(NamedTuple):
    """A request that has been read."""

    arrival: float
    request: Request


class Connection(asyncio.Protocol):
    """Reads requests, answers them in order, each after its delay, and closes the connection by its server's rules."""

    def __init__(self, live: LiveServer, register: Register) -> None:
        self._live = live
        self._register = register
        self.address = live.server.address
        self.client = ""
        """The client's address and port."""
        self.number = 0
        self.requests = 0
        """Requests started so far."""
        self.reason = "client"
        """Who ended the connection."""
        self._buffer = bytearray()
        self._line_at: float | None = None
        self._waiting: deque[_Taken] = deque()
        self._taken: tuple[_Taken, Answer] | None = None
        self._written: tuple[int, bool] | None = None
        """Bytes of the current response, and whether the connection ends with it."""
        self._is_paused = False
        self._timer: asyncio.TimerHandle | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection and start the idle time-out."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=0)  # resume_writing is called when everything has been written
        self._loop = asyncio.get_running_loop()
        self.client = "{}:{}".format(*self._transport.get_extra_info("peername") or ("", ""))
        self.number = self._register.open(self)
        self._idle_since = self._loop.time()
        self._idle_timer = self._loop.call_later(self._live.spec.idle_timeout, self._check_idle)

    def is_gone(self) -> bool:
        """Whether either side has closed this connection already. One system call."""
        if self._transport.is_closing():
            return True
        state: bytes = self._transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
        return state[0] != TCP_ESTABLISHED

    def data_received(self, data: bytes) -> None:
        """Read complete requests and start the first, unless one is in progress."""
        now = time.monotonic()
        self._buffer += data
        try:
            self._read_requests(now)
        except BadRequestError:
            self._waiting.append(_Taken(now, MALFORMED))
            self._buffer.clear()
        self._take_up()

    def _read_requests(self, now: float) -> None:
        """Move complete requests from the buffer to the queue."""
        buffer = self._buffer
        while buffer:
            if self._line_at is None and END_OF_LINE in buffer:
                self._line_at = now
            end = buffer.find(END_OF_HEAD)
            if end < 0:
                if len(buffer) > MAX_HEAD:
                    raise BadRequestError("head too long")
                return
            request = parse_head(bytes(buffer[:end]))
            total = end + len(END_OF_HEAD) + request.body_bytes
            if len(buffer) < total:
                return
            del buffer[:total]
            self._waiting.append(_Taken(self._line_at or now, request))
            self._line_at = None

    def _take_up(self) -> None:
        """Answer queued requests until one has a delay."""
        while self._waiting and self._taken is None and not self._transport.is_closing():
            taken = self._waiting.popleft()
            self.requests += 1
            given = self._live.answer(taken.request, time.monotonic())
            self._taken = taken, given
            if given.page and not self._register.allows(self):
                return
            delay = self._delay(given)
            if delay > 0:
                self._timer = self._loop.call_later(delay, self._answer_late)
            else:
                self._respond(taken.request, given)

    def _delay(self, given: Answer) -> float:
        """Seconds before the response to the current request."""
        return given.delay + (self._live.server.connect_cost if self.requests == 1 else 0.0)

    def go_on(self) -> None:
        """Answer the request that was held back, if the limit now allows it."""
        if self._taken is not None and self._register.allows(self):
            self._timer = self._loop.call_later(self._delay(self._taken[1]), self._answer_late)

    def _answer_late(self) -> None:
        """The delay of the current request is over."""
        assert self._taken is not None
        self._respond(self._taken[0].request, self._taken[1])
        self._take_up()

    def _respond(self, request: Request, given: Answer) -> None:
        """Write the response; finish immediately if the kernel accepts all of it."""
        server = self._live.server
        at_limit = self.requests >= server.keep_alive_limit
        is_silent = at_limit and server.closes_silently and server.keep_alive_limit > 1 and not request.wants_close
        if at_limit or request.wants_close:
            self.reason = "silent" if is_silent else "limit" if at_limit else "asked"
        is_last = at_limit or request.wants_close
        headers = connection_headers(request, is_last and not is_silent)
        data = encode_response(request, given.status, given.headers + headers, given.body)
        self._written = len(data), is_last
        now = time.monotonic()
        self._transport.write(data)
        if not self._is_paused:
            self._finish(now)

    def _finish(self, now: float) -> None:
        """Log the request whose response has been written; close the connection if it was the last."""
        assert self._written is not None
        size, is_last = self._written
        self._log(size, now)
        self._idle_since = now
        if is_last:
            self._transport.close()

    def pause_writing(self) -> None:
        """The kernel did not accept the whole response."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """The kernel has accepted the rest."""
        self._is_paused = False
        if self._written is not None:
            self._finish(time.monotonic())
            self._take_up()

    def _log(self, size: int, now: float, note: str = "") -> None:
        """Log the current request and clear it."""
        assert self._taken is not None
        (arrival, request), given = self._taken
        status = given.status if size else 0
        notes = ",".join(filter(None, (given.note, note)))
        self._taken = self._written = None
        self._register.log.add(
            Record(
                "request",
                self.address,
                self.number,
                self.requests,
                arrival,
                now,
                status,
                size,
                request.target,
                given.page,
                notes,
            )
        )

    def _check_idle(self) -> None:
        """Close after the time-out, or schedule the next check."""
        timeout = self._live.spec.idle_timeout
        now = self._loop.time()
        since = now if self._taken is not None else self._idle_since
        if now - since >= timeout:
            self.end("idle")
        else:
            self._idle_timer = self._loop.call_at(since + timeout, self._check_idle)

    def end(self, reason: str) -> None:
        """Close the connection from the server's side, immediately."""
        if not self.is_gone():
            self.reason = reason
        self._transport.abort()

    def strike(self) -> None:
        """Log the unanswered requests and the end of the connection; a second call has no effect."""
        if self._timer is not None:
            self._timer.cancel()
        now = time.monotonic()
        if self._taken is not None:
            self._log(0, now, "aborted")
        for taken in self._waiting:
            self.requests += 1
            self._taken = taken, Answer(0, "", b"", 0.0)
            self._log(0, now, "aborted")
        self._waiting.clear()
        self._register.close(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio when either side has closed."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self.strike()


class Register:
    """Counts open connections and logs their opening and closing in the clients' order; limits the pages of a client.

    If a client closes one connection and opens another, this process may accept the new one before it reads the end of
    the old one. Therefore, if a new connection would be the second to its server, or exceed the maximum so far,
    connections that their clients have already closed are first logged as closed.
    """

    def __init__(self, log: AccessLog) -> None:
        self.log = log
        self.all: dict[int, Connection] = {}
        self._by_server: defaultdict[str, dict[int, Connection]] = defaultdict(dict)
        self._opened = 0
        self._highest = 0
        self._limit = math.inf
        self._pages = Counter[str]()
        """Pages given to each client, by address."""
        self._held: list[Connection] = []

    def allows(self, connection: Connection) -> bool:
        """Whether its client may have another page now; otherwise it waits until the limit rises. O(1)."""
        client = connection.client.rpartition(":")[0]
        if self._pages[client] >= self._limit:
            self._held.append(connection)
            return False
        self._pages[client] += 1
        return True

    def limit(self, pages: float) -> None:
        """Answer each client at most so many requests for pages; those beyond wait."""
        self._limit = pages
        held, self._held = self._held, []
        for connection in held:
            connection.go_on()

    def open(self, connection: Connection) -> int:
        """Register a connection; returns its number. O(1), or O(open connections) at a new maximum."""
        others = self._by_server[connection.address]
        self._drop_gone(others.values())
        if len(self.all) >= self._highest:
            self._drop_gone(self.all.values())
        self._opened += 1
        self.all[self._opened] = others[self._opened] = connection
        self._highest = max(self._highest, len(self.all))
        self._log("open", connection.address, self._opened, 0, "", connection.client)
        return self._opened

    def close(self, connection: Connection) -> None:
        """Remove a connection; no effect if it was removed before. O(1)."""
        number = connection.number
        if self.all.pop(number, None) is not None:
            del self._by_server[connection.address][number]
            self._log("close", connection.address, number, connection.requests, connection.reason)

    def _drop_gone(self, connections: Iterable[Connection]) -> None:
        """Log the closing of connections that their clients have closed. One system call each."""
        for each in [each for each in connections if each.is_gone()]:
            each.strike()

    def _log(self, kind: str, address: str, number: int, requests: int, note: str, client: str = "") -> None:  # noqa: PLR0913
        now = time.monotonic()
        self.log.add(Record(kind, address, number, requests, now, now, 0, 0, client, "", note))
