"""A few servers on loopback that answer by a script and record their requests, in order and with times.

A script maps places (``"1/path"``: server 1; ``"/path"``: any server) to answers: one ``Answer``, a list of them to be
given in turn (the last one again and again), or a function of the request.  Any other place is a 404.
"""

from __future__ import annotations

import ipaddress
import socket
import socketserver
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.waiting import PATIENCE

#: Closing sends a reset.
_NO_LINGER = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Answer:
    """What a server answers, ``delay`` seconds after the request; ``reset`` breaks the connection instead.

    ``closes``: the connection is closed after the answer, which does not say so.
    """

    body: str | bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    reset: bool = False
    closes: bool = False


@dataclass
class Asked:
    """A request as a server saw it; times by ``time.monotonic``."""

    server: int
    method: str
    path: str
    headers: dict[str, str]
    body: str
    #: The client's port: equal for requests on one connection.
    connection: int
    started: float
    #: The client's address.
    client: str = ""
    ended: float = 0.0
    #: Whether the client closed its side of the connection before the answer.
    abandoned: bool = False

    @property
    def place(self) -> str:
        """Server and path, as in scripts."""
        return f"{self.server}{self.path}"


Script = Mapping[str, Answer | list[Answer] | Callable[[Asked], Answer]]


def page(*links: str, title: str = "page") -> Answer:
    anchors = "\n".join(f'<a href="{link}">link</a>' for link in links)
    return Answer(
        f"<html><head><title>{title}</title></head><body>{anchors}</body></html>", headers={"Content-Type": "text/html"}
    )


def redirect(url: str, status: int = 302) -> Answer:
    return Answer(status=status, headers={"Location": url})


class Site:
    """The servers, numbered from 1, with the log of all requests."""

    def __init__(self, origins: list[str]) -> None:
        self.origins = origins
        self.script: Script = {}
        self.asked: list[Asked] = []
        self.came = threading.Condition()  # notified of every request
        self.stopping = threading.Event()

    def url(self, place: str) -> str:
        """The URL of ``"1/path"``."""
        return self.origins[int(place[0]) - 1] + place[1:]

    def short(self, text: str) -> str:
        """``text`` with every URL of the site as its place."""
        for number, origin in enumerate(self.origins, 1):
            text = text.replace(origin, str(number))
        return text

    def places(self, server: int | None = None) -> list[str]:
        """The places requested, in order, from one server or all; without robots.txt."""
        asked = [one for one in self.asked if server in (None, one.server) and one.path != "/robots.txt"]
        return [one.place for one in asked]

    def of(self, server: int) -> list[Asked]:
        return [one for one in self.asked if one.server == server]

    def gaps(self, server: int) -> list[float]:
        """Seconds from the end of each answer of a server to its next request."""
        asked = self.of(server)
        return [after.started - before.ended for before, after in pairwise(asked)]

    def most_at_once(self, *servers: int) -> int:
        changes = [
            change for one in self.asked if one.server in servers for change in ((one.started, 1), (one.ended, -1))
        ]
        under_way = most = 0
        for _, step in sorted(changes):
            under_way += step
            most = max(most, under_way)
        return most

    def wait_for(self, count: int, timeout: float = PATIENCE) -> None:
        """Return when ``count`` requests have come."""
        with self.came:
            assert self.came.wait_for(lambda: len(self.asked) >= count, timeout), self.places()

    def take(self, asked: Asked) -> Answer:
        """Record a request and find its answer."""
        with self.came:
            self.asked.append(asked)
            self.came.notify_all()
            answer = self.script.get(asked.place) or self.script.get(asked.path) or Answer(status=404)
            if callable(answer):
                return answer(asked)
            if isinstance(answer, list):
                return answer.pop(0) if len(answer) > 1 else answer[0]
            return answer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    server: _Server

    def answer(self) -> None:
        site = self.server.site
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        port = self.client_address[1]
        asked = Asked(self.server.number, self.command, self.path, headers, body, port, time.monotonic())
        asked.client = self.client_address[0]
        answer = site.take(asked)
        if answer.delay:
            site.stopping.wait(answer.delay)
        asked.abandoned = self._is_abandoned()
        asked.ended = time.monotonic()
        if answer.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            self.connection.close()
            self.close_connection = True
            return
        self._write(answer)
        self.close_connection |= answer.closes

    do_GET = do_POST = do_HEAD = answer  # noqa: N815 - http.server's names

    def _is_abandoned(self) -> bool:
        if isinstance(self.connection, ssl.SSLSocket) or not select([self.connection], [], [], 0)[0]:
            return False
        try:
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except ConnectionError:
            return True

    def _write(self, answer: Answer) -> None:
        body = answer.body.encode() if isinstance(answer.body, str) else answer.body
        self.send_response_only(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        if "close" in self.headers.get("Connection", "").lower():
            self.send_header("Connection", "close")
        self._headers_buffer.append(b"\r\n")  # sent with the body in one go: no Nagle delay
        self.wfile.write(b"".join(self._headers_buffer) + (b"" if self.command == "HEAD" else body))
        self._headers_buffer = []

    def log_message(self, *args: object) -> None:
        """Nothing to standard error."""


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, address: str, site: Site, number: int) -> None:
        super().__init__((address, 0), _Handler)
        self.site = site
        self.number = number

    def handle_error(self, *args: object) -> None:
        """A client closed the connection, or does not trust the certificate."""


@contextmanager
def scripted_site(servers: int = 1, *, tls: tuple[int, ...] = (), address: str | None = None) -> Iterator[Site]:
    """Run ``servers`` servers on 127.4.0.1, 127.4.0.2, ... or all on one address; those in ``tls`` speak https."""
    site = Site([])
    running = [_Server(address or f"127.4.0.{number}", site, number) for number in range(1, servers + 1)]
    for server in running:
        host, port = server.server_address
        if server.number in tls:
            server.socket = tls_context().wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        site.origins.append(f"{'https' if server.number in tls else 'http'}://{host}:{port}")
        threading.Thread(target=server.serve_forever, args=(0.02,)).start()
    try:
        yield site
    finally:
        site.stopping.set()
        for server in running:
            server.shutdown()
            server.server_close()


@cache
def tls_pem(address: str) -> bytes:
    """A key and its self-signed certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, address)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private + certificate.public_bytes(serialization.Encoding.PEM)


def tls_context() -> ssl.SSLContext:
    """A context with a self-signed certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        file = Path(folder, "server.pem")
        file.write_bytes(tls_pem("127.4.0.1"))
        context.load_cert_chain(file)
    return context
