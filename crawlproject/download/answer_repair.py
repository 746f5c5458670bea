"""Reads HTTP/1 responses, malformed ones as well, as browsers and curl do; other parsers reject many of these.

Each head is rewritten so that it conforms to RFC 9112, with exactly one statement of the body's length.  What is still
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
_connection = re.compile(rb"\r\nconnection:([^\r\n]*)", re.IGNORECASE).findall
_NO_TOKENS: frozenset[bytes] = frozenset()
_NO_BODY = frozenset((204, 304))

# A head that needs no repair: at most one header states where the body ends. Linear: no header can be read in two ways.
_TEXT = rb"(?![ \t\r\n])[^\r\n\0]++(?<![ \t])"
_OTHERS = rb"(?:\r\n(?!(?i:content-length|transfer-encoding)[: \t])[!#$%&'*+.^_`|~0-9A-Za-z-]++: ?+" + _TEXT + rb")*"
_END_OF_BODY = rb"(?:\r\n(?:(?i:content-length): ?+(\d{1,18})|(?i:transfer-encoding): ?+(chunked)))"
_clean = re.compile(rb"HTTP/1\.1 ([2-5]\d\d) " + _TEXT + _OTHERS + rb"(?:" + _END_OF_BODY + _OTHERS + rb")?").fullmatch


class BrokenAnswerError(ValueError):
    """The data cannot be parsed as HTTP."""


class BrokenBodyError(ValueError):
    """The body cannot be parsed from here on; ``before`` holds the valid part."""

    def __init__(self, before: bytes) -> None:
        super().__init__("broken chunk")
        self.before = before


class Head(NamedTuple):
    """A rewritten head."""

    raw: bytes
    status: int
    #: Bytes of the body; None if it is chunked or ends with the connection.
    length: int | None
    chunked: bool
    #: The headers contradict each other about where the body ends.
    contradicts: bool

    @property
    def closes(self) -> bool:
        """Whether the connection ends with this response, by RFC 9112 section 9.3."""
        words = _connection(self.raw)
        tokens = {token.strip().lower() for word in words for token in word.split(b",")} if words else _NO_TOKENS
        if self.raw[5:8] == b"1.0":
            return b"keep-alive" not in tokens
        return b"close" in tokens


class AnswerReader:
    """Reads one response, including preceding interim responses (1xx)."""

    def __init__(self, *, no_body: bool) -> None:
        self._no_body = no_body
        self._head = bytearray()
        self._searched = 0
        self._body: _Sized | _Chunked | _UntilClose | None = None
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
        return isinstance(self._body, _UntilClose)

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
                self._interim_size += len(head.raw)
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

    def _body_of(self, head: Head) -> _Sized | _Chunked | _UntilClose:
        if self._no_body or head.status in _NO_BODY:
            return _Sized(0)
        if head.chunked:
            return _Chunked()
        return _UntilClose() if head.length is None else _Sized(head.length)


class _Sized:
    """A body of ``length`` bytes."""

    def __init__(self, length: int) -> None:
        self._left = length

    @property
    def complete(self) -> bool:
        return not self._left

    def feed(self, data: bytes) -> tuple[bytes, bool]:
        """The part of ``data`` that belongs to the body, and whether there is more."""
        body = data if len(data) <= self._left else data[: self._left]
        self._left -= len(body)
        return body, len(data) > len(body)


class _UntilClose:
    """A body that ends with the connection."""

    complete = False

    def feed(self, data: bytes) -> tuple[bytes, bool]:
        """All of ``data`` belongs to the body."""
        return data, False


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
    """Parses the head ``raw`` (without its empty line) and rewrites it if needed. O(len(raw)): 5-20 us.

    Raises BrokenAnswerError.
    """
    clean = _clean(raw)
    if clean is not None and int(clean[1]) not in _NO_BODY and raw.count(b"\n") <= MAX_HEADERS:
        length = None if clean[2] is None else int(clean[2])
        return Head(raw + b"\r\n\r\n", int(clean[1]), length, clean[3] is not None, False)
    status_line, *lines = raw.split(b"\n")
    status = _STATUS_LINE.fullmatch(status_line.rstrip(b"\r"))
    if status is None:
        raise BrokenAnswerError(f"no status line: {status_line[:80]!r}")
    if len(lines) > MAX_HEADERS:
        raise BrokenAnswerError(f"more than {MAX_HEADERS} header lines")
    headers = _read_headers(lines)
    lengths, codings = _taken(headers, b"content-length"), _taken(headers, b"transfer-encoding")
    code, chunked = int(status[3]), codings[-1:] == [b"chunked"]
    length = None
    if chunked:
        headers.append((b"Transfer-Encoding", b"chunked"))
    elif all(coding in (b"", b"identity") for coding in codings) and code not in _NO_BODY and code >= 200:
        length = _length(lengths)
        if length is not None:
            headers.append((b"Content-Length", b"%d" % length))
    version = b"HTTP/1.0" if (int(status[1]), int(status[2] or 1)) < (1, 1) else b"HTTP/1.1"
    written = [b"%s %d %s" % (version, code, _one_line(status[4])), *(b": ".join(header) for header in headers)]
    contradicts = bool(lengths and codings)
    return Head(b"\r\n".join((*written, b"", b"")), code, length, chunked, contradicts)


def read_lines(head: Head) -> tuple[str, str, list[tuple[bytes, bytes]]]:
    """Protocol (``HTTP/1.1``), reason, and names and values of the headers of a rewritten head. O(length): 3 us."""
    status_line, _, lines = head.raw[:-4].partition(b"\r\n")
    headers = [
        (name, value.strip(b" \t")) for name, _, value in [line.partition(b":") for line in lines.split(b"\r\n")]
    ]
    return (
        status_line[:8].decode("ascii"),
        status_line[13:].decode("utf-8", "surrogateescape"),
        headers if lines else [],
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


def _taken(headers: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    """Removes ``name`` from ``headers`` and returns its values, lower case, split at commas."""
    found = [
        value.strip(b" \t").lower() for key, values in headers if key.lower() == name for value in values.split(b",")
    ]
    if found:
        headers[:] = [header for header in headers if header[0].lower() != name]
    return found


def _length(values: list[bytes]) -> int | None:
    """The length that all ``values`` agree on; None if there are none. Raises BrokenAnswerError otherwise."""
    if not values:
        return None
    if not all(_LENGTH.fullmatch(value) for value in values) or len(lengths := set(map(int, values))) > 1:
        raise BrokenAnswerError(f"Content-Length: {b', '.join(values)[:80]!r}")
    return lengths.pop()
