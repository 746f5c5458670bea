"""Hostile inputs of every kind, made by code: what is in a page, in front of it, and around it.

Inputs of one kind are paths of a few servers, linked from their home pages; each robots.txt has a server of its own.
"""

from __future__ import annotations

import codecs
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
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"


def _numbered(text: str, count: int, joint: str = "") -> str:
    """``text`` with each number in place of ``#``."""
    return joint.join(text.replace("#", str(number)) for number in range(count))


def _link(href: str) -> str:
    return f'<a href="{href}">x</a>'


#: Markup that is expensive to parse, or to look at afterwards.
MARKUP: Mapping[str, Body] = {
    "equal_links": lambda: _link("/x") * 100_000,
    "different_links": lambda: _numbered(_link("/bulk/l#"), 60_000),
    "links_with_queries": lambda: _numbered(_link("/bulk?a=#&b=#&PHPSESSID=#"), 3_000),
    "links_with_escapes": lambda: _numbered(_link("/bulk/%61%62%7e#"), 3_000),
    "links_idn": lambda: _numbered(_link("http://b\u00fccher#.test/"), 100),
    "links_with_fragments": lambda: _numbered(_link("/bulk/f#" + "&#35;#"), 3_000),
    "links_in_a_calendar": lambda: _numbered(_link("/bulk/calendar/2024/01/#"), 3_000),
    "lists": lambda: "<dl><dd><dt>" * 40_000,
    "paragraphs": lambda: "<p>x" * 400_000,
    "tables": lambda: "<table>" * 30_000,
    "text_in_tables": lambda: "<table>x" * 30_000,
    "fonts_with_attributes": lambda: _numbered("<font size=#>", 20_000),
    "formatting_reopened": lambda: _numbered("<i id=#><p>", 5_000),
    "formatting_then_divisions": lambda: _numbered("<b id=#>", 3_000) + "<div>x</div>y" * 10_000,
    "misnested": lambda: "<b><i><div></b></i>" * 50_000,
    "anchors_nested": lambda: "<a href=/x><b>" * 100_000,
    "forms": lambda: "<form><p>" * 30_000,
    "frames": lambda: "<frameset>" * 30_000,
    "templates": lambda: "<template>" * 30_000,
    "drawings": lambda: "<svg><g>" * 30_000,
    "formulas": lambda: "<math><mi><annotation-xml>" * 50_000,
    "unknown_elements": lambda: _numbered("<x#>", 60_000),
    "end_tags": lambda: "</p></br></x>" * 100_000,
    "attributes": lambda: "<a " + _numbered("a#=1 ", 300_000) + "href=/x>x</a>",
    "attributes_of_many": lambda: ("<a " + _numbered("a#=1 ", 900) + "href=/x>x</a>") * 200,
    "attributes_behind_brackets": lambda: ("<p x='<' " + _numbered("a# ", 900) + ">") * 150,
    "attributes_of_quotes": lambda: "<p " + _numbered("a#='' ", 990) + ">" + _numbered("<p b#=''c#=''>", 40_000),
    "elements_named_differently": lambda: _numbered("<x#></x#>", 60_000),
    "attribute_huge": lambda: f'<a title="{"a " * 1_000_000}" href=/x>x</a>',
    "attribute_equals": lambda: "<p " + "= " * 500_000,
    "tags_in_a_long_tag": lambda: "<a " + "b " * 3_000 + ">" + ("<a" * 1_999 + ">") * 700,
    "brackets_and_letters": lambda: "<a" * 500_000,
    "comment_open": lambda: "<!--" + "x" * 1_000_000,
    "comment_dashes": lambda: "<!--" + "-" * 1_000_000,
    "comments": lambda: "<!---->" * 100_000,
    "script_in_comment": lambda: "<script><!--<script>" * 30_000,
    "scripts": lambda: "<script></script>" * 50_000,
    "textarea_open": lambda: "<textarea>" + "</textare" * 100_000,
    "title_open": lambda: "<title>" + "x " * 500_000,
    "title_of_nuls": lambda: "<title>" + "\0" * 3_000_000,
    "attribute_of_nuls": lambda: '<a title="' + "\0" * 3_000_000 + '" href=/x>x</a>',
    "plaintext": lambda: "<plaintext>" + "<a href=/x>" * 100_000,
    "entities": lambda: "&amp;" * 600_000,
    "entities_malformed": lambda: "&#x110000;&#0;&#xD800;&notanentity" * 100_000,
    "metas": lambda: '<meta name="robots" content="index">' * 50_000,
    "meta_content": lambda: f'<meta name="robots" content="{"index, " * 400_000}">',
    "bases": lambda: _numbered('<base href="/b#/">', 3_000) + _link("x"),
    "text": lambda: "<p>" + "word and " * 500_000,
    "text_without_spaces": lambda: "x" * 1_000_000,
    "text_of_spaces": lambda: " " * 1_000_000 + _link("/x"),
    "text_of_nuls": lambda: "\0" * 3_000_000,
    "text_surrogates": lambda: ("\ud800x" * 300_000).encode("utf-8", "surrogatepass"),
    "numbers": lambda: "<title>1</title>" + "9 " * 1_000_000,
}

