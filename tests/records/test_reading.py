"""What rules make of pages: of ordinary ones, of odd ones, and of hostile ones."""

import time
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from crawlproject.records import reading as limits
from crawlproject.records.reading import OutOfTimeError, Source, read_page
from crawlproject.records.rule_file import read_site
from crawlproject.records.rules import Reading
from crawlproject.records.values import number

URL = "http://shop.example/book/1"
PAGE = """<html><head><base href="/x/"><script type="application/ld+json">
{"name": "Red", "offers": [{"price": "12.50", "cur": "EUR"}, {"price": "9"}], "stock": true}</script></head><body>
<h1> The   red <i>book</i> </h1><p class=price>1.234,50 €</p><time datetime="2024-05-01T10:00:00+02:00">May</time>
<a class=more href="../y?a=b#c">more</a><ul><li><b>A</b><i>1</i><li><b>B</b><li><i>3</i></ul><p class=stock>In stock</p>
<pre>  a
 b</pre><p class=empty> </p><i class=sold>04/03/2024</i></body></html>"""


def read(fields: str, page: str = PAGE, kind: str = "html", head: str = "") -> Reading:
    text = f'seeds = ["{URL}"]\n[records.book]\n{head}\n[records.book.fields]\n{fields}\n'
    site = read_site(text, Path("x.toml"))
    (result,) = read_page(Source(page, URL, kind=kind), list(site.records))
    return result


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ('"h1"', "The red book"),
        ('"h1::text"', "The red"),
        ("{ xpath = '//h1/i' }", "book"),
        ("{ xpath = 'count(//li)' }", "3"),
        ("{ css = '.price', type = 'number', locale = 'de' }", 1234.5),
        ("{ css = 'time', attr = 'datetime', type = 'date' }", date(2024, 5, 1)),
        ("{ css = 'time::attr(datetime)', regex = '^[0-9-]+', type = 'datetime' }", datetime(2024, 5, 1)),
        ("{ css = 'time', type = 'date', format = '%b' }", date(1900, 5, 1)),
        ("{ css = '.sold', type = 'date', locale = 'en_gb' }", date(2024, 3, 4)),
        ("{ css = '.sold', type = 'date', locale = 'en' }", date(2024, 4, 3)),
        ("{ css = '.more::attr(href)', type = 'url' }", "http://shop.example/y?a=b"),
        ("{ css = 'script', json = 'name' }", "Red"),
        ("{ css = 'script', json = 'offers[].price', type = 'number', many = true }", [12.5, 9]),
        ("{ css = 'script', json = 'stock' }", True),
        ("{ css = 'script', json = 'offers[0]' }", {"price": "12.50", "cur": "EUR"}),
        ("{ regex = 'class=([a-z]+)', many = true }", ["price", "more", "stock", "empty", "sold"]),
        ("{ css = '.stock', type = 'boolean', true = '(?i)in stock' }", True),
        ("{ css = 'pre', type = 'raw' }", "  a\n b"),
        ("{ css = 'li', many = true, fields = { a = 'b', n = { css = 'i', type = 'number', default = 0 } } }",
         [{"a": "A", "n": 1}, {"a": "B", "n": 0}, {"a": None, "n": 3}]),
        ("{ css = 'li', many = true, fields = { a = { css = 'b', required = true } } }", [{"a": "A"}, {"a": "B"}]),
        ("{ css = '.none', default = 7 }", 7),
        ("{ css = '.none', many = true }", []),
        ("'.empty'", None),
        ("'p'", "1.234,50 €"),
        ("{ xpath = '//p[@class=\"empty\"] | //h1' }", "The red book"),
    ],
)  # fmt: skip
def test_field(rule: str, value: Any) -> None:
    """Each way to say where a field is, and what it becomes."""
    result = read(f"x = {rule}\nalways = 'h1'")
    assert [problem for problem in result.problems if problem.kind != "required"] == []
    assert result.rows[0]["x"] == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-05-01T10:00:00+02:00", "2024-05-01T10:00:00+02:00"),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37+00:00"),
        ("Wed, 8 Jan 2003 9:31 pm", "2003-01-08T21:31:00"),
    ],
)
def test_dates_in_words(text: str, value: str) -> None:
    result = read("x = { css = 'h1', type = 'datetime' }", f"<h1>{text}</h1>")
    assert result.rows[0]["x"].isoformat() == value


