"""The responses of servers: HTML pages generated on request, robots.txt, redirects, errors and traps."""

from __future__ import annotations

from email.utils import formatdate
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from . import graph
from .traps import ENTRIES, WITH_IDS, session_id, trap_links

if TYPE_CHECKING:
    from .population import Server
    from .web import Web

HTML = "Content-Type: text/html; charset=utf-8\r\n"
TEXT = "Content-Type: text/plain; charset=utf-8\r\n"
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sta", "tre")
FILLER_BYTES = 1 << 18
OLDEST = 1_041_379_200  # 2003-01-01, the year of the paper
DAY = 86_400


class Answer(NamedTuple):
    """A response before it is encoded."""

    status: int
    headers: str
    """Its specific header lines, each with a line end."""
    body: bytes
    delay: float
    """Response time in seconds."""
    page: str = ""
    """Path of the requested page of the model; otherwise empty."""
    note: str = ""
    """Kind of another request ('robots', 'trap', 'unknown'), or violation ('disallowed')."""


@lru_cache(maxsize=1)
def _filler() -> bytes:
    """Words without markup, the same in every process; pages are cut from it."""
    rng = Random("filler")
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(2000)]
    text = " ".join(rng.choices(words, k=FILLER_BYTES // 3))
    return text[:FILLER_BYTES].encode()


@lru_cache(maxsize=4096)
def _http_date(day: int) -> str:
    """The HTTP date of a day counted from `OLDEST`."""
    return formatdate(OLDEST + day * DAY, usegmt=True)


def answer(web: Web, server: Server, target: str, visit: int) -> Answer:
    """The server's answer to a request target in its `visit`-th response. O(links + bytes of the page)."""
    if target == "/robots.txt":
        return _robots(server)
    page = web.find(server.index, target)
    if page is None:
        links = trap_links(server, target)
        if links is not None:
            return Answer(200, HTML, _small_page(target, links), server.response_time, note="trap")
        return Answer(404, HTML, _small_page("Not found", ["/"]), server.response_time, note="unknown")
    kind, path, delay = web.kinds[page], web.paths[page], web.times[page]
    if kind == graph.NOT_FOUND:
        return Answer(404, HTML, _small_page("Not found", []), delay, path)
    if kind == graph.SERVER_ERROR:
        return Answer(500, HTML, _small_page("Server error", []), delay, path)
    if kind == graph.MOVED:
        url = web.url(web.redirects[page])
        location = f"Location: {url}\r\n{HTML}"
        return Answer(301 if page % 2 else 302, location, _small_page("Moved", [url]), delay, path)
    headers = f"Last-Modified: {_http_date(page * 7919 % 5000)}\r\n{HTML}"
    note = "disallowed" if kind == graph.PRIVATE else ""
    return Answer(200, headers, render(web, server, page, visit), delay, path, note)


def _robots(server: Server) -> Answer:
    """The server's robots.txt, or 404 if it has none."""
    if server.robots is None:
        return Answer(404, TEXT, b"Not found\n", server.response_time, note="robots")
    return Answer(200, TEXT, server.robots.encode(), server.response_time, note="robots")


def _small_page(title: str, urls: list[str]) -> bytes:
    """A page of a title and links."""
    links = "".join(f'<p><a href="{url}">{url}</a></p>\n' for url in urls)
    return f"<!DOCTYPE html>\n<html><head><title>{title}</title></head>\n<body>\n{links}</body></html>\n".encode()


def render(web: Web, server: Server, page: int, visit: int) -> bytes:
    """The HTML of a page: its links, and filler up to its size. Deterministic except for session ids."""
    hrefs = _hrefs(web, server, page, visit)
    title = f"Page {page - server.first_page} of server {server.index}"
    head = (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta name="quality" content="{web.scores[page]!r}"></head>\n<body><h1>{title}</h1>\n<ul>\n'
    )
    items = "".join([f'<li><a href="{href}">to {href}</a></li>\n' for href in hrefs])
    start = (head + items + "</ul>\n<p>").encode()
    end = b"</p>\n</body></html>\n"
    missing = web.sizes[page] - len(start) - len(end)
    return start + _cut(page * 977, missing) + end


def _hrefs(web: Web, server: Server, page: int, visit: int) -> list[str]:
    """The page's links as written: paths on its own server, URLs on others, the trap of its server last."""
    paths, server_of, own = web.paths, web.server_of, server.index
    session = session_id(server, visit) if server.trap in WITH_IDS else ""
    hrefs = [paths[target] + session if server_of[target] == own else web.url(target) for target in web.links(page)]
    if page == server.first_page and server.trap in ENTRIES:
        hrefs.append(ENTRIES[server.trap])
    return hrefs


def _cut(start: int, size: int) -> bytes:
    """`size` bytes of filler that differ from page to page."""
    if size <= 0:
        return b""
    filler = _filler()
    offset = start % (len(filler) // 2)
    repeats = 1 + (offset + size) // len(filler)
    return (filler if repeats == 1 else filler * repeats)[offset : offset + size]
