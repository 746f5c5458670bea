"""Plain CSS by lexbor's tree gives what lxml gives, for less."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from crawlproject.records import rules as rule_module
from crawlproject.records.nesting import nested_alike
from crawlproject.records.quick_css import quick_css
from crawlproject.records.rule_file import read_site
from testbed.rules import RULES, SITES, Site, localized, pages_of
from tests.crawl.hostile_corpus import MARKUP
from tests.records.css_ways import PLAIN, both_ways, own_selectors, rules_of

URL = "http://shop.example/book/1"


@pytest.mark.parametrize(
    "expression",
    ["", "*", "a, b", "a ~ b", "a:not(b)", "p:first-child", "a b > c", "x-y", "a[b='']", "[", "tr > td", "tbody td",
     "a::attr(hReF)", "a::before", "ns|a", "svg", "table > caption", "html p", "p " * 9, "p " * 2_000],
)  # fmt: skip
def test_what_is_not_plain_is_left_to_lxml(expression: str) -> None:
    assert quick_css(expression) is None


def test_plain_selectors_of_a_rule() -> None:
    """One that is not plain, or ``>`` within rows, leaves the whole record to lxml."""
    assert all(quick_css(one) is not None for one in PLAIN)
    for selectors, head, is_quick in (
        (("h1", "div > p"), "", True),
        (("h1", "a:not(b)"), "", False),
        (("b", "i a"), "rows = 'li'", True),
        (("b > i",), "rows = 'li'", False),
        (("b",), "rows = { xpath = '//li' }", False),
    ):
        assert rules_of(selectors, head).records[0].is_quick == is_quick, (selectors, head)
    assert rule_module.RecordRule("r", ()).is_quick


PAGES = {
    "plain": "<!doctype html><title>T</title><h1> a <b>b</b></h1><div class='x y'><p>one<p class=x title=t>two"
    "<a href=/a rel='up next'>l</a></div>",
    "nested": "<div><div class=x><p>1<div class=x><p>2<i>3</i></div></div></div><ul><li>a<ul><li><b>c</b></ul></ul>",
    "texts between": "<div>a<div>b<!-- x -->c<div>d</div>e<p>f<span>g</span>h</p></div>i</div><div><p>j</p>k<div>l",
    "tables": "<table class=x><caption>c<tr><td>a<td><a href=/x>b</a><tr class=x><td><table><tr><td>in</table></table>",
    "case": "<DIV CLASS=x><P Class=X ID=Y>a</P><p id=y>b</p><a HREF='/X' REL=NEXT>c</a><a rel=next href=q>d</a></DIV>",
    "no values": "<a href>x</a><a href=''>y</a><p title>z<p title=''>",
    "references": "<p title='&lt;&eacute;'>a&amp;b &nbsp;c&#8364;&copy &notit; &#x80;</p><a href='?a=1&copy=2'>x</a>",
    "scripts": "<p>a<script>var x='<p>no</p>'</script><style>p{}</style>b</p><textarea>a<b>c</b></textarea>",
    "comments": "<p>a<!-- x --> b<!-- > --></p><div><!--[if IE]><p>no</p><![endif]--><p>yes</p></div>",
    "no end": "<div><p>b<p>c<ul><li>c<li>d<b>e</b><dl><dt>x<dd>y<dt>z</dl>",
    "foreign words": "<h1>标题</h1><p class=x>日本語 \U0001f600</p><a href=/é>ü</a>",
    "breaks": "<pre>\n a</pre><textarea>\n b</textarea><p>x\r\ny",
    "xhtml": "<?xml version='1.0'?><!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.1//EN' 'x'><html><head><title>T</title>"
    "</head><body><p class='x'>a<br/>b</p></body></html>",
}


@pytest.mark.parametrize("name", PAGES)
def test_both_ways_are_equal(name: str) -> None:
    """For each selector by itself, on pages as people write them."""
    for selector in PLAIN:
        for head in ("", "rows = 'li'", "rows = '.x'"):
            quick, slow, _ = both_ways(rules_of((selector,), head).records[0], PAGES[name])
            assert quick == slow, (selector, head)


@pytest.mark.parametrize(
    "page",
    [
        "<div><p>one<figure>two</figure>three</p>four</div>",
        "<div><p>one<section>two</section></div>",
        "<div><ul><form><li>one</li></form><li>two</li></ul></div>",
        "<div><a name=x>one<div><a href=y>two</a></div></div>",
        "<html><body><p>one</p></body></html><p>two</p>",
        "<?xml version='1.0'?><rss><channel><atom:link href=x/><link>y</link></channel></rss>",
        "<div><p>one</br>two</p></div>",
        "<div><div class=x/><p>one</p></div>",
        "<div><video><source src=x><p>one</p></video></div>",
    ],
)
def test_pages_with_errors_as_people_make_them(page: str) -> None:
    """Found on real pages; for selectors of their own elements, too."""
    own = [one for one in own_selectors(page, 20) if quick_css(one) is not None]
    for selector in (*PLAIN, *own):
        quick, slow, is_quick = both_ways(rules_of((selector,)).records[0], page)
        assert quick == slow, selector
        assert not is_quick


def test_switches_are_left_to_lxml() -> None:
    """It gives them their name as value."""
    for selector in ("script::attr(defer)", "input[checked='checked']"):
        assert quick_css(selector) is None
    assert quick_css("input[checked]") is not None


def test_pages_that_differ_are_left_to_lxml() -> None:
    """Rows of tables below an element that HTML5 inserts, NUL."""
    row = rules_of((".x > .y",)).records[0]
    for page in ("<table class=x><tr class=y><td>a", "<p>a\0b"):
        quick, slow, is_quick = both_ways(row, page)
        assert quick == slow
        assert not is_quick


@pytest.mark.parametrize(
    "page",
    [
        "<pre>\na</pre><p>b",
        "<div class=x>a<pre>\nb</pre></div>",
        "<div class=x>a <pre>\nb</pre></div>",
        "<div class=x><b>a</b><!-- c --><pre class=y>\n\nb</pre></div>",
        "<div class=x><textarea>\r\na</textarea><listing>\nb</listing></div>",
        "<div class=x><pre>\n<b>a</b></pre></div>",
    ],
)
def test_line_breaks_that_html5_removes(page: str) -> None:
    """Those that matter make the page read by lxml, those that are white space among white space do not."""
    for selector in ("pre", "pre::text", "*.x::text", "div", ".x", "b", "textarea", "listing"):
        for more in ("", ", type = 'raw'", ", regex = '(?s)^.'"):
            fields = f'f = {{ css = "{selector}", many = true{more} }}'
            text = f'seeds = ["{URL}"]\n[records.r]\n[records.r.fields]\n{fields}\n'
            quick, slow, _ = both_ways(read_site(text, Path("x.toml")).records[0], page)
            assert quick == slow, fields


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_documentation(site: Site) -> None:
    """The rules in docs/rules, and plain selectors, on the saved pages of three sites."""
    own = read_site(localized(RULES / f"{site.name}.toml", site.url), Path(f"{site.name}.toml"))
    plain = rules_of(PLAIN).records[0]
    quickly = 0
    for url, body in pages_of(site):
        text = body.decode("utf-8", "replace")
        made = (one for one in own_selectors(text, 8) if quick_css(one) is not None)
        for rule in (*own.records_on(url), plain, *(rules_of((one,)).records[0] for one in made)):
            quick, slow, is_quick = both_ways(rule, text, url)
            assert quick == slow, url
            quickly += is_quick
    assert quickly or nested_alike is None


@pytest.mark.parametrize("name", MARKUP)
def test_hostile_page(name: str) -> None:
    """Bounded time; pages of any shape give the same, except those whose errors both parsers repair differently."""
    body = MARKUP[name]()
    text = (body if isinstance(body, str) else body.decode("utf-8", "replace"))[:50_000]
    rule = rules_of(("h1", "p a", ".x .y", "a::attr(href)", "li p", "div > p", "td")).records[0]
    started = time.thread_time()
    (quick, _), (slow, problems), _ = both_ways(rule, text)
    assert time.thread_time() - started < 10  # 0.01 to 0.3 s alone on a machine
    refused = {problem.name for problem in problems}  # too slow for lxml
    for field in rule.fields:
        if f"r.{field.name}" not in refused:
            values = [
                [row.get(field.name) for row in rows] or [[] if field.is_list else None] for rows in (quick, slow)
            ]
            assert values[0] == values[1] or name in REPAIRED_DIFFERENTLY, field


REPAIRED_DIFFERENTLY = frozenset(("anchors_nested",))
