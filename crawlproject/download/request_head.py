"""The bytes of a request: its head and its body."""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from scrapy.utils.url import add_http_if_no_scheme

from crawlproject.compat import UnsupportedURLSchemeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

_DEFAULT_PORTS = {"http": 80, "https": 443}
_PROXY_PASSWORD = b"Proxy-Authorization"
#: Methods of requests that have a body only if it is not empty.
_WITHOUT_BODY = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))


class Destination(NamedTuple):
    """The parts of a URL that its request needs."""

    is_https: bool
    host: str
    port: int
    #: Value of the header ``Host``.
    authority: str
    #: Path and query.
    target: str
    #: Value of the header ``Authorization``, of a URL with a user; empty: none.
    credentials: bytes = b""


class Proxy(NamedTuple):
    """The proxy that a request takes."""

    is_https: bool
    host: str
    port: int
    #: Value of the header ``Proxy-Authorization``; empty: none.
    credentials: bytes


class Sent(NamedTuple):
    """A request as it is sent."""

    request: Request
    to: Destination
    via: Proxy | None = None
    #: The server is asked to close the connection.
    is_last: bool = False


@lru_cache(maxsize=128)
def destination(url: str) -> Destination:
    """The destination of requests for ``url``. O(length). Raises UnsupportedURLSchemeError."""
    parts, port = _split(url)
    host = parts.hostname or ""
    name = _bracketed(host.rstrip("."))
    authority = name if port == _DEFAULT_PORTS[parts.scheme] else f"{name}:{port}"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Destination(parts.scheme == "https", host, port, authority, target, _credentials(parts))


def proxy_of(request: Request) -> Proxy | None:
    """The proxy in ``request.meta["proxy"]``, if any. Raises UnsupportedURLSchemeError."""
    url = request.meta.get("proxy")
    if not url:
        return None
    parts, port = _split(add_http_if_no_scheme(url))
    credentials = request.headers.get(_PROXY_PASSWORD) or _credentials(parts)
    return Proxy(parts.scheme == "https", parts.hostname or "", port, credentials)


def _split(url: str) -> tuple[SplitResult, int]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UnsupportedURLSchemeError(f"{url}: {error}") from error
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise UnsupportedURLSchemeError(f"not an http(s) URL: {url}")
    return parts, _DEFAULT_PORTS[parts.scheme] if port is None else port


def _credentials(parts: SplitResult) -> bytes:
    """The user and the password in a URL, as ``Basic`` authentication."""
    if not (parts.username or parts.password):
        return b""
    return b"Basic " + b64encode(f"{unquote(parts.username or '')}:{unquote(parts.password or '')}".encode())


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def headers_of(sent: Sent) -> Iterator[tuple[bytes, bytes]]:
    """Names and values of the headers to send."""
    request, to = sent.request, sent.to
    headers, replaced = request.headers, b"Authorization" if to.credentials else None
    if not dict.__contains__(headers, b"Host"):
        yield b"Host", to.authority.encode()
    for name, values in dict.items(headers):
        if name != _PROXY_PASSWORD and name != replaced:
            for value in values:
                yield name, value
    if to.credentials:
        yield b"Authorization", to.credentials
    body = request.body
    if (body or request.method not in _WITHOUT_BODY) and not (
        dict.__contains__(headers, b"Content-Length") or dict.__contains__(headers, b"Transfer-Encoding")
    ):
        yield b"Content-Length", b"%d" % len(body)
    if sent.is_last:
        yield b"Connection", b"close"


def request_bytes(sent: Sent) -> bytes:
    """Head and body of a request. Raises ValueError if a header has a line break or a NUL.

    A proxy is told the whole URL, unless it has opened a tunnel to an https server.  Scrapy writes the headers of a
    request with the encoding UTF-16, that of its page, in UTF-16.
    """
    request, to, via = sent.request, sent.to, sent.via
    lines = [name + b": " + value for name, value in headers_of(sent)]
    target = to.target
    if via is not None and not to.is_https:
        target = f"http://{to.authority}{target}"
        lines += [_PROXY_PASSWORD + b": " + via.credentials] if via.credentials else []
    head = b"%b %b HTTP/1.1\r\n%b\r\n\r\n" % (request.method.encode(), target.encode(), b"\r\n".join(lines))
    if head.count(b"\n") != len(lines) + 2 or head.count(b"\r") != len(lines) + 2 or b"\0" in head:
        raise ValueError(f"line break or NUL in a header of {request}")
    if not (body := request.body):
        return head
    if dict.__contains__(request.headers, b"Transfer-Encoding"):  # the project's own: chunked
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    return head + body


def connect_head(to: Destination, via: Proxy) -> bytes:
    """The request by which the proxy ``via`` opens a tunnel to ``to``."""
    authority = f"{_bracketed(to.host.rstrip('.'))}:{to.port}".encode()
    password = b"\r\n%b: %b" % (_PROXY_PASSWORD, via.credentials) if via.credentials else b""
    return b"CONNECT %b HTTP/1.1\r\nHost: %b%b\r\n\r\n" % (authority, authority, password)
