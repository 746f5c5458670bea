"""Types of answers, as browsers read them; whole pages are compared with Chromium in ``crawl/test_as_browsers.py``."""

import pytest
from scrapy.http import Headers, Response

from crawlproject.download.content_types import ContentType, declared, is_xhtml, parser_of, sniffed

XHTML = b"http://www.w3.org/1999/xhtml"


@pytest.mark.parametrize(
    ("values", "essence", "charset"),
    [
        (["text/html,text/html"], "text/html", ""),
        (["text/html, charset=utf-8"], "text/html", ""),
        (["text/html charset=utf-8"], "text/html", "utf-8"),
        (["charset=utf-8"], "", "utf-8"),
        (["html"], "", ""),
        (["*/*"], "", ""),
        (["Unknown/Unknown"], "", ""),
        (["text/html, */*"], "text/html", ""),
        (["text/html;charset=x,text/html"], "text/html", "x"),
        (["text/html;charset=x,text/plain,text/html"], "text/html", ""),
        (['text/html; a="b,text/plain"'], "text/html", ""),
        (["TEXT/HTML ; CharSet = 'koi8-r'"], "text/html", "koi8-r"),
        (["text/html", "text/plain"], "text/plain", ""),
        (["text/html", "nonsense"], "text/html", ""),
        (["text/html:", "a/b/c", ";", ""], "", ""),
        ([], "", ""),
    ],
)
def test_the_last_valid_type_counts(values: list[str], essence: str, charset: str) -> None:
    """Of all headers; a charset only of this type, or of the same one before."""
    assert declared(Headers({"Content-Type": values} if values else {})) == ContentType(essence, charset)


@pytest.mark.parametrize(
    ("body", "essence"),
    [
        (b"<html>", "text/html"),
        (b"\r\n\t <!doctype HTML >", "text/html"),
        (b"<!--", "text/html"),
        (b"<p>", "text/html"),
        (b"<pre>", "text/plain"),
        (b"<?xml version='1.0'?>", "text/xml"),
        (b"\xef\xbb\xbf\x00", "text/plain"),
        (b"a\x00b", "application/octet-stream"),
        (b"%PDF-1.7", "application/octet-stream"),
        (b"", "text/plain"),
    ],
)
def test_an_undeclared_type_is_told_by_the_first_bytes(body: bytes, essence: str) -> None:
    assert sniffed(body) == essence


@pytest.mark.parametrize(
    ("body", "is_page"),
    [
        (b"<html xmlns='%s'/>" % XHTML, True),
        (
            b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- <a> --><!DOCTYPE html [<!ENTITY a '>'>]><h:html xmlns:h='%s'/>"
            % XHTML,
            True,
        ),
        (b"<rss><html xmlns='%s'/></rss>" % XHTML, False),
        (b"<html/>", False),
        (b"<?" * 100_000, False),
        (b"<!--" * 100_000, False),
        (b"", False),
    ],
)
def test_xml_is_xhtml_by_its_root(body: bytes, is_page: bool) -> None:
    assert is_xhtml(body) == is_page
    for kind in ("application/xml", "text/xml"):
        headers = {"Content-Type": kind}
        assert parser_of(Response("http://h.test/", headers=headers, body=body)) == ("xhtml" if is_page else "xml")