#: References: each is a link, a base, a canonical address, the target of a refresh, and of a redirect if it fits.
HREFS: Mapping[str, Body] = {
    "dots_in_host": lambda: "http://a" + "." * 100_000 + "b/",
    "megabyte_path": lambda: "/" + "a" * 1_000_000,
    "megabyte_query": lambda: "/?" + "a=b&" * 250_000,
    "megabyte_host": lambda: "http://" + "a" * 1_000_000 + "/",
    "megabyte_port": lambda: "http://h.test:" + "0" * 1_000_000 + "80/",
    "megabyte_spaces": lambda: " " * 1_000_000 + "/x" + " " * 1_000_000,
    "megabyte_data": lambda: "data:text/html;base64," + "QUFB" * 250_000,
    "climbing": lambda: "../" * 5_000,
    "climbing_and_descending": lambda: "a/" * 2_500 + "../" * 2_500,
    "segments": lambda: "/a" * 8_000,
    "empty_segments": lambda: "/" * 16_000,
    "ampersands": lambda: "/?" + "&" * 16_000,
    "percents": lambda: "/" + "%" * 16_000,
    "escapes": lambda: "/" + "%61" * 5_300,
    "escapes_of_escapes": lambda: "/" + "%25" * 5_300 + "41",
    "session_ids": lambda: "/" + ";jsessionid=1" * 1_200,
    "session_in_query": lambda: "/?" + "sid=a1b2c3d4e5f6a7b8c9&" * 700,
    "tracking": lambda: "/?" + "utm_source=x&" * 1_200,
    "nested_escaped": lambda: "/?u=" + "http%253A%252F%252F" * 800,
    "digits": lambda: "/" + "1" * 16_000,
    "repeated": lambda: "/a/b" * 4_000,
    "brackets": lambda: "http://" + "[" * 16_000,
    "ipv6_long": lambda: "http://[" + ":0" * 8_000 + "]/",
    "ipv6_zone": lambda: "http://[fe80::1%25eth0]/",
    "ipv6_open": lambda: "http://[::1",
    "ipv4_octal": lambda: "http://0000000000000000000000000000377.0.0.1/",
    "ipv4_too_large": lambda: "http://4294967296/",
    "port_too_large": lambda: "http://h.test:99999/",
    "backslashes": lambda: "\\" * 16_000,
    "no_host": lambda: "http:///",
    "space_in_host": lambda: "http://a b/",
    "escaped_nul_in_host": lambda: "http://a%00b/",
    "nul": lambda: "/a\0b",
    "lone_surrogate": lambda: "/\ufffd&#xD800;",
    "idn_long": lambda: "http://" + "\u4e00" * 5_000 + ".test/",
    "idn_combining": lambda: "http://a" + "\u0301\u0316" * 4_000 + "/",
    "idn_mixed_direction": lambda: "http://\u05d0a1.test/",
    "idn_dotted_i": lambda: "http://\u0130stanbul.test/",
    "idn_punycode_overflow": lambda: "http://xn--99999999999999999.test/",
    "dotted_scheme": lambda: "\u0130leti\u015fim:x",
    "mail": lambda: "mailto:" + "a@b.test," * 5_000,
    "file": lambda: "file:///etc/passwd",
    "fragment_only": lambda: "#" * 16_000,
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
    "utf8_cut": ("utf-8", lambda: "\u4e00".encode()[:2] * 3_000_000),
    "utf16_surrogates": ("utf-16le", lambda: b"\x00\xd8" * 1_500_000),
    "utf32_garbage": ("utf-32", lambda: b"\xff" * 2_500_000),
    "utf7": ("utf-7", lambda: b"+AAAA" * 500_000),
    "iso2022_switching": ("iso-2022-jp", lambda: b"\x1b$B\x1b(B" * 400_000),
    "ebcdic": ("cp037", lambda: bytes(range(256)) * 8_000),
    "undeclared": ("", lambda: b"\xe9a" * 1_500_000),
    "undeclared_random": ("", lambda: zlib.compress(_numbered("#", 200_000).encode()) * 5),
    "nul": ("utf\0-8", lambda: HTML),
    "idna": ("idna", lambda: b"a." * 1_000_000),
    "punycode": ("punycode", lambda: b"9" * 300_000),
    "zlib": ("zlib", lambda: zlib.compress(bytes(1_000_000))),
    "unicode_escape": ("unicode_escape", lambda: b"\\N{" * 500_000),
    "utf8_sig": ("utf-8-sig", lambda: codecs.BOM_UTF8 * 500_000),
    "meta_lies": ("", lambda: b'<meta charset="utf-16">' + HTML),
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
    "gzip_cut": ("gzip", lambda: gzip.compress(HTML * 99)[:-20]),
    "gzip_twice": ("gzip, gzip", lambda: _nested(2)),
    "gzip_100_times": (", ".join(["gzip"] * 100), lambda: _nested(100)),
    "deflate_bomb": ("deflate", lambda: zlib.compress(bytes(100_000_000), 9)),
    "deflate_random": ("deflate", lambda: zlib.compress(zlib.compress(bytes(range(256)) * 100) * 5_000, 0)),
    "br_bomb": ("br", lambda: _brotli(bytes(100_000_000))),
    "zstd_bomb": ("zstd", lambda: _zstd(bytes(100_000_000))),
    "zstd_window": ("zstd", lambda: b"\x28\xb5\x2f\xfd\x00\xff" + b"\0" * 100),
    "commas": ("," * 5_000, lambda: HTML),
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
    "many": tuple(f"X-{number}: x" for number in range(90)),
    "content_type_long": ("Content-Type: text/html;" + "a=b;" * 1_500,),
    "content_type_semicolons": ("Content-Type: text/html" + ";" * 7_000,),
    "disposition": ("Content-Disposition: attachment; filename=" + "../" * 2_000,),
    "last_modified_long": ("Last-Modified: " + "9" * 7_000,),
    "last_modified_future": ("Last-Modified: Fri, 31 Dec 9999 23:59:59 -9999",),
    "etag_long": ('ETag: "' + "x" * 7_000 + '"',),
    "keep_alive_huge": ("Keep-Alive: timeout=" + "9" * 5_000 + ", max=" + "9" * 2_000,),
    "keep_alive_commas": ("Keep-Alive: " + "," * 7_000,),
    "connection_words": ("Connection: " + "x, " * 2_000,),
    "robots_tag": ("X-Robots-Tag: " + "all, " * 1_500,),
    "retry_after_huge": ("Retry-After: " + "9" * 5_000,),
    "links": ("Link: " + "</x>; rel=preload, " * 300,),
    "set_cookie_long": ("Set-Cookie: a=" + "b" * 7_000,),
    "set_cookie_many": tuple(f"Set-Cookie: c{number}=x; domain=.test; path=/" for number in range(80)),
    "set_cookie_semicolons": ("Set-Cookie: a=b" + ";" * 7_000,),
    "set_cookie_port": ('Set-Cookie: a=b; port; version="x"; domain=\xe9.', "Set-Cookie: a=b; port=99999999999"),
    "set_cookie_too_long": ("Set-Cookie: a=" + "b" * 9_000,),
    "set_cookie_max_age": ("Set-Cookie: a=b; max-age=" + "9" * 4_000,),
    "strict_transport": ("Strict-Transport-Security: max-age=" + "9" * 5_000,),
}

