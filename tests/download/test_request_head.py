"""The bytes of a request."""

import pytest
from scrapy import Request

from crawlproject.compat import UnsupportedURLSchemeError
from crawlproject.download.request_head import (
    Destination,
    Proxy,
    Sent,
    connect_head,
    destination,
    proxy_of,
    request_bytes,
)

A = destination("http://a.example/b")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.example", Destination(False, "a.example", 80, "a.example", "/")),
        ("https://a.example/b?c=%20#d", Destination(True, "a.example", 443, "a.example", "/b?c=%20")),
        ("http://127.0.0.1:8080/a?", Destination(False, "127.0.0.1", 8080, "127.0.0.1:8080", "/a")),
        ("http://u:p%40@a.example/", Destination(False, "a.example", 80, "a.example", "/", b"Basic dTpwQA==")),
        ("http://[::1]:8080/", Destination(False, "::1", 8080, "[::1]:8080", "/")),
        ("https://[::1]/", Destination(True, "::1", 443, "[::1]", "/")),
        ("http://a.example:80/", Destination(False, "a.example", 80, "a.example", "/")),
        ("HTTP://A.example./B", Destination(False, "a.example.", 80, "a.example", "/B")),
        ("http://a..example?b", Destination(False, "a..example", 80, "a..example", "/?b")),
    ],
)
def test_destinations(url: str, expected: Destination) -> None:
    """The parts of a URL, also of unusual ones; a fragment is not sent."""
    assert destination(url) == expected


@pytest.mark.parametrize("url", ["ftp://a.example/", "http:///a", "data:,x", "http://a:99999/", "http://[::1/"])
def test_urls_of_no_server(url: str) -> None:
    """None of them can be asked for."""
    with pytest.raises(UnsupportedURLSchemeError):
        destination(url)


def test_heads() -> None:
    """All values of a header, in order; the proxy's password stays here."""
    request = Request(
        "http://a.example/b", headers={"Accept": "text/html", "X": ["1", "2"], "Proxy-Authorization": "secret"}
    )
    start = b"GET /b HTTP/1.1\r\nHost: a.example\r\nAccept: text/html\r\nX: 1\r\nX: 2\r\n"
    assert request_bytes(Sent(request, A, None)) == start + b"\r\n"
    assert request_bytes(Sent(request, A, None, True)) == start + b"Connection: close\r\n\r\n"
    request.headers["Host"] = "b.example"
    assert request_bytes(Sent(request, A, None)).count(b"Host:") == 1


@pytest.mark.parametrize(
    ("method", "body", "headers", "expected"),
    [
        ("POST", "ab", {}, b"Content-Length: 2\r\n\r\nab"),
        ("POST", "", {}, b"Content-Length: 0\r\n\r\n"),
        ("GET", "ab", {}, b"Content-Length: 2\r\n\r\nab"),
        ("OPTIONS", "", {}, b"Host: a.example\r\n\r\n"),
        ("PUT", "ab", {"Content-Length": "2"}, b"Host: a.example\r\nContent-Length: 2\r\n\r\nab"),
        ("PUT", "ab", {"Transfer-Encoding": "chunked"}, b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"),
    ],
)
def test_bodies(method: str, body: str, headers: dict[str, str], expected: bytes) -> None:
    """Their length is stated, unless the project states it."""
    request = Request("http://a.example/b", method=method, body=body, headers=headers)
    assert request_bytes(Sent(request, A, None)).endswith(expected)


def test_user_of_the_url() -> None:
    """It takes precedence over a header."""
    url = "http://u:p@a.example/"
    request = Request(url, headers={"Authorization": "Basic eA=="})
    sent = request_bytes(Sent(request, destination(url), None))
    assert sent == b"GET / HTTP/1.1\r\nHost: a.example\r\nAuthorization: Basic dTpw\r\n\r\n"


def test_requests_by_a_proxy() -> None:
    """It is told the whole URL, or asked for a tunnel; only it gets its password."""
    request = Request("http://a.example/b", meta={"proxy": "u:p@proxy.example:8080"})
    via = proxy_of(request)
    assert via == Proxy(False, "proxy.example", 8080, b"Basic dTpw")
    password = b"Proxy-Authorization: Basic dTpw\r\n\r\n"
    expected = b"GET http://a.example/b HTTP/1.1\r\nHost: a.example\r\n" + password
    assert request_bytes(Sent(request, A, via)) == expected
    tls = destination("https://a.example/b")
    assert b"Proxy" not in request_bytes(Sent(request, tls, via))
    assert request_bytes(Sent(request, tls, via)).startswith(b"GET /b ")
    assert connect_head(tls, via) == b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n" + password
    request.headers["Proxy-Authorization"] = b"Basic eA=="
    via = proxy_of(request)
    assert via is not None
    assert via.credentials == b"Basic eA=="


def test_unsupported_proxies() -> None:
    """SOCKS, for example."""
    with pytest.raises(UnsupportedURLSchemeError):
        proxy_of(Request("http://a.example/", meta={"proxy": "socks5://127.0.0.1:9"}))
    assert proxy_of(Request("http://a.example/", meta={"proxy": None})) is None


@pytest.mark.parametrize("value", ["a\r\nX: b", "a\nb", "a\rb"])
def test_line_breaks_are_refused(value: str) -> None:
    """They would begin another header, or another request."""
    request = Request("http://a.example/", headers={"X": value})
    with pytest.raises(ValueError, match="line break"):
        request_bytes(Sent(request, A, None))


def test_headers_in_utf_16_are_refused() -> None:
    """Twisted does so as well; a server would find names with NULs."""
    request = Request("http://a.example/", headers={"Accept": "text/html"}, encoding="utf-16")
    with pytest.raises(ValueError, match="line break or NUL"):
        request_bytes(Sent(request, A, None))
