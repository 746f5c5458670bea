"""Pages in odd forms are read as Chromium reads them: the same title, links and words."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

import pytest

from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.nasty_server import response, running
from tests.monitor.browser import browser

HTML = "text/html; charset=utf-8"
XHTML = "application/xhtml+xml; charset=utf-8"
NAMESPACE = 'xmlns="http://www.w3.org/1999/xhtml"'
STRICT = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'


def _page(body: str = "", title: str = "page") -> str:
    head = f"<!DOCTYPE html><html><head><title>{title}</title></head>"
    return f"{head}<body>{body}<p>end <a href='/end'>of it</a></p></body></html>"


def _xhtml(head: str = "", body: str = "", before: str = "") -> str:
    return f"{before}<html {NAMESPACE}><head>{head}</head><body>{body}<p>end <a href='/end'>of it</a></p></body></html>"


def _shadow(content: str, mode: str = "open", host: str = "div", light: str = "") -> str:
    return _page(f"<{host}><template shadowrootmode={mode}>{content}</template>{light}</{host}>")


LINK = "<p>in <a href='/in'>the shadow</a></p>"

#: Name -> Content-Type, body.
PAGES: dict[str, tuple[str, str | bytes]] = {
    # Declarative shadow DOM
    "open": (HTML, _shadow(LINK)),
    "closed": (HTML, _shadow(LINK, "closed")),
    "mode in capitals": (HTML, _shadow(LINK, "'OPEN'")),
    "own element": (HTML, _shadow(LINK, host="my-part")),
    "slot": (HTML, _shadow(f"{LINK}<slot></slot>", light="<a href='/light'>light</a>")),
    "nested": (HTML, _shadow(f"<section><template shadowrootmode=closed>{LINK}</template></section>")),
    "nested five times": (HTML, _page("<div><template shadowrootmode=open>" * 5 + LINK + "</template></div>" * 5)),
    "two in a host": (HTML, _shadow(f"{LINK}", light="<template shadowrootmode=open><a href='/2'>2</a></template>")),
    "no mode": (HTML, _shadow(LINK, "''")),
    "no host": (HTML, _shadow(LINK, host="ul")),
    "plain template": (HTML, _page(f"<template>{LINK}</template>")),
    "shadow in a plain template": (
        HTML,
        _page(f"<template><div><template shadowrootmode=open>{LINK}</template></div></template>"),
    ),
    "plain template in a shadow": (HTML, _shadow(f"<template>{LINK}</template>")),
    # XHTML
    **{
        f"self-closed {name}": (XHTML, _xhtml(head, body))
        for name, head, body in (
            ("script", "<title>t</title><script src='/s.js'/>", "<script/>"),
            ("style", "<style/><title>t</title>", ""),
            ("title", "<title/>", ""),
            ("textarea", "<title>t</title>", "<form><textarea/></form>"),
            ("iframe", "<title>t</title>", "<iframe/>"),
            ("div and a", "<title>t</title>", "<div/><a/><p/>"),
        )
    },
    "CDATA": (XHTML, _xhtml("<title><![CDATA[a < b]]></title>", "<p><![CDATA[x <a href='/no'>y</a>]]></p>")),
    "script in CDATA": (
        XHTML,
        _xhtml("<title>t</title>", "<script><![CDATA[if (1 < 2) '</p><a href=/no>';]]></script>"),
    ),
    "prefix": (
        XHTML,
        '<h:html xmlns:h="http://www.w3.org/1999/xhtml"><h:head><h:title>t</h:title></h:head>'
        '<h:body><h:p>end <h:a href="/end">of it</h:a></h:p><a href="/no">none</a></h:body></h:html>',
    ),
    "entities of the DTD": (XHTML, _xhtml("<title>a&eacute;</title>", "<p>b&nbsp;c &copy;</p>", STRICT)),
    "declaration": (XHTML, _xhtml("<title>t</title>", before='<?xml version="1.0" encoding="utf-8"?>')),
    "application/xml": ("application/xml", _xhtml("<title/>", "<script/>")),
    "text/xml": ("text/xml", _xhtml("<title/>", "<script/>", '<?xml version="1.0"?><!-- > -->')),
    # Types
    **{
        f"type {value!r}": (value, _page())
        for value in (
            "text/html,text/html",
            "text/html, charset=utf-8",
            "text/html charset=utf-8",
            "charset=utf-8",
            "html",
            "unknown/unknown",
            "application/unknown",
            "*/*",
            "TEXT/HTML",
            "text/html; charset=utf-8; charset=utf-16",
            "text/plain, text/html",
            "text/html;",
            "text/html, */*",
            "text/html;charset=utf-8,text/html",
            "",
        )
    },
    "type 'text/html, text/plain'": ("text/html, text/plain", "words <a href='/no'>none</a>"),
    "unknown text": ("unknown/unknown", "words <a href='/no'>none</a>"),
    "unknown comment": ("unknown/unknown", "<!-- c -->" + _page()),
    "unknown paragraph": ("*/*", "\n <P >a <a href='/a'>b</a>"),
    "unknown list": ("*/*", "<ul><li><a href='/no'>b</a></ul>"),
    # Encodings
    "utf-16 without a mark": ("text/html; charset=utf-16", _page(title="Größe").encode("utf-16-le")),
    "unicode": ("text/html; charset=unicode", _page(title="Größe").encode("utf-16-le")),
    "utf-16 with the other mark": ("text/html; charset=utf-16", b"\xfe\xff" + _page(title="Größe").encode("utf-16-be")),
    "utf-16be": ("text/html; charset=utf-16be", _page(title="Größe").encode("utf-16-be")),
    "utf-32": ("text/html; charset=utf-32", "<meta charset=utf-8>" + _page(title="Größe")),
    "utf-7": ("text/html; charset=utf-7", "<meta charset=utf-8>" + _page("<p>+ADw-a</p>", "Größe")),
    "charset of an earlier type": ("text/html;charset=utf-8,text/html", _page(title="Größe")),
    "two marks": (HTML, b"\xef\xbb\xbf\xef\xbb\xbf" + _page().encode()),
}


#: Of which the title counts as text here: the second mark is text, so it is in the body.
WITH_TITLE = {"two marks"}


@pytest.fixture(scope="module")
def roots() -> Iterator[dict[str, str]]:
    answers = {
        f"/{number}": (response(body, f"Content-Type: {kind}"),) for number, (kind, body) in enumerate(PAGES.values())
    }
    with running({"site": answers}) as found:
        yield {name: f"{found['site']}/{number}" for number, name in enumerate(PAGES)}


@pytest.fixture(scope="module")
def read(roots: dict[str, str]) -> dict[str, dict[str, Any]]:
    result = crawl("tests.crawl.odd_spiders.ReadingSpider", settings=IMPOLITE, pages=",".join(roots.values()))
    items = {item["url"]: item for item in result.items}
    assert set(items) == set(roots.values()), result.log
    return items


@pytest.fixture(scope="module")
def shown(roots: dict[str, str]) -> dict[str, dict[str, Any]]:
    """URL -> title, links and words that Chromium shows, by its accessibility tree: shadow roots included."""
    found = {}
    with browser() as running_browser:
        page = running_browser.new_page()
        session = page.context.new_cdp_session(page)
        for url in roots.values():
            page.goto(url)
            nodes = _in_order(session.send("Accessibility.getFullAXTree")["nodes"])
            found[url] = {"title": page.title(), "hrefs": _links(nodes), "words": _words(nodes)}
    return found


def _in_order(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The nodes of a tree, which come level by level."""
    by_id, found, left = {node["nodeId"]: node for node in nodes}, [], [nodes[0]["nodeId"]]
    while left:
        node = by_id[left.pop()]
        found.append(node)
        left += [child for child in reversed(node.get("childIds", ())) if child in by_id]
    return found


def _links(nodes: list[dict[str, Any]]) -> list[str]:
    links = [node for node in nodes if not node["ignored"] and node["role"]["value"] == "link"]
    return [each["value"]["value"] for node in links for each in node["properties"] if each["name"] == "url"]


def _words(nodes: list[dict[str, Any]]) -> list[str]:
    texts = [node["name"]["value"] for node in nodes if not node["ignored"] and node["role"]["value"] == "StaticText"]
    return " ".join(texts).split()


@pytest.mark.parametrize("name", PAGES)
def test_page_is_read_as_chromium_shows_it(
    roots: dict[str, str], read: dict[str, dict[str, Any]], shown: dict[str, dict[str, Any]], name: str
) -> None:
    """Links in the order of the page."""
    url = roots[name]
    ours, theirs = read[url], shown[url]
    hrefs = [urljoin(url, href) for href in ours["hrefs"]]
    if name in WITH_TITLE:
        ours["words"].remove(ours["title"])
    assert (ours["title"], hrefs, ours["words"]) == (theirs["title"], theirs["hrefs"], theirs["words"])
