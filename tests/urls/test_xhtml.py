"""XHTML written as HTML; whole pages are compared with Chromium in ``crawl/test_as_browsers.py``."""

import tracemalloc

import pytest

from crawlproject.urls.extract import extract
from crawlproject.urls.xhtml import MAX_XHTML, as_html

ROOT = '<html xmlns="http://www.w3.org/1999/xhtml">'
LAUGHS = "".join(f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, 12))


@pytest.mark.parametrize(
    "text",
    [
        f"<!DOCTYPE html [<!ENTITY l0 'lol'>{LAUGHS}]>{ROOT}<p>&l11;</p></html>",
        f"<!DOCTYPE html [<!ENTITY % p 'a'> %p;]>{ROOT}</html>",
        f"<!DOCTYPE html [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>{ROOT}&x;</html>",
        f"<!DOCTYPE html [<!ATTLIST p a CDATA '&l;'><!ENTITY l 'x'>]>{ROOT}<p/></html>",
    ],
)
def test_entities_are_never_expanded(text: str) -> None:
    """A page that declares any is no XHTML to us."""
    tracemalloc.start()
    try:
        assert as_html(text) is None
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    [
        f"{ROOT}<p></html>",
        f"{ROOT}&nbsp;</html>",
        "<html><p/></html>",
        f"{ROOT}\ud800</html>",
        "",
        f"{ROOT}{' ' * MAX_XHTML}</html>",
    ],
)
def test_what_is_not_well_formed_is_left_to_the_html_parser(text: str) -> None:
    """Or not of XHTML's namespace, or too long."""
    assert as_html(text) is None


@pytest.mark.parametrize(
    "script", ["</script><a href='/no'>", "<!-- <script>", "</SCRIPT", "<![CDATA[</script><a href='/no'>]]>"]
)
def test_scripts_end_where_they_end(script: str) -> None:
    """Even if an HTML parser would see another end in them."""
    inside = script if script.startswith("<![") else script.replace("&", "&amp;").replace("<", "&lt;")
    html = as_html(f"{ROOT}<body><script>{inside}</script><a href='/yes'>b</a></body></html>")
    assert html is not None
    assert extract(html, "http://h.test/").hrefs == ["/yes"]


def test_other_namespaces() -> None:
    """Links of SVG are links; elements of an unknown namespace leave their text."""
    svg = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:l="http://www.w3.org/1999/xlink"><title>no</title>'
    body = f'{svg}<a l:href="/svg"/></svg><b:a xmlns:b="urn:b" href="/no">text</b:a>'
    html = as_html(f"{ROOT}<head><title>t</title></head><body>{body}</body></html>")
    assert html is not None
    page = extract(html, "http://h.test/", with_text=True)
    assert (page.title, page.hrefs) == ("t", ["/svg"])
    assert "text" in (page.text or "")
