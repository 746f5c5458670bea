"""Hostile inputs of every kind, made by code: what is in a page, in front of it, and around it.

Inputs of one kind are paths of a few servers, linked from their home pages; each robots.txt has a server of its own.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from tests.crawl.nasty_answers import bomb
from tests.crawl.nasty_server import page, response

if TYPE_CHECKING:
    from tests.crawl.nasty_server import Answers, Script

#: A body, made when it is requested.
Body = Callable[[], str | bytes]

HTML = page("/linked").encode()


def _numbered(text: str, count: int, joint: str = "") -> str:
    """``text`` with each number in place of ``#``."""
    return joint.join(text.replace("#", str(number)) for number in range(count))


def _link(href: str) -> str:
    return f'<a href="{href}">x</a>'


#: Markup that is expensive to parse, or to look at afterwards.
MARKUP: Mapping[str, Body] = {
    "equal_links": lambda: _link("/x") * 100_000,
    "different_links": lambda: _numbered(_link("/bulk/l#"), 60_000),
    "links_in_a_calendar": lambda: _numbered(_link("/bulk/calendar/2024/01/#"), 3_000),
    "paragraphs": lambda: "<p>x" * 400_000,
    "tables": lambda: "<table>" * 30_000,
    "text_in_tables": lambda: "<table>x" * 30_000,
    "misnested": lambda: "<b><i><div></b></i>" * 50_000,
    "anchors_nested": lambda: "<a href=/x><b>" * 100_000,
    "drawings": lambda: "<svg><g>" * 30_000,
    "unknown_elements": lambda: _numbered("<x#>", 60_000),
    "attributes": lambda: "<a " + _numbered("a#=1 ", 300_000) + "href=/x>x</a>",
    "attributes_of_quotes": lambda: "<p " + _numbered("a#='' ", 990) + ">" + _numbered("<p b#=''c#=''>", 40_000),
    "attribute_huge": lambda: f'<a title="{"a " * 1_000_000}" href=/x>x</a>',
    "tags_in_a_long_tag": lambda: "<a " + "b " * 3_000 + ">" + ("<a" * 1_999 + ">") * 700,
    "comment_open": lambda: "<!--" + "x" * 1_000_000,
    "comments": lambda: "<!---->" * 100_000,
    "scripts": lambda: "<script></script>" * 50_000,
    "title_open": lambda: "<title>" + "x " * 500_000,
    "entities_malformed": lambda: "&#x110000;&#0;&#xD800;&notanentity" * 100_000,
    "meta_content": lambda: f'<meta name="robots" content="{"index, " * 400_000}">',
    "text_without_spaces": lambda: "x" * 1_000_000,
    "text_surrogates": lambda: ("\ud800x" * 300_000).encode("utf-8", "surrogatepass"),
}

#: References: each is a link, a base, a canonical address, the target of a refresh, and of a redirect if it fits.
HREFS: Mapping[str, Body] = {
    "dots_in_host": lambda: "http://a" + "." * 100_000 + "b/",
    "megabyte_path": lambda: "/" + "a" * 1_000_000,
    "megabyte_host": lambda: "http://" + "a" * 1_000_000 + "/",
    "climbing": lambda: "../" * 5_000,
    "ipv6_long": lambda: "http://[" + ":0" * 8_000 + "]/",
    "ipv6_open": lambda: "http://[::1",
    "port_too_large": lambda: "http://h.test:99999/",
    "lone_surrogate": lambda: "/\ufffd&#xD800;",
    "idn_long": lambda: "http://" + "\u4e00" * 5_000 + ".test/",
    "dotted_scheme": lambda: "\u0130leti\u015fim:x",
}


def _in_link(body: Body) -> Script:
    return _Lazy(lambda: f'<a href="{body()}">x</a>{_link("/linked")}')


def _in_base(body: Body) -> Script:
    return _Lazy(lambda: f'<base href="{body()}">{_link("linked")}{_link("?a=b")}')


def _in_canonical(body: Body) -> Script:
    return _Lazy(lambda: f'<link rel="canonical" href="{body()}">{_link("/linked")}')


def _in_refresh(body: Body) -> Script:
    return _Lazy(lambda: f'<meta http-equiv="refresh" content="0; url={body()}">{_link("/linked")}')


