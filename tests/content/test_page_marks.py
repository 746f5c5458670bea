"""Content that counts as new on a page, and what of it is made for each request."""

from __future__ import annotations

import pytest

from crawlproject.content.page_marks import (
    MAX_MARKS,
    MAX_TEXT,
    NO_ADDRESSES,
    PageAddresses,
    PageContent,
    PageText,
    hidden_parts,
    page_content,
    shown_hash,
)
from crawlproject.urls import extract
from tests.cpu import cpu_seconds

CALENDAR = """<title>{month} {year} | Club</title><h1>Events in {month} {year}</h1><a href=x>« {month}</a>
<table><tr><td>Mo<td>Di<td>1<td>2<td>3<td>4<td>5<td>6<td>7<td>8<td>9{rest}</table><p>Nothing on {weekday}, {day}.
{month} {year}. Last change {year}-05-{day}, {day}.05.{year}."""


def text_of(url: str, markup: str) -> PageText:
    """What a parsed page shows."""
    page = extract(markup, url, with_text=True)
    return PageText(page.title, page.text or "", page.media, hidden_parts(markup))


def content(url: str, markup: str, links: PageAddresses = NO_ADDRESSES) -> PageContent:
    """The content of a parsed page."""
    return page_content(url, text_of(url, markup), links)


def test_months_without_events_show_the_same() -> None:
    """Names of months and days, years, full dates, and the grid of days do not count."""
    given = {"month": "January", "year": 2020, "day": 11, "weekday": "Monday", "rest": "<td>10<td>11"}
    one = content("http://h/2020/01/", CALENDAR.format(**given)).marks()
    for month, year, day, weekday in (("Mai", 2021, 12, "Dienstag"), ("août", 1999, 30, "DIMANCHE")):
        given = {"month": month, "year": year, "day": day, "weekday": weekday, "rest": "<td>10<td>11<td>12<td>13"}
        assert content("http://h/2021/05/", CALENDAR.format(**given)).marks() == one


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<title>Page 1</title>", "<title>Page 2</title>"),
        ("<p>You asked for first", "<p>You asked for second"),
        ('<img src="a.png?t=1">', '<img src="a.png?t=2">'),
        ('<img src="t.gif?1" width=1>', '<img src="t.gif" width=1>'),
        ("<p>Record<p>1<p>next<p>2", "<p>Record<p>2<p>next<p>3"),
    ],
)
def test_the_same(one: str, other: str) -> None:
    """The page's own address, the numbers beside its own, and queries of pictures say nothing."""
    assert content("http://h/q/1?x=first", one).marks() == content("http://h/q/2?x=second", other).marks()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<title>Bears</title>", "<title>Wolves</title>"),
        ("<p>same<p>one", "<p>same<p>other"),
        ("<td>Smith<td>yes<td>Jones<td>no", "<td>Smith<td>no<td>Jones<td>yes"),
        ('<img src="/1.png">', '<img src="/2.png">'),
        ('<img src="show.php?id=1">', '<img src="show.php?id=2">'),
        ('<img src="x.png" alt="Bears">', '<img src="x.png" alt="Wolves">'),
        ('<iframe src="/v/1"></iframe>', '<iframe src="/v/2"></iframe>'),
        ("<td>17.3<td>18.4", "<td>17.5<td>18.9"),
        ("<td>3<td>7", "<td>7<td>3"),
        ("<td>04:12<td>21:40", "<td>04:14<td>21:38"),
        ("<p>8f3a9c1b77", "<p>77b1c9a3f8"),
        ("<p>会议在北京", "<p>会议在上海"),
        ("<meter value=37></meter>", "<meter value=94></meter>"),
        ("<i data-v='3'></i><i data-v='8'></i>", "<i data-v='8'></i><i data-v='3'></i>"),
        ("<script>draw([3, 5])</script>", "<script>draw([8, 5])</script>"),
    ],
)
def test_something_new(one: str, other: str) -> None:
    """Words, numbers, times, ids and their order; pictures; values of attributes and scripts."""
    first, second = content("http://h/x", one).marks(), content("http://h/y", other).marks()
    assert first - second
    assert second - first


def test_ids_of_links_do_not_count() -> None:
    """The link is judged, not the id of its page."""
    one, other = ("<p>Commit <a href=/c/8f3a9c1b>8f3a9c1b</a>", "<p>Commit <a href=/c/77b1c9a3>77b1c9a3</a>")
    marks = [content("http://h/x", each, PageAddresses(others=[f"http://h/c/{each[21:29]}"])) for each in (one, other)]
    assert marks[0].marks() == marks[1].marks()
    assert marks[0].pieces() == marks[1].pieces()


@pytest.mark.parametrize(
    "noise",
    [
        "<p>Page generated in {} s with {} queries.",
        "<p>Visitors<p>{}<p>online<p>{}",
        "<blockquote>{} {} said a wise man</blockquote>",
        "<img src='/captcha/{}.png'><p>type it<p>{}",
        "<input name=token value='{}'><p>{}",
    ],
)
def test_what_is_made_for_each_request_is_found_by_asking_again(noise: str) -> None:
    """Other pages then show the same, and pages with text of their own do not."""
    page = "<h1>Club</h1><p>{own}" + noise + "<p>The end."
    first, again = (content("http://h/1", page.format(a, b, own="Nothing")) for a, b in (("x1y", 17), ("q2z", 91)))
    places = first.noise(again)
    assert places
    other = content("http://h/2", page.format("w3k", 55, own="Nothing"))
    assert other.marks(places) == first.marks(places)
    real = content("http://h/3", page.format("p4m", 23, own="A concert by the lake"))
    assert real.marks(places) - first.marks(places)


@pytest.mark.parametrize("piece", ["a1 ", "a", "1", "1.", "1.x", "\x1f", "a\x1f", "1\x1f2\x1f", "2020年1月", "Ａ１ "])
def test_time_is_bounded(piece: str) -> None:
    """For any text, by its length."""
    text = piece * 10**6
    page = PageText(text, text, [text] * 9)
    url = "http://h/" + "a1-" * 600
    assert len(page_content(url, page, PageAddresses([url] * 100, True, [url] * 100)).marks()) <= MAX_MARKS
    for call in (lambda: page_content(url, page).marks(), lambda: shown_hash(url, page)):
        assert cpu_seconds(lambda call=call: call) < 0.25


@pytest.mark.parametrize("piece", ["<script>", "<script x", " style=", " data-" + "a" * 50, ' d="', "<script>a", "\t"])
def test_time_for_attributes_is_bounded(piece: str) -> None:
    """For any markup."""
    markup = piece * (3_000_000 // len(piece))
    assert cpu_seconds(lambda: lambda: list(hidden_parts(markup))) < 0.25


def test_of_many_marks_the_least_are_kept() -> None:
    """So that equal pages keep equal marks."""
    text = " ".join(f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(9000))
    assert len(text) < MAX_TEXT
    first = page_content("http://h/", PageText(None, text)).marks()
    assert len(first) == MAX_MARKS
    assert len(page_content("http://h/", PageText(None, f"{text} abcd")).marks() - first) <= 2
