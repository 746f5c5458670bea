"""Content that counts as new on a page."""

from __future__ import annotations

import pytest

from crawlproject.content.page_marks import DATE_WORDS, MAX_MARKS, MAX_TEXT, page_marks
from crawlproject.urls import extract
from tests.cpu import cpu_seconds

CALENDAR = """<title>{month} {year} | Club</title><h1>Events in {month} {year}</h1><a href=x>« {month}</a>
<table><tr><td>Mo<td>Di<td>lunes<td>{day}<td>{day}th</table><p>Nothing on {weekday}, {day}. {month} {year}.
Visitor {visitor}. Made at 12:34:{day} on {year}-05-{day}, {day}.05.{year} in 0.0{visitor} s for user a{visitor}f."""


def marks(url: str, markup: str) -> set[int]:
    """The marks of a parsed page."""
    page = extract(markup, url, with_text=True)
    return set(page_marks(url, page.title, page.text or "", page.media))


def test_months_without_events_show_the_same() -> None:
    """In any language of month names; counters give few odd marks."""
    given = {"month": "January", "year": 2020, "day": 11, "weekday": "Monday", "visitor": 31415}
    one = marks("http://h/2020/01/", CALENDAR.format(**given))
    for month, year, day, weekday in (("Mai", 2021, 12, "Dienstag"), ("août", 1999, 30, "DIMANCHE")):
        given = {"month": month, "year": year, "day": day, "weekday": weekday, "visitor": 92653}
        fresh = marks("http://h/2021/05/", CALENDAR.format(**given)) - one
        assert all(mark % 2 for mark in fresh)
        assert len(fresh) <= 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<title>Page 1</title>", "<title>Page 2</title>"),
        ("<p>one two</p><p>three", "<p>three</p><p>two, one!"),
        ("<p>id 3f2a9c", "<p>id 77b1"),
        ('<img src="a.png?t=1">', '<img src="a.png?t=2">'),
        ('<img src="t.gif?1" width=1>', '<img src="t.gif" height="0">'),
        ("<script>one</script><p>a", "<script>two</script><p>a"),
        ("<p>You asked for first", "<p>You asked for second"),
    ],
)
def test_the_same(one: str, other: str) -> None:
    """Nothing is new."""
    assert marks("http://h/q?x=first", one) == marks("http://h/q?x=second", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<title>Bears</title>", "<title>Wolves</title>"),
        ("<p>same<p>one", "<p>same<p>other"),
        ('<img src="/1.png">', '<img src="/2.png">'),
        ('<img src="show.php?id=1">', '<img src="show.php?id=2">'),
        ('<img src="x.png" alt="Bears">', '<img src="x.png" alt="Wolves">'),
        ('<iframe src="/v/1"></iframe>', '<iframe src="/v/2"></iframe>'),
        ("<td>17.3<td>18.4", "<td>17.5<td>18.9"),
        ("<td>12345", "<td>54321"),
        ("<p>会议在北京", "<p>会议在上海"),
    ],
)
def test_something_new(one: str, other: str) -> None:
    """In both directions."""
    first, second = marks("http://h/1", one), marks("http://h/2", other)
    assert first - second
    assert second - first


def test_words_of_dates_are_bytes_of_lower_case_words() -> None:
    """The form in which they are looked up."""
    assert all(word == word.decode().lower().encode() and b" " not in word for word in DATE_WORDS)


@pytest.mark.parametrize("piece", ["a1 ", "a", "1", "1.", "1.x", "\x1f", "a\x1f", "Ａ１ "])
def test_time_is_bounded(piece: str) -> None:
    """For any text, by its length."""
    text = piece * 10**6
    url = "http://h/" + "a1-" * 600
    assert len(page_marks(url, text, text, [text])) <= MAX_MARKS
    assert cpu_seconds(lambda: lambda: page_marks(url, text, text, [text])) < 0.25


def test_of_many_marks_the_least_are_kept() -> None:
    """So that equal pages keep equal marks."""
    text = "\x1f".join(f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(9000))
    assert len(text) < MAX_TEXT
    first = page_marks("http://h/", None, text)
    assert len(first) == MAX_MARKS
    assert len(page_marks("http://h/", None, text + "\x1fabcd") - first) <= 1
