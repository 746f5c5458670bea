"""A web that leads to forbidden addresses, and a target there, which counts its connections.

Two servers share one port: on ``ALLOWED`` the public one (``FRONTIER_ALLOWED_NETWORKS`` names its address alone), on
all of ``FORBIDDEN`` the target.  A name server leads to both.
"""

from __future__ import annotations

import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from testbed.dns import Name, NameServer, Zone, running_name_server

ALLOWED = "127.0.0.2"
FORBIDDEN = ("127.0.0.1", "127.0.0.3", "127.1.2.3", "::1")

#: Hosts that stand for an address on loopback, as URLs may write them.
LOOPBACK_HOSTS = [
    "127.0.0.1",
    "127.1.2.3",
    "127.0.0.1.",
    "127.1",
    "2130706433",
    "0x7f000001",
    "017700000001",
    "0177.0.0.1",
    "0",
    "0.0.0.0",
    "localhost",
    "a.localhost",
    "user@127.0.0.1",
    "127。0。0。1",
    "①②⑦.0.0.1",
    "127.0.0.1",
    "%31%32%37.0.0.1",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[0:0:0:0:0:ffff:127.0.0.3]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "[2001:0:808:808::80ff:fffe]",
]

#: Addresses at which no test can listen.
OTHER_HOSTS = [
    "169.254.169.254",
    "[fd00:ec2::254]",
    "168.63.129.16",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "240.0.0.1",
    "[fe80::1]",
    "[fc00::1]",
    "[2001:db8::1]",
    "[64:ff9b::a9fe:a9fe]",
]

#: Names whose answer is the attack.
ZONE: Zone = {
    "good.test": Name((f"A {ALLOWED}",)),
    **{f"good{number}.test": Name((f"A {ALLOWED}",)) for number in range(4)},
    "mixed.test": Name(("A 127.0.0.1", f"A {ALLOWED}", "A 127.0.0.3", "AAAA ::1")),
    "evil.test": Name(("A 127.0.0.1",)),
    "evil6.test": Name(("AAAA ::1",)),
    "mapped.test": Name(("AAAA ::ffff:127.0.0.1",)),
    "alias.test": Name(("CNAME evil.test.",)),
    "all.test": Name(("A 127.0.0.1", "A 127.0.0.3", "AAAA ::1")),
    "metadata.test": Name(("A 169.254.169.254",)),
    "intranet.test": Name(("A 10.1.2.3", "A 192.168.1.1")),
    "rebinding.test": Name((f"A {ALLOWED}",), later=("A 127.0.0.1",), ttl=0),
}
EVIL_NAMES = ["evil.test", "evil6.test", "mapped.test", "alias.test", "all.test", "metadata.test", "intranet.test"]


@dataclass
class HostileWeb:
    """The servers, on one port, and the requests they got."""

    names: NameServer
    port: int = 0
    #: Connections to the target.
    intruders: list[str] = field(default_factory=list)
    #: Paths requested from the public server.
    visits: list[str] = field(default_factory=list)
    #: Path on the public server -> (status, headers, body).
    answers: dict[str, tuple[int, dict[str, str], str]] = field(default_factory=dict)

    def redirect(self, path: str, location: str, status: int = 302) -> str:
        """Make ``path`` redirect; returns its URL."""
        self.answers[path] = (status, {"Location": location}, "")
        return self.url(path)

    def page(self, path: str, body: str) -> str:
        """Add an HTML page; returns its URL."""
        self.answers[path] = (200, {"Content-Type": "text/html"}, body)
        return self.url(path)

    def url(self, path: str, host: str = ALLOWED) -> str:
        """The URL of ``path`` on ``host``."""
        return f"http://{host}:{self.port}{path}"


class _Target(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.server.web.intruders.append(f"{self.server.server_address}: {self.request.recv(200)!r}")
        self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret")


class _TargetServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class _TargetServer6(_TargetServer):
    address_family = socketserver.socket.AF_INET6


class _Public(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        web: HostileWeb = self.server.web
        web.visits.append(self.path)
        status, headers, body = web.answers.get(self.path, (404, {}, "not here"))
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body.encode())), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def _serving(server: socketserver.BaseServer, web: HostileWeb) -> Iterator[None]:
    server.web = web
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def public_server(web: HostileWeb, tls: ssl.SSLContext) -> Iterator[int]:
    """Serve the public pages by https, too; the port."""
    server = ThreadingHTTPServer((ALLOWED, 0), _Public)
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with _serving(server, web):
        yield server.server_address[1]


@contextmanager
def hostile_web() -> Iterator[HostileWeb]:
    """Serve it."""
    with running_name_server(dict(ZONE)) as names, ExitStack() as stack:
        web = HostileWeb(names)
        public = ThreadingHTTPServer((ALLOWED, 0), _Public)
        web.port = public.server_address[1]
        stack.enter_context(_serving(public, web))
        for address in FORBIDDEN:
            kind = _TargetServer6 if ":" in address else _TargetServer
            stack.enter_context(_serving(kind((address, web.port), _Target), web))
        yield web
