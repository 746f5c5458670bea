"""Reads HTTP/1 responses, malformed ones as well, as browsers and curl do; other parsers reject many of these.

The headers of each are corrected as RFC 9112 says, with at most one statement of the body's length.  What is still
rejected, and why: docs/how-it-works.md, "Answers that are not HTTP".
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: Maximum bytes of a head, as in Chromium; curl allows 300 kB.
MAX_HEAD = 256 * 1024

#: Maximum header lines of a head.
MAX_HEADERS = 4096

#: Bytes of a ``Content-Type`` that are interpreted: caches keep them.
MAX_CONTENT_TYPE = 1000

#: Maximum bytes of the line before a chunk: its size and extensions (unused in practice).
MAX_CHUNK_LINE = 4096

#: Lines of a chunked body read at a time, two for each chunk: some 2 ms. A read of 256 kB may hold 44,000 chunks.
MAX_CHUNK_LINES = 1000

#: Maximum number of interim responses (1xx) before a response.
MAX_INTERIM = 1000

_STATUS_LINE = re.compile(
    rb"HTTP/(\d{1,3})(?:\.(\d{1,3}))?[ \t]+([1-9]\d\d)(?!\d)[ \t]*(.*)", re.IGNORECASE | re.DOTALL
)
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_END = re.compile(rb"\r?\n\r?\n")
_empty_lines = re.compile(rb"[\r\n]++").match
_chunk_size = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?\r?", re.DOTALL).fullmatch
_LENGTH = re.compile(rb"0*\d{1,18}")
_NO_BODY = frozenset((204, 304))
_STATE_THE_END = (b"content-length", b"transfer-encoding")


class BrokenAnswerError(ValueError):
    """The data cannot be parsed as HTTP."""


class BrokenBodyError(ValueError):
    """The body cannot be parsed from here on; ``before`` holds the valid part."""

    def __init__(self, before: bytes) -> None:
        super().__init__("broken chunk")
        self.before = before


class Head(NamedTuple):
    """A corrected head."""

    #: ``HTTP/1.1`` or ``HTTP/1.0``.
    protocol: str
    status: int
    reason: str
    headers: list[tuple[bytes, bytes]]
    #: Bytes of the body; None if it is chunked or ends with the connection.
    length: int | None
    chunked: bool
    #: The headers contradict each other about where the body ends.
    contradicts: bool

    @property
    def closes(self) -> bool:
        """Whether the connection ends with this response, by RFC 9112 section 9.3."""
        tokens = _values(self.headers, b"connection")
        return b"keep-alive" not in tokens if self.protocol == "HTTP/1.0" else b"close" in tokens


class AnswerReader:
    """Reads one response, including preceding interim responses (1xx)."""

    def __init__(self, *, no_body: bool) -> None:
        self._no_body = no_body
        self._head = bytearray()
        self._searched = 0
        self._body: _Plain | _Chunked | None = None
        self._interim = self._interim_size = 0  # number and bytes of interim responses
        #: The head of the response, once it has arrived.
        self.head: Head | None = None
        #: Data arrived after the end of the response.
        self.surplus = False

    @property
    def complete(self) -> bool:
        """Whether the whole response has arrived."""
        return self._body is not None and self._body.complete

    @property
    def unread(self) -> bytes:
        """The rest of the data fed last, if it has too many chunks to be read at once; to be fed next."""
        return self._body.unread if isinstance(self._body, _Chunked) else b""

    @property
    def ends_with_connection(self) -> bool:
        """Whether the response is complete if the connection ends now."""
        return isinstance(self._body, _Plain) and self._body.left is None

    def feed(self, data: bytes) -> bytes:
        """Returns the part of the body in ``data``, without that in ``unread``. O(len(data)).

        Raises BrokenAnswerError, or BrokenBodyError with the valid part.
        """
        if self._body is None:
            self._head += data
            data = self._read_heads()
            if self._body is None:
                return b""
        body, surplus = self._body.feed(data)
        self.surplus = self.surplus or surplus
        return body

    def _read_heads(self) -> bytes:
        """Read the complete heads; returns the data after the last one. O(bytes received)."""
        position = 0
        while self._body is None:
            found = self._find_head(position)
            if found is None:
                return b""
            start, end, position = found
            head = read_head(bytes(self._head[start:end]))
            if head.status >= 200:
                self.head = head
                self._body = self._body_of(head)
            else:
                self._interim += 1
                self._interim_size += end - start
                if self._interim > MAX_INTERIM or self._interim_size > MAX_HEAD:
                    raise BrokenAnswerError(f"more than {MAX_INTERIM} interim responses, or {MAX_HEAD} bytes of them")
        rest, self._head = bytes(memoryview(self._head)[position:]), bytearray()
        return rest

    def _find_head(self, position: int) -> tuple[int, int, int] | None:
        """Start and end of the next head, and the end of the empty line after it.

        None if the head is incomplete; then empty lines before it are discarded.
        """
        empty = _empty_lines(self._head, position)
        start = position if empty is None else empty.end()
        end = _END.search(self._head, max(start, self._searched - 3))
        if (end.start() if end else len(self._head)) - start > MAX_HEAD:
            raise BrokenAnswerError(f"head of more than {MAX_HEAD} bytes")
        if end is None:
            del self._head[:start]
            self._searched = len(self._head)
            return None
        self._searched = 0
        return start, end.start(), end.end()

    def _body_of(self, head: Head) -> _Plain | _Chunked:
        if self._no_body or head.status in _NO_BODY:
            return _Plain(0)
        return _Chunked() if head.chunked else _Plain(head.length)


class _Plain:
    """A body with ``left`` bytes to come; None: it ends with the connection."""

    def __init__(self, left: int | None) -> None:
        self.left = left

    @property
    def complete(self) -> bool:
        return self.left == 0

    def feed(self, data: bytes) -> tuple[bytes, bool]:
        """The part of ``data`` that belongs to the body, and whether there is more."""
        if self.left is None:
            return data, False
        body = data if len(data) <= self.left else data[: self.left]
        self.left -= len(body)
        return body, len(data) > len(body)


class _Chunked:
    """A chunked body: lines may end with LF alone; trailers are dropped."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._left = 0  # bytes left of the current chunk
        self._read_line = self._size
        self._trailers = 0  # bytes of trailers
        self.complete = False
        self.unread = b""

    def feed(self, data: bytes) -> tuple[bytes, bool]:
        """The part of ``data`` that belongs to the body, without ``unread``, and whether there is more after it."""
        pieces: list[bytes] = []
        position = lines = 0
        self.unread = b""
        while position < len(data) and not self.complete:
            if lines >= MAX_CHUNK_LINES:
                self.unread = data[position:]
                return b"".join(pieces), False
            if self._left:
                pieces.append(data[position : position + self._left])
                position += len(pieces[-1])
                self._left -= len(pieces[-1])
                continue
            lines += 1
            end = data.find(b"\n", position)
            stop = end if end >= 0 else len(data)
            self._line += data[position:stop]
            position = stop + 1
            if len(self._line) > MAX_CHUNK_LINE or (end >= 0 and not self._read_line(bytes(self._line))):
                raise BrokenBodyError(b"".join(pieces))
            if end >= 0:
                self._line.clear()
        return b"".join(pieces), position < len(data)

    def _size(self, line: bytes) -> bool:
        size = _chunk_size(line)
        if size is None:
            return False
        self._left = int(size[1], 16)
        self._read_line = self._end_of_chunk if self._left else self._trailer
        return True

    def _end_of_chunk(self, line: bytes) -> bool:
        self._read_line = self._size
        return line in (b"", b"\r")

    def _trailer(self, line: bytes) -> bool:
        self._trailers += len(line)
        self.complete = line in (b"", b"\r")
        return self._trailers <= MAX_HEAD


