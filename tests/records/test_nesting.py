"""Pages of which the extension says that both parsers make the same tree: they do, and usual pages are among them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree
from selectolax.lexbor import LexborHTMLParser

from crawlproject.records.nesting import KINDS, MAX_DEPTH, Same, nested_alike
from tests.records.css_ways import both_ways, rules_of

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

if nested_alike is None:
    pytest.skip("the extension in native/ is not installed: scripts/install", allow_module_level=True)

HEAD, END = "<!DOCTYPE html><html><head><title>t</title></head><body>", "</body></html>"
NAMES = [
    *(name for name in KINDS if name not in ("html", "head", "body")),
    *("article", "audio", "canvas", "cite", "custom-element", "figure", "ins", "mark", "o:p", "sub", "video"),
]
VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "frame",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    ]
)
#: Where an element belongs.
PLACES = {
    "caption": "table", "tbody": "table", "thead": "table", "tfoot": "table", "tr": "table", "colgroup": "table",
    "col": "table", "td": "table tr", "th": "table tr", "li": "ul", "dd": "dl", "dt": "dl", "option": "select",
    "optgroup": "select",
}  # fmt: skip


def same(text: str) -> Same:
    assert nested_alike is not None
    return Same(nested_alike(text))


def by_lexbor(text: str) -> str:
    return "".join(_lexbor(LexborHTMLParser(text, encoding=False).root))


def _lexbor(node: LexborNode | None) -> list[str]:
    parts: list[str] = []
    for child in [] if node is None else node.iter(include_text=True):
        if child.is_text_node:
            parts.append(child.text_content or "")
        elif child.tag in ("tbody", "colgroup"):
            parts += _lexbor(child)
        elif not child.is_comment_node:
            parts += [f"<{child.tag}>", *_lexbor(child), "</>"]
    return parts


def by_libxml2(text: str) -> str:
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    return "".join(_libxml2(etree.fromstring(text.encode(), parser)))


def _libxml2(element: etree._Element) -> list[str]:
    parts = [element.text or ""]
    for child in element:
        is_seen = child.tag not in ("tbody", "colgroup")
        parts += [f"<{child.tag}>"] * is_seen + _libxml2(child) + ["</>"] * is_seen + [child.tail or ""]
    return parts


def element(name: str, content: str) -> str:
    return f"<{name}>{content}" if name in VOID else f"<{name}>{content}</{name}>"


def in_place(name: str, text: str) -> str:
    for parent in reversed(PLACES.get(name, "").split()):
        text = element(parent, text)
    return text


@pytest.mark.parametrize("between", ["", "span", "div", "b", "ul li", "p"])
def test_all_pairs_of_elements(between: str) -> None:
    """One within the other, with an element between; with end tags, and without those of the outer one."""
    accepted = 0
    for outer, inner in product(NAMES, NAMES):
        if outer in VOID:
            continue
        content = element(inner, "")
        for name in reversed(between.split()):
            content = element(name, content)
        for text in (element(outer, content), f"<{outer}>{content}", f"<{outer}>{element(inner, 'x')}"):
            page = f"{HEAD}<div>1{in_place(outer, text)}2</div>{END}"
            if same(page) in (Same.YES, Same.YES | Same.BUT_PARTS):
                accepted += 1
                assert by_lexbor(page) == by_libxml2(page), page
    assert accepted > 3_000


TOKENS = st.sampled_from(
    [
        *(f"<{name}>" for name in NAMES), *(f"</{name}>" for name in NAMES if name not in VOID), "<p>", "</p>", "<li>",
        "</li>", "<td>", "<tr>", "<table>", "</table>", "<div>", "</div>", "<br/>", "<source a=b/>", "<wbr />",
        "<a b='>'>", "</a>", '<b c="<" d>', "</b>", "x", " ", "<", "1 < 2", "&lt;", "<!-- c -->", "<!-->", "<!--->",
        "<!-- --!> -->", "<!x>", "<?x?>", "</>", "<![CDATA[x]]>", "<div/>", "<p/ >", "<a b=c'>", "</p x>", "<P>",
        "</P>", "<script><!--<script></script>", "</body>", "<body>", "<svg><g/></svg>",
        "<svg><title>&amp;</title></svg>",
    ]
)  # fmt: skip


@given(st.lists(TOKENS, max_size=12))
@example(["<meta>", "<applet>", "</applet>"])
@example(["<p>", "<title>", "</title>", "</p>"])
def test_any_tags(tokens: list[str]) -> None:
    page = HEAD + "".join(tokens) + END
    if same(page) == Same.YES:
        assert by_lexbor(page) == by_libxml2(page), page


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<title>T</title><h1>a <b>b</b></h1><p>c<p>d<ul><li>e<li>f</ul>", Same.YES),
        (HEAD + "<p>a<table></table>" + END, Same(0)),
        (HEAD + "<table><thead><tr><th>a<tbody><tr><td>b<td>c</table>" + END, Same.YES),
        (HEAD + "<table><tr><td>b</table>" + END, Same.YES | Same.BUT_PARTS),
        (HEAD + "<pre>\na</pre>" + END, Same.YES | Same.BUT_BREAKS),
        (HEAD + "<p>a<ul><li>b</ul></p>" + END, Same.YES | Same.BUT_PARAGRAPHS),
        (HEAD + "<script>'<p>' + '</a>'</script>" + END, Same.YES),
        (HEAD + "<p>a" + END + "<p>b", Same(0)),
        (HEAD + "<div>" * MAX_DEPTH + "</div>" * MAX_DEPTH + END, Same.YES),
        (HEAD + "<div>" * (MAX_DEPTH + 1) + "</div>" * (MAX_DEPTH + 1) + END, Same(0)),
        ("", Same.YES),
    ],
)
def test_kinds_of_pages(page: str, expected: Same) -> None:
    assert same(page) == expected


@pytest.mark.parametrize("cut", [*range(0, 200, 7)])
def test_pages_that_end_anywhere(cut: int) -> None:
    """No index is out of range."""
    page = (
        f"<!doctype html><html><head><title>é</title></head><body><p class='x y'>a<!-- b --></p><a href=x>\ud800{END}"
    )
    assert isinstance(same(page[:cut]), Same)


def test_empty_paragraphs() -> None:
    """``</p>`` without ``<p>`` matters to selectors of paragraphs and of what follows one."""
    page = HEAD + "<div><p>a<ul class=x><li>b</ul></p><i>c</i></div>" + END
    for selector, is_quick in (("p", False), ("ul + i", False), ("p.x", True), ("li", True), ("div > i", True)):
        found = both_ways(rules_of((selector,)).records[0], page)
        assert found.quick == found.slow, selector
        assert found.is_quick == is_quick, selector


def test_inserted_parts_of_tables() -> None:
    for table, is_quick in (("<tr><td>a", False), ("<tbody><tr><td>a", True)):
        found = both_ways(
            rules_of((".x > .y",)).records[0], f"{HEAD}<div class=x><i class=y>b</i></div><table>{table}</table>"
        )
        assert found.quick == found.slow
        assert found.is_quick == is_quick
