"""What the servers answer over real sockets: pages, robots.txt, refusals, redirects, and the notes in the log."""

import asyncio

import pytest

from testbed.web import LocalWeb, Record

from .browser import browse, fast, visit


def notes(records: list[Record], kind: str) -> list[str]:
    return [each.note for each in records if each.kind == kind]


def test_page_comes_with_its_headers() -> None:
    """A page says its type, charset, length and date of change."""

    async def client(local: LocalWeb) -> None:
        async with browse(local) as browser:
            reply = await browser.get("/")
        assert reply.status == 200
        assert reply.headers["content-type"] == "text/html; charset=utf-8"
        assert reply.headers["last-modified"].endswith(" GMT")
        assert b"<title>Page 0 of server 0</title>" in reply.body
        assert "connection" not in reply.headers

    visit(fast(), client)


@pytest.mark.parametrize(
    ("sent", "status", "note"),
    [
        (b"nonsense\r\n\r\n", 400, "malformed"),
        (b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400, "malformed"),
        (b"GET /" + b"x" * 70_000, 400, "malformed"),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 405, "method"),
        (b"GET /nothing HTTP/1.1\r\n\r\n", 404, "unknown"),
        (b"GET / HTTP/1.0\r\n\r\n", 200, ""),
    ],
)
def test_unusual_requests_are_answered(sent: bytes, status: int, note: str) -> None:
    """Whatever comes gets an answer and a line in the log."""

    async def client(local: LocalWeb) -> None:
        async with browse(local) as browser:
            browser.writer.write(sent)
            assert (await browser.receive()).status == status

    request = visit(fast(), client)[1]
    assert (request.kind, request.status, request.note) == ("request", status, note)


def test_disallowed_page_is_served_and_noted() -> None:
    """Fetching what robots.txt forbids leaves a note in the log."""

    async def client(local: LocalWeb) -> None:
        web = local.web
        async with browse(local) as browser:
            private = next(path for path in web.paths[: web.servers[0].page_count] if "/private/" in path)
            assert (await browser.get(private)).status == 200

    assert notes(visit(fast(robots_disallow_share=1.0), client), "request") == ["disallowed"]


@pytest.mark.parametrize(("server", "form"), [(0, "1"), (1, "GMT")])
def test_throttle_refuses_and_notes_who_comes_too_early(server: int, form: str) -> None:
    """The first request gets 429, a second one at once is a violation; robots.txt is answered all the same."""

    async def client(local: LocalWeb) -> None:
        async with browse(local, server) as browser:
            replies = [await browser.get(target) for target in ("/robots.txt", "/", "/p1.html", "/robots.txt")]
        assert [reply.status for reply in replies] == [200, 429, 429, 200]
        assert replies[1].headers["retry-after"].endswith(form)

    records = visit(fast(throttled_share=1.0, retry_after=1, robots_missing_share=0.0), client)
    noted = ["robots", "throttled", "throttled,retry-after", "robots,retry-after"]
    assert notes(records, "request") == noted


def test_redirect_leads_to_a_page() -> None:
    """The Location of a redirect is the URL of a page that answers 200."""

    async def client(local: LocalWeb) -> None:
        web = local.web
        source, target = next(iter(web.redirects.items()))
        async with browse(local, web.server_of[source]) as browser:
            reply = await browser.get(web.paths[source])
        assert (reply.status, reply.headers["location"]) == (301 if source % 2 else 302, web.url(target))
        async with browse(local, web.server_of[target]) as browser:
            assert (await browser.get(web.paths[target])).status == 200

    visit(fast(redirect_share=0.2), client)


def test_dead_server_refuses() -> None:
    """Nobody listens on a dead server's address."""

    async def client(local: LocalWeb) -> None:
        dead = next(server for server in local.web.servers if server.is_dead)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(dead.address, local.port)

    visit(fast(dead_share=0.25), client)
