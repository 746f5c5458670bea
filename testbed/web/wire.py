"""The part of HTTP/1.1 that the emulated servers need: parses request heads, encodes responses. No I/O."""

from __future__ import annotations

import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple

MAX_HEAD = 65_536
END_OF_LINE = b"\r\n"
END_OF_HEAD = b"\r\n\r\n"


class BadRequestError(ValueError):
    """The received data is not an HTTP/1.x request head."""


class Request(NamedTuple):
    """The parts of a request that change its answer."""

    method: str
    target: str
    version: str
    wants_close: bool
    """The client ends the connection after this request."""
    body_bytes: int
    accepts_gzip: bool = False


MALFORMED = Request("GET", "", "HTTP/1.1", wants_close=True, body_bytes=0)
"""Represents a malformed request."""


def parse_head(head: bytes) -> Request:
    """Parse a request's head, given without its last two line ends. Raises `BadRequestError`."""
    line, _, rest = head.partition(END_OF_LINE)
    parts = line.decode("latin-1").split(" ")
    if len(parts) != 3 or parts[2] not in ("HTTP/1.1", "HTTP/1.0"):
        raise BadRequestError(f"not a request line: {line[:80]!r}")
    method, target, version = parts
    fields = END_OF_LINE + rest.lower()
    connection = _field(fields, b"connection")
    wants_close = b"close" in connection or (version == "HTTP/1.0" and b"keep-alive" not in connection)
    length = _field(fields, b"content-length") or b"0"
    if not length.isdigit():
        raise BadRequestError(f"not a length: {length!r}")
    accepts_gzip = b"gzip" in _field(fields, b"accept-encoding")
    return Request(method, target.replace("\t", "%09"), version, wants_close, int(length), accepts_gzip)


def _field(fields: bytes, name: bytes) -> bytes:
    """The value of a header field, in lower case; empty if it is missing."""
    start = fields.find(END_OF_LINE + name + b":")
    if start < 0:
        return b""
    start += len(name) + 3
    end = fields.find(END_OF_LINE, start)
    return fields[start : end if end >= 0 else len(fields)].strip()


@lru_cache(maxsize=64)
def _start(status: int, version: str) -> str:
    """The status line."""
    return f"{version} {status} {HTTPStatus(status).phrase}\r\nServer: localweb\r\n"


@lru_cache(maxsize=4)
def _date(second: int) -> str:
    """The Date header line of a second."""
    return f"Date: {formatdate(second, usegmt=True)}\r\n"


def encode_response(request: Request, status: int, headers: str, body: bytes) -> bytes:
    """The encoded response; without a body for HEAD. O(bytes)."""
    head = (
        f"{_start(status, request.version)}{_date(int(time.time()))}{headers}Content-Length: {len(body)}\r\n\r\n"
    ).encode("latin-1")
    return head if request.method == "HEAD" else head + body


def connection_headers(request: Request, is_last: bool) -> str:
    """The header line about the connection: that it closes or, for HTTP/1.0, stays open."""
    if is_last:
        return "Connection: close\r\n"
    return "Connection: keep-alive\r\n" if request.version == "HTTP/1.0" else ""
