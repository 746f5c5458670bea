"""The browser's only way to the network: an HTTP proxy on loopback that opens no connection itself.

It hands each request, of plain http or inside a tunnel, to a function and sends back its answer.  Tunnels end here: TLS
is spoken with a certificate of our own, so that https requests are seen, guarded and limited like all others.  Anything
in a tunnel that is not HTTP (WebSocket, TURN, SSH, ...) gets no answer.  Each page's context has its own
credentials; without valid ones nothing is answered, so no other program on this machine can use the proxy.
"""

from __future__ import annotations

import asyncio
import logging
from base64 import b64decode
from contextlib import suppress
from secrets import compare_digest
from typing import TYPE_CHECKING, NamedTuple

import h11

from crawlproject.download.rendering.certificate import new_certificate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

logger = logging.getLogger(__name__)

#: Bytes of a request's line and headers, and of its body.
MAX_HEAD = 64 * 1024
MAX_BODY = 1024 * 1024

#: Connections open at once: Chromium opens up to 32 to a proxy for each context.
MAX_CONNECTIONS = 512

#: Of these, connections without valid credentials, and the seconds in which they must come.
MAX_STRANGERS = 64
STRANGERS_TIME = 10.0

_READ = 65_536

#: Methods that scripts may use; the others are meant to change what the server stores.
METHODS = frozenset(("GET", "HEAD", "OPTIONS", "POST"))

#: Headers between the browser and the proxy, not passed on in either direction.
HOP_BY_HOP = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)

Headers = tuple[tuple[bytes, bytes], ...]


class Asked(NamedTuple):
    """A request of the browser; ``user``: whose credentials came with it."""

    user: str
    method: str
    url: str
    headers: Headers
    body: bytes


class Answer(NamedTuple):
    """An answer for the browser."""

    status: int
    headers: Headers = ()
    body: bytes = b""


REFUSED = Answer(403)
TOO_LARGE = Answer(413)
FAILED = Answer(502)
TOO_LATE = Answer(504)


