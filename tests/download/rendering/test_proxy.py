"""The proxy: who may use it, and what comes through."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from crawlproject.download.rendering.proxy import MAX_BODY, MAX_HEAD, Answer, Asked, GuardedProxy
from tests.download.direct_fetch import in_loop

AUTHORITY = "Proxy-Authorization: Basic " + b64encode(b"me:secret").decode() + "\r\n"


class Conversation:
    """A proxy that echoes, and one connection to it."""

    def __init__(self, proxy: GuardedProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.proxy = proxy
        self.reader = reader
        self.writer = writer
        self.asked: list[Asked] = []

    async def say(self, text: str | bytes) -> tuple[int, bytes]:
        """Send a request; the answer's status and body, or 0 if the proxy closed the connection."""
        self.writer.write(text.encode() if isinstance(text, str) else text)
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return 0, b""
        status = int(head.split()[1])
        length = [
            int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
        ]
        return status, await self.reader.readexactly(length[0]) if length else b""


@asynccontextmanager
async def talking() -> AsyncIterator[Conversation]:
    """Start the proxy and connect."""
    asked: list[Asked] = []

    async def answer(one: Asked) -> Answer:
        asked.append(one)
        return Answer(200, ((b"Content-Type", b"text/plain"),), b"echo " + one.body)

    proxy = GuardedProxy(answer, {"me": "secret"}.get)
    await proxy.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        talk = Conversation(proxy, reader, writer)
        talk.asked = asked
        yield talk
    finally:
        writer.close()
        await proxy.close()


def get(url: str, more: str = AUTHORITY, method: str = "GET") -> str:
    return f"{method} {url} HTTP/1.1\r\nHost: a.test\r\n{more}\r\n"


@in_loop
async def test_requests_come_through() -> None:
    """With the credentials, which the first request of a connection must have; hop-by-hop headers stay here."""
    async with talking() as talk:
        assert await talk.say(get("http://a.test/x?y", AUTHORITY + "X-Own: 1\r\nTE: trailers\r\n")) == (200, b"echo ")
        posted = get("http://a.test/", "Content-Length: 4\r\n", "POST") + "body"
        assert await talk.say(posted) == (200, b"echo body")
    one, two = talk.asked
    assert (one.user, one.method, one.url) == ("me", "GET", "http://a.test/x?y")
    assert dict(one.headers) == {b"host": b"a.test", b"x-own": b"1"}
    assert (two.method, two.body) == ("POST", b"body")


@pytest.mark.parametrize("credentials", ["", "!!!", "bWU6eA==", "/w==", "eW91OnNlY3JldA=="])
@pytest.mark.parametrize("method", ["GET", "CONNECT"])
@in_loop
async def test_without_valid_credentials_nothing_does(credentials: str, method: str) -> None:
    """Whoever finds the port."""
    async with talking() as talk:
        target = "a.test:443" if method == "CONNECT" else "http://a.test/"
        header = f"Proxy-Authorization: Basic {credentials}\r\n" if credentials else ""
        assert (await talk.say(get(target, header, method)))[0] == 407
        assert talk.asked == []
        assert (await talk.say(get("http://a.test/")))[0] == 200  # a browser asks again on the same connection


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        (get("http://a.test/", method="PUT"), 403),
        (get("http://a.test/", method="DELETE"), 403),
        (get("http://a.test/", AUTHORITY + "Connection: Upgrade\r\nUpgrade: websocket\r\n"), 403),
        (get("ftp://a.test/"), 403),
        (get("file:///etc/passwd"), 403),
        (get("/"), 403),
        (get("http://a.test/", AUTHORITY + f"Content-Length: {MAX_BODY + 1}\r\n") + "x" * (MAX_BODY + 1), 413),
        (get("http://a.test/", AUTHORITY + "X: " + "x" * (2 * MAX_HEAD) + "\r\n"), 0),
        ("GET http://a.test/\r\n\r\n", 0),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100), 0),
    ],
)
@in_loop
async def test_what_is_not_plain_http_is_refused(request_text: str | bytes, status: int) -> None:
    """Other methods and schemes, upgrades, what is too long."""
    async with talking() as talk:
        assert (await talk.say(request_text))[0] == status
        assert talk.asked == []


@in_loop
async def test_tunnels_end_in_the_proxy() -> None:
    """TLS is spoken with its own certificate; what is not TLS ends the connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    async with talking() as talk:
        talk.writer.write(get("a.test:443", method="CONNECT").encode())
        assert b" 200 " in await talk.reader.readuntil(b"\r\n\r\n")
        await talk.writer.start_tls(context, server_hostname="a.test")
        assert await talk.say("GET /x HTTP/1.1\r\nHost: b.test\r\n\r\n") == (200, b"echo ")
        assert (await talk.say("GET http://127.0.0.1/ HTTP/1.1\r\nHost: b.test\r\n\r\n"))[0] == 403
        assert [one.url for one in talk.asked] == ["https://a.test/x"]
    async with talking() as talk:
        talk.writer.write(get("a.test:22", method="CONNECT").encode())
        assert b" 200 " in await talk.reader.readuntil(b"\r\n\r\n")
        assert await talk.say("SSH-2.0-x\r\n" + "x" * 100) == (0, b"")
        assert talk.asked == []


@in_loop
async def test_connections_of_a_page_that_is_over_are_closed() -> None:
    """Those of its user."""
    async with talking() as talk:
        await talk.say(get("http://a.test/"))
        talk.proxy.drop("somebody else")
        assert (await talk.say(get("http://a.test/")))[0] == 200
        talk.proxy.drop("me")
        assert await talk.reader.read() == b""
