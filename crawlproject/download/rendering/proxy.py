"""The browser's only way to the network: an HTTP proxy on loopback that opens no connection itself.

It hands each request, of plain http or inside a tunnel, to a function and sends back its answer.  Tunnels end here: TLS
is spoken with a certificate of our own, so that https requests are seen, guarded and limited like all others.  Anything
in a tunnel that is not HTTP (WebSocket, TURN, SSH, ...) gets no answer.  Each page's context has its own
credentials; without valid ones nothing is answered, so no other program on this machine can use the proxy.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from base64 import b64decode, b64encode
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from secrets import compare_digest
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import h11
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)

#: Bytes of a request's line and headers, and of its body.
MAX_HEAD = 64 * 1024
MAX_BODY = 1024 * 1024

#: Connections open at once: Chromium opens up to 32 to a proxy for each context.
MAX_CONNECTIONS = 512

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
_UNAUTHORIZED = Answer(407, ((b"Proxy-Authenticate", b'Basic realm="crawl"'),))


class GuardedProxy:
    """Listens on a free port of 127.0.0.1. ``password`` returns that of a user, None for an unknown one."""

    def __init__(self, answer: Callable[[Asked], Awaitable[Answer]], password: Callable[[str], str | None]) -> None:
        self.answer = answer
        self.password = password
        #: Its TLS context, and the hash of the key that the browser must trust.
        self.tls, self.key_hash = _new_certificate()
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], _Connection] = {}
        self.port = 0

    @property
    def url(self) -> str:
        """The proxy's address, for the browser."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_READ)
        self.port = self._server.sockets[0].getsockname()[1]

    def drop(self, user: str) -> None:
        """Close all connections of a user. O(connections)."""
        for task, connection in self._connections.items():
            if connection.user == user:
                task.cancel()

    async def close(self) -> None:
        """Close the port and all connections."""
        if self._server is not None:
            self._server.close()
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= MAX_CONNECTIONS:
            writer.close()
            return
        connection = self._connections[task] = _Connection(self, reader, writer)
        try:
            await connection.run()
        except (OSError, EOFError, h11.ProtocolError, ValueError) as error:  # ssl.SSLError is an OSError
            logger.debug("A connection of the browser ended: %s", error)
        except asyncio.CancelledError:
            pass  # by drop or close: asyncio's server would log it
        finally:
            del self._connections[task]
            with suppress(OSError):
                writer.close()


class _Connection:
    """One connection of the browser."""

    def __init__(self, proxy: GuardedProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.user = ""  # whose credentials came with a request
        self._proxy = proxy
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        self._origin = ""  # of the tunnel's server

    async def run(self) -> None:
        """Answer requests until either side closes."""
        while isinstance(request := await self._event(), h11.Request):
            body = await self._body()
            if request.method == b"CONNECT" and not self._origin and self._is_authorized(request):
                await self._open_tunnel(request)
                continue
            await self._send(await self._respond(request, body), is_head=request.method == b"HEAD")
            if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                return
            self._http.start_next_cycle()

    async def _event(self) -> Any:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._reader.read(_READ))
        return event

    async def _body(self) -> bytes | None:
        """The request's body; None if it is too long."""
        body = bytearray()
        while isinstance(event := await self._event(), h11.Data):
            body += event.data
            if len(body) > MAX_BODY:
                return None
        return bytes(body)

    def _is_authorized(self, request: h11.Request) -> bool:
        """Whether the credentials are valid, of this request or of one before it, as that which opened the tunnel."""
        if self.user:
            return True
        given = dict(request.headers).get(b"proxy-authorization", b"")
        try:
            user, _, password = b64decode(given.partition(b" ")[2]).decode("ascii").partition(":")
        except ValueError:
            return False
        expected = self._proxy.password(user)
        if expected is None or not compare_digest(expected, password):
            return False
        self.user = user
        return True

    async def _open_tunnel(self, request: h11.Request) -> None:
        host = request.target.decode("ascii").lower()
        self._writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await self._writer.start_tls(self._proxy.tls, ssl_handshake_timeout=10)
        self._origin = f"https://{host.removesuffix(':443')}"
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)

    async def _respond(self, request: h11.Request, body: bytes | None) -> Answer:
        if not self._is_authorized(request):
            return _UNAUTHORIZED
        method, target = request.method.decode("ascii"), request.target.decode("ascii")
        if method not in METHODS or any(name == b"upgrade" for name, _ in request.headers):
            return REFUSED
        if body is None:
            return TOO_LARGE
        url = self._origin + target
        if not url.startswith(("http://", "https://")) or (self._origin and not target.startswith("/")):
            return REFUSED
        headers = tuple((name, value) for name, value in request.headers if name not in HOP_BY_HOP)
        return await self._proxy.answer(Asked(self.user, method, url, headers, body))

    async def _send(self, answer: Answer, *, is_head: bool) -> None:
        headers = [*answer.headers, (b"Content-Length", str(len(answer.body)).encode("ascii"))]
        events: list[h11.Event] = [h11.Response(status_code=answer.status, headers=headers)]
        if not is_head and answer.status not in (204, 304):
            events.append(h11.Data(data=answer.body))
        self._writer.write(b"".join(self._http.send(event) or b"" for event in (*events, h11.EndOfMessage())))
        await self._writer.drain()


def _new_certificate() -> tuple[ssl.SSLContext, str]:
    """A TLS context with a new key and a self-signed certificate, by which the proxy answers https requests, and the
    hash of the key for Chromium's ``--ignore-certificate-errors-spki-list``.

    The key exists only in memory, and for a moment in a private folder.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "crawl")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=3650))  # longer than any crawl
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        file = Path(folder, "certificate.pem")
        file.touch(0o600)
        file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
        context.load_cert_chain(file)
    return context, b64encode(sha256(public).digest()).decode("ascii")