class GuardedProxy:
    """Listens on a free port of 127.0.0.1. ``password`` returns that of a user, None for an unknown one."""

    def __init__(self, answer: Callable[[Asked], Awaitable[Answer]], password: Callable[[str], str | None]) -> None:
        self._answer = answer
        self._password = password
        self._certificate = new_certificate()
        self._server: asyncio.Server | None = None
        self._tasks: dict[asyncio.Task[None], str] = {}  # connection -> its user, "" before the first request
        self.port = 0

    @property
    def url(self) -> str:
        """The proxy's address, for the browser."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def key_hash(self) -> str:
        """Of the key that the browser must trust."""
        return self._certificate.key_hash

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_READ)
        self.port = self._server.sockets[0].getsockname()[1]

    def drop(self, user: str) -> None:
        """Close all connections of a user. O(connections)."""
        for task, owner in self._tasks.items():
            if owner == user:
                task.cancel()

    async def close(self) -> None:
        """Close the port and all connections."""
        if self._server is not None:
            self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._tasks) >= MAX_CONNECTIONS or sum(not user for user in self._tasks.values()) >= MAX_STRANGERS:
            writer.close()
            return
        self._tasks[task] = ""
        limit = asyncio.get_running_loop().call_later(STRANGERS_TIME, self._end_stranger, task)
        try:
            await self._Connection(self, task, reader, writer).run()
        except (OSError, EOFError, h11.ProtocolError, ValueError) as error:  # ssl.SSLError is an OSError
            logger.debug("A connection of the browser ended: %s", error)
        except asyncio.CancelledError:
            pass  # by drop or close: asyncio's server would log it
        finally:
            limit.cancel()
            del self._tasks[task]
            with suppress(OSError):
                writer.close()

    def _end_stranger(self, task: asyncio.Task[None]) -> None:
        if not self._tasks.get(task, "none"):
            task.cancel()

    class _Connection:
        """One connection of the browser."""

        def __init__(
            self,
            proxy: GuardedProxy,
            task: asyncio.Task[None],
            reader: asyncio.StreamReader,
            writer: asyncio.StreamWriter,
        ) -> None:
            self._proxy = proxy
            self._task = task
            self._reader = reader
            self._writer = writer
            self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
            self._origin = ""  # of the tunnel's server

        async def run(self) -> None:
            """Answer requests until either side closes."""
            while True:
                request = await self._next(h11.Request)
                if request is None:
                    return
                body = await self._body()
                if request.method == b"CONNECT":
                    if not await self._open_tunnel(request):
                        return
                    continue
                await self._send(await self._respond(request, body), head=request.method == b"HEAD")
                if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                    return
                self._http.start_next_cycle()

        async def _next(self, kind: type[h11.Event]) -> h11.Request | None:
            """The next request; None at the end."""
            while True:
                event = self._http.next_event()
                if event is h11.NEED_DATA:
                    self._http.receive_data(await self._reader.read(_READ))
                elif isinstance(event, h11.Request):
                    return event
                else:
                    return None

        async def _body(self) -> bytes | None:
            """The request's body; None if it is too long."""
            pieces, size = [], 0
            while True:
                event = self._http.next_event()
                if event is h11.NEED_DATA:
                    self._http.receive_data(await self._reader.read(_READ))
                elif isinstance(event, h11.Data):
                    size += len(event.data)
                    if size > MAX_BODY:
                        return None
                    pieces.append(bytes(event.data))
                else:
                    return b"".join(pieces)

        def _authorized(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
            """Whether the credentials are valid, of this request or of the tunnel that it came through."""
            if self._proxy._tasks[self._task]:
                return True
            given = dict(headers).get(b"proxy-authorization", b"")
            try:
                user, _, password = b64decode(given.partition(b" ")[2]).decode("ascii").partition(":")
            except ValueError:
                return False
            expected = self._proxy._password(user)
            if expected is None or not compare_digest(expected, password):
                return False
            self._proxy._tasks[self._task] = user
            return True

        async def _open_tunnel(self, request: h11.Request) -> bool:
            """Accept a tunnel and speak TLS in it; False: close the connection."""
            if self._origin or not self._authorized(request.headers):
                await self._send(_unauthorized())
                if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
                    self._http.start_next_cycle()
                    return True
                return False
            host = request.target.decode("ascii").lower()
            self._writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            await self._writer.start_tls(self._proxy._certificate.context, ssl_handshake_timeout=10)
            self._origin = f"https://{host.removesuffix(':443')}"
            self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
            return True

        async def _respond(self, request: h11.Request, body: bytes | None) -> Answer:
            if not self._authorized(request.headers):
                return _unauthorized()
            method, target = request.method.decode("ascii"), request.target.decode("ascii")
            names = {name for name, _ in request.headers}
            if method not in METHODS or b"upgrade" in names:
                return REFUSED
            if body is None:
                return TOO_LARGE
            url = self._origin + target
            if not url.startswith(("http://", "https://")) or (self._origin and not target.startswith("/")):
                return REFUSED
            headers = tuple((name, value) for name, value in request.headers if name not in HOP_BY_HOP)
            return await self._proxy._answer(Asked(self._proxy._tasks[self._task], method, url, headers, body))

        async def _send(self, answer: Answer, *, head: bool = False) -> None:
            headers = [*answer.headers, (b"Content-Length", str(len(answer.body)).encode("ascii"))]
            response = h11.Response(status_code=answer.status, headers=headers)
            pieces = [self._http.send(response)]
            if not head and answer.status not in (204, 304):
                pieces.append(self._http.send(h11.Data(data=answer.body)))
            pieces.append(self._http.send(h11.EndOfMessage()))
            self._writer.write(b"".join(piece for piece in pieces if piece))
            await self._writer.drain()


def _unauthorized() -> Answer:
    return Answer(407, ((b"Proxy-Authenticate", b'Basic realm="crawl"'),))
