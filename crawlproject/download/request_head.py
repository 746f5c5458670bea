"""The head of a request as bytes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

_plain = re.compile(r"(https?)://([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(?::(\d{1,5}))?(?:(/[!\"$-~]*))?(?:#[!-~]*)?").fullmatch
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_PROXY_PASSWORD = b"Proxy-Authorization"
_METHODS = frozenset(("GET", "HEAD"))


class Destination(NamedTuple):
    """The parts of a URL that its request needs."""

    is_https: bool
    host: str
    port: int
    #: Value of the header ``Host``.
    authority: str
    #: Path and query.
    target: str


def destination(request: Request) -> Destination | None:
    """The destination of ``request``; None if it is unusual, so that aiohttp must send it. O(length of the URL)."""
    return None if request.method not in _METHODS or request.body else _destination(request.url)


@lru_cache(maxsize=128)
def _destination(url: str) -> Destination | None:
    match = _plain(url)
    if match is None:
        return None
    scheme, host, port, target = match.groups()
    default = _DEFAULT_PORTS[scheme]
    if port is not None and (port == default or not 0 < int(port) < 65_536):
        return None
    authority = host if port is None else f"{host}:{port}"
    target = (target or "/").removesuffix("?")
    return Destination(scheme == "https", host, int(port or default), authority, target)


def headers_of(request: Request, authority: str, *, last: bool) -> Iterator[tuple[bytes, bytes]]:
    """Names and values of the headers to send; ``last``: the server is asked to close the connection."""
    headers = request.headers
    if not dict.__contains__(headers, b"Host"):
        yield b"Host", authority.encode()
    for name, values in dict.items(headers):
        if name != _PROXY_PASSWORD:
            for value in values:
                yield name, value
    if last:
        yield b"Connection", b"close"


def head_of(request: Request, to: Destination, *, last: bool) -> bytes:
    """The head of ``request``. Raises ValueError if a header has a line break or a NUL.

    Scrapy writes the headers of a request with the encoding UTF-16, that of its page, in UTF-16.
    """
    lines = [name + b": " + value for name, value in headers_of(request, to.authority, last=last)]
    head = b"%b %b HTTP/1.1\r\n%b\r\n\r\n" % (request.method.encode(), to.target.encode(), b"\r\n".join(lines))
    if head.count(b"\n") != len(lines) + 2 or head.count(b"\r") != len(lines) + 2:
        raise ValueError(f"line break in a header of {request}")
    if b"\0" in head:
        raise ValueError(f"NUL in a header of {request}")
    return head