#: A ``robots.txt`` each, of a server of its own.
ROBOTS: Mapping[str, Body] = {
    "sitemap_open_bracket": lambda: "Sitemap: http://[\nSitemap: /sitemap.xml\nSitemap: http://[::1%25a]/x\n",
    "sitemaps_many": lambda: _numbered("Sitemap: /bulk/s#.xml\n", 1_000),
    "sitemap_long": lambda: "Sitemap: /" + "x" * 400_000,
    "agents_and_rules": lambda: _numbered("User-agent: a#\n", 1_000) + _numbered("Disallow: /private#\n", 4_000),
    "rules": lambda: "User-agent: *\n" + _numbered("Disallow: /private#\n", 20_000),
    "stars": lambda: "User-agent: *\nDisallow: /" + "*a" * 5_000 + "$\n",
    "stars_many": lambda: "User-agent: *\n" + "Disallow: /*" * 10 + "\n" + _numbered("Disallow: /*#*x*y*z$\n", 2_000),
    "line": lambda: "User-agent: *" + " " * 500_000 + "\nDisallow: /private",
    "delay_digits": lambda: "User-agent: *\nCrawl-delay: 0." + "0" * 100_000 + "\n",
    "bytes": lambda: bytes(range(256)) * 500,
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
    "entries_empty": lambda: _URLSET + "<url/>" * 300_000,
    "deep": lambda: _URLSET + "<a>" * 100_000,
    "bomb": lambda: _BILLION,
    "external": lambda: (
        '<!DOCTYPE u [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>&x;</loc></url></urlset>'
    ),
    "long_url": lambda: _URLSET + f"<url><loc>ROOT/{'x' * 2_000_000}</loc></url>",
    "index_of_itself": lambda: "<sitemapindex><sitemap><loc>ROOT/index_of_itself</loc></sitemap></sitemapindex>",
    "index_many": lambda: "<sitemapindex>" + _numbered("<sitemap><loc>ROOT/bulk/m#.xml</loc></sitemap>", 1_000),
    "gzip_bomb": lambda: bomb(100_000_000),
    "gzip_cut": lambda: gzip.compress(b"<urlset>" * 1_000)[:-9],
    "text": lambda: _numbered("ROOT/bulk/t#\n", 60_000),
    "cut": lambda: _URLSET + "<url><loc>ROOT/cut</loc></url><url><lo",
    "attributes": lambda: "<urlset " + _numbered('a#="x" ', 100_000) + "/>",
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