def test_a_date_relative_to_now_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other dates are: their text means the same later."""
    page = "<h1>2 hours ago</h1>"
    rule = "x = { css = 'h1', type = 'datetime' }"
    first = read(rule, page).rows[0]["x"]
    an_hour_later = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: an_hour_later)
    assert read(rule, page).rows[0]["x"] > first


@pytest.mark.parametrize(
    ("text", "locale", "value"),
    [
        ("$1,234.50", None, 1234.5), ("1.234,50 €", None, 1234.5), ("1 234 567,8", "fr", 1234567.8), ("-5", None, -5),
        ("ISBN-13", None, 13), ("- $3", None, -3), ("１２３", None, 123), ("1.234", None, 1.234), ("1.234", "de", 1234),
        ("1,234", None, 1234), ("1,23", None, 1.23), ("1'234.5", "de-CH", 1234.5), ("1,234.5", "es-SV", 1234.5),
        ("3e5", None, 300000.0),
        ("٣٤٫٥", None, 34.5), ("12,50", "en", 1250), ("1,23,456", None, 123456), ("v2.0.1", "de", 201),
        ("from 3 to 4", None, 3), (".5", None, 0.5), ("−7", None, -7),
    ],
)  # fmt: skip
def test_number(text: str, locale: str | None, value: float) -> None:
    """As people write them; without a locale, by what the separators tell."""
    assert number(text, locale) == value


def test_what_is_no_value_costs_a_problem() -> None:
    """And the field only."""
    result = read(
        "a = { css = 'h1', type = 'number' }\nb = { css = 'h1', type = 'boolean' }\nc = 'h1'\n"
        "d = { css = 'h1', type = 'date', format = '%Y' }\ne = { css = '.more', type = 'url' }"
    )
    assert result.rows == [{"a": None, "b": None, "c": "The red book", "d": None, "e": "http://shop.example/x/more"}]
    assert sorted((problem.name, problem.kind) for problem in result.problems) == [
        ("book.a", "value"), ("book.b", "value"), ("book.d", "value"),
    ]  # fmt: skip


def test_selector_that_raises_costs_its_field() -> None:
    result = read("a = { xpath = '//h1[nope()]' }\nb = 'h1'\nc = { css = 'script', json = 'sum(name)' }")
    assert result.rows == [{"a": None, "b": "The red book", "c": None}]
    assert [problem.kind for problem in result.problems] == ["selector", "selector"]


def test_rows_and_required_fields() -> None:
    """A row without a required field is left out and counted."""
    result = read("a = { css = 'b', required = true }\nn = 'i'", head='rows = "li"')
    assert result.rows == [{"a": "A", "n": "1"}, {"a": "B", "n": None}]
    assert result.incomplete == 1
    assert result.found == {"a", "n"}


@pytest.mark.usefixtures("no_collection")
def test_json_and_xml_pages() -> None:
    """Rows of JSON; XML with CSS; entities of strangers are not expanded."""
    items = '{"items": [{"name": "a", "more": [1, 2]}, {"name": "b"}]}'
    fields = "n = { json = 'name' }\nm = { json = 'more[]', many = true }"
    result = read(fields, items, "json", "rows = { json = 'items' }")
    assert result.rows == [{"n": "a", "m": [1, 2]}, {"n": "b", "m": []}]
    feed = '<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><r><item><t>x&e;</t></item><item><t>y</t></item></r>'
    assert read("t = 't'", feed, "xml", "rows = 'item'").rows == [{"t": "x"}, {"t": "y"}]
    for text in ("", "{", "[" * 100_000, "null", '"\\ud800"'):
        assert read("n = { json = 'name' }", text, "json").rows == []


@pytest.mark.parametrize(
    "script",
    [
        '{"n": "a\nb"}', '{"n": "a b"};\n', ' var page = {"n": "a b"}; run()', 'window["__STATE__"]={"n": "a b"};(x())',
        '//<![CDATA[\n{"n": "a b"}\n//]]>', ' /*<![CDATA[*/ {"n": "a b"} /*]]>*/', '<![CDATA[{"n": "a b"}]]>',
        '/* <![CDATA[ */ var page = {"n": "a b"}; /* ]]> */', '<!-- {"n": "a b"} -->',
        'const a = [{"n": "a b"}]',
    ],
)  # fmt: skip
def test_json_as_scripts_have_it(script: str) -> None:
    """Line breaks within strings, a semicolon, the value of a variable."""
    rule = "{ css = 'script', json = 'n || [0].n', type = 'text' }"
    assert read(f"n = {rule}", f"<script>{script}</script>").rows == [{"n": "a b"}]


def test_odd_pages_have_no_record() -> None:
    for page in ("", " ", "\0", "<", "<!--", "<h1>", "<script>", "\ud800", "<frameset>"):
        assert read("a = 'h1'\nb = { css = 'b', many = true }", page).rows == []


@pytest.mark.parametrize(
    "page",
    [
        "<p>" * 60_000, "<div>" * 40_000, "<b>" * 20_000 + "</u>" * 20_000, "<i><p>" * 30_000, "<table>" * 30_000,
        "<p " + " ".join(map("a{}".format, range(60_000))), "<ul><li>" * 20_000, "&amp;" * 40_000, "<!--" * 50_000,
        "".join(f"<x{number}>" for number in range(30_000)), "x" * 200_000, "<a>" * 60_000,
    ],
)  # fmt: skip
def test_hostile_page_takes_bounded_time(page: str) -> None:
    """Whatever the selectors: those that look around are not used where it would take long."""
    fields = (
        "a = 'p ~ p'\nb = { xpath = '//div//div//div', many = true }\nc = { xpath = '//*/ancestor::*', many = true }\n"
        "d = { css = 'p:last-of-type' }\ne = { xpath = '//p | //div', many = true }\nf = { css = 'x *', many = true }\n"
        "g = { css = '*', many = true }\nh = { regex = '(a*)*b', many = true }\ni = { xpath = '//i/following::p' }"
    )
    started = time.thread_time()
    read(fields, page)
    assert time.thread_time() - started < 8  # 0.1 to 1 s alone on a machine


def rules_with(xpath: str, page: str, seconds: float = limits.OFF_LOOP) -> Reading:
    """A page read by one selector."""
    site = read_site(f'seeds = ["{URL}"]\n[records.r.fields]\na = {{ xpath = "{xpath}", many = true }}', Path("x.toml"))
    (reading,) = read_page(Source(page, URL), list(site.records), seconds)
    return reading


SIBLINGS = "//p/following-sibling::p"
CHAINS = ("<div>" * 150 + "</div>" * 150) * 20
GROUPS = ("<div>" + "<p></p>" * 40 + "</div>") * 100
NESTED = "<i>some " * 2_000


@pytest.mark.parametrize(
    ("expression", "page"),
    [
        (SIBLINGS, "<p>" * 3_000),
        ("//div//div//div//div", CHAINS),
        ("//p/following::p", GROUPS),
        ("//p/preceding::p", GROUPS),
        *(
            (f"//*[{condition}]", NESTED)
            for condition in ("normalize-space()='q'", "contains(., 'q')", "string( . )='q'")
        ),
        *((f"//*[{condition}]", NESTED) for condition in (".='q'", "starts-with(.,'q')")),
    ],
)
def test_slow_page_is_left_for_the_thread(expression: str, page: str) -> None:
    """On the event loop, reading stops and says so. Half a second for 33 kB, 11 s and 6 s for 29 kB on a fast machine;
    of elements within each other, each has the text of all below it."""
    with pytest.raises(OutOfTimeError):
        rules_with(expression, page, limits.ON_LOOP)


def test_slow_selector_costs_its_field() -> None:
    assert [problem.kind for problem in rules_with(SIBLINGS, "<p>" * 3_000).problems] == ["selector"]
    ordinary = "<h2>x</h2>" + "<p>text" * 200
    assert len(rules_with(SIBLINGS, ordinary, limits.ON_LOOP).rows[0]["a"]) == 199


@pytest.mark.parametrize(
    ("expression", "page"),
    [
        ("//ul//li//b", "<ul><li><b>1</b></ul><pre>" + "<span>x</span>\n" * 3_000 + "</pre>"),
        ("//td[count(preceding-sibling::*) = 1]/b", "<table>" + "<tr><td>x<td><b>1</b>" * 3_000 + "</table>"),
        ("//h2/following::b[1]", "<div><h2>x</h2><b>1</b></div>" + "<div>" + "<p>x" * 40 + "</div>" * 30),
    ],
)
def test_listings_and_long_tables_are_not_slow(expression: str, page: str) -> None:
    """Code with colours, thousands of rows: selectors that do not look around among them are used."""
    reading = rules_with(expression, page)
    assert not reading.problems
    assert reading.rows[0]["a"][0] == "1"


def test_time_is_limited_within_a_selector() -> None:
    """Elements within each other: each has the text of all below it."""
    assert rules_with("//i", "<p>" + "<i>some words " * 200 + "</i>" * 200, 1e-4).is_cut


def test_values_of_a_page_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read until then is kept."""
    monkeypatch.setattr(limits, "MAX_VALUES", 1_000)
    page = "<div>" * 50 + "x" * 100 + "</div>" * 50
    result = read('text = "div"', page, head='rows = "div"')
    assert (len(result.rows), result.is_cut) == (10, True)