def read_head(raw: bytes) -> Head:
    """Parses the head ``raw`` (without its empty line). O(len(raw)): 10-20 us. Raises BrokenAnswerError."""
    status_line, *lines = raw.split(b"\n")
    status = _STATUS_LINE.fullmatch(status_line.rstrip(b"\r"))
    if status is None:
        raise BrokenAnswerError(f"no status line: {status_line[:80]!r}")
    if len(lines) > MAX_HEADERS:
        raise BrokenAnswerError(f"more than {MAX_HEADERS} header lines")
    headers = _read_headers(lines)
    lengths, codings = (_values(headers, name) for name in _STATE_THE_END)
    code, chunked = int(status[3]), codings[-1:] == [b"chunked"]
    length, end = None, (b"Transfer-Encoding", b"chunked") if chunked else None
    if not chunked and all(coding in (b"", b"identity") for coding in codings) and code not in _NO_BODY and code >= 200:
        length = _length(lengths)
        end = None if length is None else (b"Content-Length", b"%d" % length)
    if [*lengths, *codings] != ([] if end is None else [end[1]]):
        headers = [header for header in headers if header[0].lower() not in _STATE_THE_END]
        headers += [] if end is None else [end]
    return Head(
        "HTTP/1.0" if (int(status[1]), int(status[2] or 1)) < (1, 1) else "HTTP/1.1",
        code,
        _one_line(status[4]).decode("utf-8", "surrogateescape"),
        headers,
        length,
        chunked,
        contradicts=bool(lengths and codings),
    )


def _read_headers(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    """Names and values of all valid header lines; folded lines are joined (RFC 9112 section 5.2)."""
    headers: list[tuple[bytes, list[bytes]]] = []
    for line in lines:
        if line[:1] in (b" ", b"\t"):
            if headers:
                headers[-1][1].append(line)
            continue
        name, colon, value = line.partition(b":")
        name = name.rstrip(b" \t")
        if colon and _NAME.fullmatch(name):
            headers.append((name, [value]))
    return [(name, b" ".join(_one_line(value) for value in values)) for name, values in headers]


def _one_line(value: bytes) -> bytes:
    """``value`` with forbidden characters replaced by spaces (RFC 9110 section 5.5)."""
    return value.strip(b" \t\r").replace(b"\r", b" ").replace(b"\0", b" ")


def _values(headers: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    """The values of all headers ``name``, lower case, split at commas."""
    return [
        value.strip(b" \t").lower() for key, values in headers if key.lower() == name for value in values.split(b",")
    ]


def _length(values: list[bytes]) -> int | None:
    """The length that all ``values`` agree on; None if there are none. Raises BrokenAnswerError otherwise."""
    if not values:
        return None
    if not all(_LENGTH.fullmatch(value) for value in values) or len(lengths := set(map(int, values))) > 1:
        raise BrokenAnswerError(f"Content-Length: {b', '.join(values)[:80]!r}")
    return lengths.pop()