class _Lazy:
    """A script of one answer whose body is made when it is sent."""

    def __init__(self, body: Body, *headers: str, status: str = "200 OK") -> None:
        self._body = body
        self._headers = headers
        self._status = status

    def __iter__(self) -> Iterable[bytes]:  # type: ignore[override]
        body = self._body()
        data = body.encode("utf-8", "replace") if isinstance(body, str) else body
        yield response(data, *self._headers, status=self._status)


def _redirects() -> dict[str, Script]:
    """Each short reference as a ``Location``."""
    scripts: dict[str, Script] = {}
    for name, body in HREFS.items():
        location = body() if not name.startswith("megabyte") else ""
        assert isinstance(location, str)
        line = location.encode("utf-8", "replace").decode("latin-1").replace("\n", " ").replace("\r", " ")
        if len(line) < 8_000 and "\0" not in line:
            scripts[name] = (response("", f"Location: {line}", status="302 Found"),)
    return scripts


#: Declared charset -> body, which has another one.
CHARSETS: Mapping[str, tuple[str, Body]] = {
    "gb18030_garbage": ("gb18030", lambda: b"\xff" * 2_500_000),
    "utf8_garbage": ("utf-8", lambda: b"\xff" * 2_500_000),
    "utf32_garbage": ("utf-32", lambda: b"\xff" * 2_500_000),
    "iso2022_switching": ("iso-2022-jp", lambda: b"\x1b$B\x1b(B" * 400_000),
    "ebcdic": ("cp037", lambda: bytes(range(256)) * 8_000),
    "undeclared_random": ("", lambda: zlib.compress(_numbered("#", 200_000).encode()) * 5),
    "idna": ("idna", lambda: b"a." * 1_000_000),
    "unicode_escape": ("unicode_escape", lambda: b"\\N{" * 500_000),
    "metas_late": ("", lambda: b" " * 4_000 + b'<meta charset="' * 100_000),
}


def _charset(name: str) -> Script:
    charset, body = CHARSETS[name]
    return _Lazy(body, f"Content-Type: text/html; charset={charset}" if charset else "Content-Type: text/html")


def _nested(layers: int) -> bytes:
    body = HTML
    for _ in range(layers):
        body = gzip.compress(body, 1)
    return body


#: Content-Encoding -> body.
ENCODINGS: Mapping[str, tuple[str, Body]] = {
    "gzip_bomb": ("gzip", lambda: bomb(100_000_000)),
    "gzip_of_links": ("gzip", lambda: gzip.compress(_numbered(_link("/bulk/z#"), 5_000).encode(), 1)),
    "gzip_members": ("gzip", lambda: gzip.compress(b"x") * 200_000),
    "gzip_twice": ("gzip, gzip", lambda: _nested(2)),
    "gzip_100_times": (", ".join(["gzip"] * 100), lambda: _nested(100)),
    "deflate_bomb": ("deflate", lambda: zlib.compress(bytes(100_000_000), 9)),
    "br_bomb": ("br", lambda: _brotli(bytes(100_000_000))),
    "zstd_bomb": ("zstd", lambda: _zstd(bytes(100_000_000))),
}


def _brotli(data: bytes) -> bytes:
    import brotli

    return bytes(brotli.compress(data, quality=1))


def _zstd(data: bytes) -> bytes:
    from backports import zstd

    return bytes(zstd.compress(data))


def _encoding(name: str) -> Script:
    encoding, body = ENCODINGS[name]
    return _Lazy(body, f"Content-Encoding: {encoding}")


#: Header lines in front of a good page.
HEADERS: Mapping[str, tuple[str, ...]] = {
    "long": ("X-Long: " + "a" * 7_000,),
    "content_type_long": ("Content-Type: text/html;" + "a=b;" * 1_500,),
    "content_type_semicolons": ("Content-Type: text/html" + ";" * 7_000,),
    "disposition": ("Content-Disposition: attachment; filename=" + "../" * 2_000,),
    "keep_alive_huge": ("Keep-Alive: timeout=" + "9" * 5_000 + ", max=" + "9" * 2_000,),
    "robots_tag": ("X-Robots-Tag: " + "all, " * 1_500,),
    "retry_after_huge": ("Retry-After: " + "9" * 5_000,),
    "set_cookie_long": ("Set-Cookie: a=" + "b" * 7_000,),
    "set_cookie_semicolons": ("Set-Cookie: a=b" + ";" * 7_000,),
    "set_cookie_too_long": ("Set-Cookie: a=" + "b" * 9_000,),
    "strict_transport": ("Strict-Transport-Security: max-age=" + "9" * 5_000,),
}

