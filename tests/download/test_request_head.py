"""The head of a request as bytes; unusual requests are left to aiohttp."""

from __future__ import annotations

import pytest
from scrapy import Request

from crawlproject.download.request_head import Destination, destination, head_of


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.example", Destination(False, "a.example", 80, "a.example", "/")),
        ("https://a.example/b?c=%20#d", Destination(True, "a.example", 443, "a.example", "/b?c=%20")),
        ("http://127.0.0.1:8080/a?", Destination(False, "127.0.0.1", 8080, "127.0.0.1:8080", "/a")),
    ],
)
def test_destinations(url: str, expected: Destination) -> None:
    """The parts of ordinary URLs; a fragment is not sent."""
    assert destination(Request(url)) == expected


@pytest.mark.parametrize(
    "url",
    [
        "http://user:password@a.example/",
        "http://[::1]:8080/",
        "http://a.example:80/",
        "http://a.example./",
        "http://a..example/",
        "ftp://a.example/",
        "http:///a",
        "data:,x",
    ],
)
def test_unusual_urls(url: str) -> None:
    """None of them goes over a direct connection."""
    assert destination(Request(url)) is None


def test_methods_and_bodies() -> None:
    """Only GET and HEAD, without a body."""
    assert destination(Request("http://a.example/", method="HEAD")) is not None
    assert destination(Request("http://a.example/", method="POST")) is None
    assert destination(Request("http://a.example/", body="x")) is None


def test_heads() -> None:
    """All values of a header, in order; the proxy's password stays here."""
    request = Request(
        "http://a.example/b", headers={"Accept": "text/html", "X": ["1", "2"], "Proxy-Authorization": "secret"}
    )
    to = destination(request)
    assert to is not None
    start = b"GET /b HTTP/1.1\r\nHost: a.example\r\nAccept: text/html\r\nX: 1\r\nX: 2\r\n"
    assert head_of(request, to, last=False) == start + b"\r\n"
    assert head_of(request, to, last=True) == start + b"Connection: close\r\n\r\n"
    request.headers["Host"] = "b.example"
    assert head_of(request, to, last=False).count(b"Host:") == 1


@pytest.mark.parametrize("value", ["a\r\nX: b", "a\nb", "a\rb"])
def test_line_breaks_are_refused(value: str) -> None:
    """They would begin another header, or another request."""
    request = Request("http://a.example/", headers={"X": value})
    to = destination(request)
    assert to is not None
    with pytest.raises(ValueError, match="line break"):
        head_of(request, to, last=False)


def test_headers_in_utf_16_are_refused() -> None:
    """Twisted does so as well; a server would find names with NULs."""
    request = Request("http://a.example/", headers={"Accept": "text/html"}, encoding="utf-16")
    to = destination(request)
    assert to is not None
    with pytest.raises(ValueError, match="NUL in a header"):
        head_of(request, to, last=False)
