"""Answers of servers that violate RFC 9112: name -> script (``nasty_server``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.crawl.nasty_server import CLOSE, RESET

if TYPE_CHECKING:
    from tests.crawl.nasty_server import Script

BODY = b"<p>hello, this is the page</p>"
LENGTH = b"Content-Length: %d" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked"
CHUNKS = b"5\r\n" + BODY[:5] + b"\r\n%x\r\n" % (len(BODY) - 5) + BODY[5:] + b"\r\n0\r\n\r\n"


def head(*lines: bytes, status: bytes = b"HTTP/1.1 200 OK", end: bytes = b"\r\n") -> bytes:
    """A head with a type and ``lines``."""
    return end.join((status, b"Content-Type: text/html", *lines, b"", b""))


def sized(*lines: bytes, status: bytes = b"HTTP/1.1 200 OK", end: bytes = b"\r\n") -> Script:
    """The page with its length and ``lines``; then the connection is closed."""
    return (head(*lines, LENGTH, status=status, end=end) + BODY, CLOSE)


def with_head(*lines: bytes, status: bytes = b"HTTP/1.1 200 OK", body: bytes = BODY) -> Script:
    """The page with no length but what ``lines`` say; then the connection is closed."""
    return (head(*lines, status=status) + body, CLOSE)


ODD: dict[str, Script] = {
    "plain": sized(),
    "until close": with_head(),
    "chunked": with_head(CHUNKED, body=CHUNKS),
    # Heads
    "header of 9 kB": sized(b"X-Long: " + b"a" * 9000),
    "header of 60 kB": sized(b"X-Long: " + b"a" * 60_000),
    "header of 200 kB": sized(b"X-Long: " + b"a" * 200_000),
    "headers of 1 MB": sized(*(b"X-%d: " % n + b"a" * 1000 for n in range(1000))),
    "headers of 90 kB": sized(*(b"X-%d: " % n + b"a" * 900 for n in range(100))),
    "name of 9 kB": sized(b"X" * 9000 + b": a"),
    "400 headers": sized(*(b"X-%d: a" % n for n in range(400))),
    "2000 headers": sized(*(b"X-%d: a" % n for n in range(2000))),
    "line without colon": sized(b"This is no header"),
    "first line without colon": (
        b"HTTP/1.1 200 OK\r\nnonsense\r\nContent-Type: text/html\r\n" + LENGTH + b"\r\n\r\n" + BODY,
        CLOSE,
    ),
    "PHP warning in the head": sized(b"<b>Warning</b>: something in /x.php on line 3<br />"),
    "no name": sized(b": value"),
    "no value": sized(b"X-Empty:"),
    "blank in the name": sized(b"X Odd: a"),
    "blank before the colon": sized(b"X-Odd : a"),
    "blank before the colon of the length": with_head(LENGTH.replace(b":", b" :")),
    "name in latin-1": sized(b"X-\xe9: a"),
    "value in latin-1": sized(b"X-Odd: \xe9"),
    "name in brackets": sized(b"X(odd): a"),
    "NUL in a value": sized(b"X-Odd: a\0b"),
    "control character in a value": sized(b"X-Odd: a\x01b"),
    "CR in a value": sized(b"X-Odd: a\rb"),
    "folded": sized(b"X-Odd: a", b"\tb"),
    "folded at once": (
        b"HTTP/1.1 200 OK\r\n X-Odd: a\r\nContent-Type: text/html\r\n" + LENGTH + b"\r\n\r\n" + BODY,
        CLOSE,
    ),
    "LF only": sized(end=b"\n"),
    "LF and CRLF": (b"HTTP/1.1 200 OK\nContent-Type: text/html\r\n" + LENGTH + b"\n\r\n" + BODY, CLOSE),
    "empty lines before": (b"\r\n\r\n" + head(LENGTH) + BODY, CLOSE),
    "type twice": sized(b"Content-Type: text/plain"),
    "head in pieces": (
        b"HTT",
        0.02,
        b"P/1.1 200 OK\r\nContent-Type: text/ht",
        0.02,
        b"ml\r",
        0.02,
        b"\n\r",
        0.02,
        b"\n" + BODY,
        CLOSE,
    ),
    # Status lines
    "no reason": sized(status=b"HTTP/1.1 200"),
    "reason in latin-1": sized(status=b"HTTP/1.1 200 Tr\xe8s bien"),
    "blanks in the status line": sized(status=b"HTTP/1.1  200  OK"),
    "blank behind the status line": sized(status=b"HTTP/1.1 200 OK "),
    "small letters": sized(status=b"http/1.1 200 OK"),
    "HTTP/1.0": sized(status=b"HTTP/1.0 200 OK"),
    "HTTP/0.9 in words": sized(status=b"HTTP/0.9 200 OK"),
    "HTTP/1.2": sized(status=b"HTTP/1.2 200 OK"),
    "HTTP/2": sized(status=b"HTTP/2 200 OK"),
    "HTTP/2.0": sized(status=b"HTTP/2.0 200 OK"),
    "HTTP/1": sized(status=b"HTTP/1 200 OK"),
    "ICY": sized(status=b"ICY 200 OK"),
    "status glued to the reason": sized(status=b"HTTP/1.1 200OK"),
    "status of two digits": sized(status=b"HTTP/1.1 99 What"),
    "status of four digits": sized(status=b"HTTP/1.1 2000 What"),
    "no head": (BODY, CLOSE),
    "100 Continue before": (b"HTTP/1.1 100 Continue\r\n\r\n" + head(LENGTH) + BODY, CLOSE),
    "103 with headers before": (
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nnonsense\r\n\r\n" + head(LENGTH) + BODY,
        CLOSE,
    ),
    "101 before, which nobody asked for": (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n" + head(LENGTH) + BODY,
        CLOSE,
    ),
    # Lengths
    "length twice": with_head(LENGTH, LENGTH),
    "length thrice with commas": with_head(LENGTH + b", %d,%d" % (len(BODY), len(BODY))),
    "lengths differ": with_head(b"Content-Length: 5", LENGTH),
    "lengths differ with commas": with_head(b"Content-Length: 5, 30"),
    "length and chunked": with_head(LENGTH, CHUNKED, body=CHUNKS),
    "wrong length and chunked": with_head(b"Content-Length: 7", CHUNKED, body=CHUNKS),
    "chunked and lengths that differ": with_head(b"Content-Length: 7", CHUNKED, LENGTH, body=CHUNKS),
    "length with a plus": with_head(LENGTH.replace(b": ", b": +")),
    "length with zeros": with_head(LENGTH.replace(b": ", b": 000")),
    "negative length": with_head(b"Content-Length: -1"),
    "length is no number": with_head(b"Content-Length: many"),
    "length is empty": with_head(b"Content-Length:"),
    "length with a unit": with_head(LENGTH + b" bytes"),
    "length with a fraction": with_head(LENGTH + b".0"),
    "length too large": with_head(b"Content-Length: 9999"),
    "length too small": with_head(b"Content-Length: 5"),
    "length of 30 digits": with_head(b"Content-Length: " + b"9" * 30),
    "length 0 with a body": with_head(b"Content-Length: 0"),
    "length, HTTP/1.0, keep-alive": with_head(LENGTH, b"Connection: keep-alive", status=b"HTTP/1.0 200 OK"),
    "body of 204": with_head(LENGTH, status=b"HTTP/1.1 204 No Content"),
    # Chunks
    "chunked twice": with_head(CHUNKED, CHUNKED, body=CHUNKS),
    "chunked, chunked": with_head(CHUNKED + b", chunked", body=CHUNKS),
    "CHUNKED": with_head(CHUNKED.upper(), body=CHUNKS),
    "chunked and HTTP/1.0": with_head(CHUNKED, status=b"HTTP/1.0 200 OK", body=CHUNKS),
    "identity": with_head(b"Transfer-Encoding: identity", LENGTH),
    "identity without length": with_head(b"Transfer-Encoding: identity"),
    "identity, chunked": with_head(b"Transfer-Encoding: identity, chunked", body=CHUNKS),
    "unknown coding": with_head(b"Transfer-Encoding: rot13"),
    "unknown coding with length": with_head(b"Transfer-Encoding: rot13", LENGTH),
    "empty coding": with_head(b"Transfer-Encoding:", LENGTH),
    "chunk sizes with blanks": with_head(CHUNKED, body=CHUNKS.replace(b"5\r\n", b"5  \r\n", 1)),
    "chunk sizes with zeros": with_head(CHUNKED, body=b"000" + CHUNKS),
    "chunk extension": with_head(CHUNKED, body=CHUNKS.replace(b"5\r\n", b"5;a=b\r\n", 1)),
    "chunks end with LF": with_head(CHUNKED, body=CHUNKS.replace(b"\r\n", b"\n")),
    "trailer": with_head(CHUNKED, body=CHUNKS[:-2] + b"X-Sum: 1\r\n\r\n"),
    "trailer without colon": with_head(CHUNKED, body=CHUNKS[:-2] + b"nonsense\r\n\r\n"),
    "no last chunk": with_head(CHUNKED, body=CHUNKS[:-5]),
    "no end of the last chunk": with_head(CHUNKED, body=CHUNKS[:-2]),
    "chunked in words only": with_head(CHUNKED),
    "chunk of a wrong size": with_head(CHUNKED, body=CHUNKS.replace(b"5\r\n", b"4\r\n", 1)),
    "chunk of a negative size": with_head(CHUNKED, body=b"-" + CHUNKS),
    "chunk with 0x": with_head(CHUNKED, body=b"0x" + CHUNKS),
    # Ends
    "reset in the body": (head(LENGTH) + BODY[:9], 0.05, RESET),
    "reset without length": (head() + BODY, 0.1, RESET),
    "nothing": (CLOSE,),
    "half a head": (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", CLOSE),
    "head without an end": (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + LENGTH, CLOSE),
    "surplus behind the body": with_head(LENGTH, body=BODY + b"surplus"),
    "newline behind the body": with_head(LENGTH, body=BODY + b"\r\n"),
    "upgrade": sized(b"Upgrade: h2,h2c", b"Connection: Upgrade"),
    "connection: nonsense": sized(b"Connection: \xff, ,"),
}