#: A ``robots.txt`` each, of a server of its own.
ROBOTS: Mapping[str, Body] = {
    "sitemap_open_bracket": lambda: "Sitemap: http://[\nSitemap: /sitemap.xml\nSitemap: http://[::1%25a]/x\n",
    "sitemaps_many": lambda: _numbered("Sitemap: /bulk/s#.xml\n", 1_000),
    "agents_and_rules": lambda: _numbered("User-agent: a#\n", 1_000) + _numbered("Disallow: /private#\n", 4_000),
    "rules": lambda: "User-agent: *\n" + _numbered("Disallow: /private#\n", 20_000),
    "stars_many": lambda: "User-agent: *\n" + "Disallow: /*" * 10 + "\n" + _numbered("Disallow: /*#*x*y*z$\n", 2_000),
    "delay_digits": lambda: "User-agent: *\nCrawl-delay: 0." + "0" * 100_000 + "\n",
    "marks": lambda: "\ufeff" * 100_000,
}

_URLSET = '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
_BILLION = (
    '<?xml version="1.0"?><!DOCTYPE u ['
    + '<!ENTITY a0 "http://h.test/">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    + "]><urlset><url><loc>&a9;</loc></url></urlset>"
)

#: Sitemaps of one server.
SITEMAPS: Mapping[str, Body] = {
    "urls": lambda: _URLSET + _numbered("<url><loc>ROOT/bulk/s#</loc></url>", 5_000),
    "deep": lambda: _URLSET + "<a>" * 100_000,
    "bomb": lambda: _BILLION,
    "index_of_itself": lambda: "<sitemapindex><sitemap><loc>ROOT/index_of_itself</loc></sitemap></sitemapindex>",
    "index_many": lambda: "<sitemapindex>" + _numbered("<sitemap><loc>ROOT/bulk/m#.xml</loc></sitemap>", 1_000),
    "gzip_bomb": lambda: bomb(100_000_000),
    "gzip_cut": lambda: gzip.compress(b"<urlset>" * 1_000)[:-9],
}


def _sitemaps() -> Answers:
    """The server of ``SITEMAPS``; its own address is written into them when it is known."""
    return {
        "/robots.txt": (response(_numbered("", 0) + "".join(f"Sitemap: /{name}\n" for name in SITEMAPS)),),
        **{f"/{name}": _Lazy(body, "Content-Type: application/xml") for name, body in SITEMAPS.items()},
    }


def _in_groups(scripts: Mapping[str, Script], name: str, size: int = 12) -> dict[str, Answers]:
    """Servers that have ``scripts``, ``size`` each, and a home page that links to all of them."""
    items = list(scripts.items())
    groups = [items[start : start + size] for start in range(0, len(items), size)]
    return {
        f"{name}{number}": {
            "/": (response(page(*(f"/{path}" for path, _ in group))),),
            **{f"/{path}": script for path, script in group},
        }
        for number, group in enumerate(groups)
    }


def servers() -> dict[str, Answers]:
    """Name -> server."""
    return {
        **_in_groups({name: _Lazy(body) for name, body in MARKUP.items()}, "markup"),
        **_in_groups({name: _in_link(body) for name, body in HREFS.items()}, "href"),
        **_in_groups({name: _in_base(body) for name, body in HREFS.items()}, "base", 40),
        **_in_groups({name: _in_canonical(body) for name, body in HREFS.items()}, "canonical", 40),
        **_in_groups({name: _in_refresh(body) for name, body in HREFS.items()}, "refresh", 40),
        **_in_groups(_redirects(), "redirect", 20),
        **_in_groups({name: _charset(name) for name in CHARSETS}, "charset"),
        **_in_groups({name: _encoding(name) for name in ENCODINGS}, "encoding"),
        **_in_groups({name: (response(HTML, *lines),) for name, lines in HEADERS.items()}, "header"),
        **{
            f"robots_{name}": {"/robots.txt": _Lazy(body, "Content-Type: text/plain"), "/": (response(HTML),)}
            for name, body in ROBOTS.items()
        },
        "sitemaps": {**_sitemaps(), "/": (response(HTML),)},
    }


#: How many inputs there are.
COUNT = 4 * len(HREFS) + len(_redirects()) + sum(map(len, (MARKUP, CHARSETS, ENCODINGS, HEADERS, ROBOTS, SITEMAPS)))
