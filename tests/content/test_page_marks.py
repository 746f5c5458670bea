"""Content that counts as new on a page."""

import pytest

from crawlproject.content.page_marks import (
    MAX_MARKS,
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
<table><tr><td>Mo<td>Di<td>lunes<td>{grid}</table><p>Nothing on {weekday}, {day} {month}. {month} {year}.
Made on {year}-05-{day}, {day}.05.{year}."""
GRID = "<td>".join(map(str, range(1, 31)))


def content(url: str, markup: str, links: PageAddresses = NO_ADDRESSES) -> PageContent:
    page = extract(markup, url, with_text=True)
    return page_content(url, PageText(page.title, page.text or "", page.media, markup), links)


def marks(url: str, markup: str, links: PageAddresses = NO_ADDRESSES) -> frozenset[int]:
    return content(url, markup, links).marks()


def test_months_without_events_show_the_same() -> None:
    """In any language of month names, with the grids of their days."""
    shown = {
        marks("http://h/c", CALENDAR.format(month=month, year=year, day=day, weekday=weekday, grid=GRID))
        for month, year, day, weekday in (
            ("January", 2020, 11, "Monday"),
            ("Mai", 2021, 12, "Dienstag"),
            ("août", 1999, 30, "DIMANCHE"),
        )
    }
    assert len(shown) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<title>Page 7</title>", "<title>Page 8</title>"),
        ("<p>next 8, back 6", "<p>next 9, back 7"),
        ("<script src=a.js></script><p>a", "<script src=b.js></script><p>a"),
        ("<p>May 2020", "<p>June 2021"),
        ("<p>17 May 2020", "<p>18 juin 2021"),
        ("<p>on 2020-05-17", "<p>on 2021-06-18"),
    ],
)
def test_the_same(one: str, other: str) -> None:
    """What addresses and dates explain is left out."""
    assert marks("http://h/q/7", one) == marks("http://h/q/8", other)


def test_numbers_of_neighbours_are_left_out() -> None:
    """And their names, if they differ in names."""
    numbers = PageAddresses(["http://h/q/40"])
    assert marks("http://h/q/7", "<p>to 40", numbers) == marks("http://h/q/7", "<p>to", numbers)
    names = PageAddresses(["http://h/t/bears"], are_named=True)
    assert marks("http://h/t/x", "<p>all bears", names) == marks("http://h/t/x", "<p>all", names)
    unnamed = names._replace(are_named=False)
    assert marks("http://h/t/x", "<p>all bears", unnamed) != marks("http://h/t/x", "<p>all", unnamed)


def test_ids_of_links_are_left_out() -> None:
    """The link is judged, not the id of its page."""
    links = PageAddresses(others=["http://h/x/3f2a9c1b"])
    assert marks("http://h/c", "<p>see 3f2a9c1b", links) == marks("http://h/c", "<p>see", links)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<title>Bears</title>", "<title>Wolves</title>"),
        ("<p>same<p>one", "<p>same<p>other"),
        ('<img src="/x/10.png">', '<img src="/x/20.png">'),
        ('<iframe src="show.php?id=11"></iframe>', '<iframe src="show.php?id=21"></iframe>'),
        ('<img src="x.png" alt="Bears">', '<img src="x.png" alt="Wolves">'),
        ("<td>17.3<td>18.4", "<td>17.5<td>18.9"),
        ("<td>12345", "<td>54321"),
        ("<p>会议在北京", "<p>会议在上海"),
        ('<p data-name="bears">', '<p data-name="wolves">'),
        ("<script>draw(4711)</script>", "<script>draw(4712)</script>"),
    ],
)
def test_something_new(one: str, other: str) -> None:
    """In both directions."""
    first, second = marks("http://h/1", one), marks("http://h/2", other)
    assert first - second
    assert second - first


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<p>a<p>Generated in 0.1731 s<p>z", "<p>a<p>Generated in 0.9265 s<p>z"),
        ("<p>a<p>visitor 31415<p>z", "<p>a<p>visitor 92653<p>z"),
        ("<p>a<p>To be or not<p>z", "<p>a<p>All is well<p>z"),
        ('<p>a<img src="/captcha/3f2a.png">', '<p>a<img src="/captcha/77b1.png">'),
        ("<p>a<p>one x<p>two x<p>three x<p>z", "<p>a<p>four y<p>five y<p>six y<p>z"),
        ('<p data-token="3f2a9c">a', '<p data-token="77b1aa">a'),
    ],
)
def test_what_differs_when_a_page_is_requested_again_is_noise(one: str, other: str) -> None:
    """It is left out of all pages; what stands elsewhere counts."""
    url = "http://h/c"
    first, again = content(url, one), content(url, other)
    assert first.marks() != again.marks()
    noise = first.noise(again)
    assert first.marks(noise) == again.marks(noise)
    assert first.pieces(noise) == again.pieces(noise)
    assert first.noise(first) == frozenset()
    assert content(url, one + "<p>Bears and wolves").marks(noise) != first.marks(noise)


@pytest.mark.parametrize("text", ["text", "text " * 1000])
def test_hash_of_what_a_page_shows(text: str) -> None:
    """Links do not count, other attributes do, of a long page as well."""

    def hashed(markup: str, text: str = text) -> int:
        return shown_hash("http://h/x", PageText("t", text, (), markup))

    assert hashed('<a href="/1" data-a="1">') == hashed('<a href="/2" data-a="1">')
    for name in ("data-a", "d", "points"):
        assert len({hashed(f'<p {name}="{n}" href="/">') for n in (1, 2)} | {hashed(f"<p {name}='3'>")}) == 3
    assert hashed("", text) != hashed("", text + "other")


@pytest.mark.parametrize("piece", ["a1 ", "1.x", "a\x1f", "Ａ１ ", "1 2 3 ", "2020-05-"])
def test_time_is_bounded(piece: str) -> None:
    """For any text, by its length."""
    text = piece * 10**6
    url = "http://h/" + "a1-" * 600
    page = PageText(text, text, [text], f'<p data-a="{text[:2000]}">' * 200)
    assert len(page_content(url, page).marks()) <= MAX_MARKS
    assert cpu_seconds(lambda: lambda: page_content(url, page).marks()) < 0.25


def test_time_of_a_row_of_days_before_other_words_is_bounded() -> None:
    """In one element."""
    text = " ".join(str(1 + number % 31) for number in range(22_000)) + " a" * 33_000
    assert cpu_seconds(lambda: lambda: page_content("http://h/1", PageText(None, text))) < 0.15


@pytest.mark.parametrize("piece", ["<script", "<script ", " data-a", " data-" + "a-" * 30, ' x="', "<script>a", " d='"])
def test_time_for_attributes_and_scripts_is_bounded(piece: str) -> None:
    """Of a page of five megabytes."""
    markup = piece * (5 * 10**6 // len(piece))
    assert cpu_seconds(lambda: lambda: list(hidden_parts(markup))) < 0.25
    assert cpu_seconds(lambda: lambda: shown_hash("http://h/", PageText(None, "a" * 5_000, (), markup))) < 0.25


def test_of_many_marks_the_least_are_kept() -> None:
    """So that equal pages keep equal marks."""
    text = "\x1f".join(f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(9000))
    first = page_content("http://h/", PageText(None, text)).marks()
    assert len(first) == MAX_MARKS
    assert len(page_content("http://h/", PageText(None, text + "\x1fabcd")).marks() - first) <= 1
