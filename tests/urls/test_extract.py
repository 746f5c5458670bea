"""Data extracted from a page."""

import dataclasses
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.urls import extract, resolve
from crawlproject.urls.extract import MAX_PICTURES, MAX_ROBOTS, SEPARATOR

from .conftest import PROPERTY

URL = "http://h/d/p?q"

HREFS = {
    "<a href=a>1</a><area href=b><a href=c>2</a>": ["a", "b", "c"],
    "<A HREF=a><a\nhref='b'><a href = \"c\">": ["a", "b", "c"],
    "<a href=' \t\n a b \r\f '>": ["a b"],
    "<a href=a><a href=a><a href=b>": ["a", "b"],
    "<a href=a#1><a href=a#2><a href=a><a href=#3><a href=#4>": ["a#1", "#3"],
    "<a href=''><a href>": [""],
    "<a href='?a=1&amp;b=2&copy=3&#x26;c'>": ["?a=1&b=2&copy=3&c"],
    "<a name=a><link href=b><img src=c><form action=d><iframe src=e>": [],
    "<!-- <a href=a> --><script>'<a href=b>'</script><style><a href=c></style><title><a href=d></title>": [],
    "<textarea><a href=a></textarea><iframe><a href=b></iframe><template><a href=c></template>": [],
    "<noscript><a href=a></noscript><svg><a href=b><a xlink:href=c></svg><map><area href=d></map>": [
        "a",
        "b",
        "c",
        "d",
    ],
    "<link rel=next href=' a '><LINK REL='section PREV' HREF=b#c><link rel=index href=d><a href=a>": ["a", "b#c", "d"],
    "<link rel='next nofollow' href=a><link rel=next><link rel=alternate href=b><link rel=nextpage href=c>": [],
    "<table><a href=a><tr><p><a href=b><b><div><a href=c></b><a href=d>": ["a", "b", "c", "d"],
    "<a href=a rel=nofollow><a href=b rel='NoFollow ugc'><a href=c rel=noopener,nofollow><a href=d rel=follow>": ["d"],
    "<a href=a><a href=b": ["a"],
    "<frameset><frame src=a><frameset><frame src=' b#c '><frame></frameset><noframes><a href=d></noframes>": [
        "a",
        "b#c",
    ],
    "<meta http-equiv=refresh content='5'><meta http-equiv=refresh content=''><meta http-equiv=refresh>": [],
    "<meta http-equiv=refresh content='x;url=a'><meta http-equiv=location content='0;url=a'>": [],
    "<meta http-equiv=refresh content='5x;url=a'><meta http-equiv=refresh content='0;url='>": [],
    "<META HTTP-EQUIV=Refresh content=' 0 ; URL = a '><a href=b>": ["b", "a"],
    "<meta http-equiv=refresh content='0;a'><meta http-equiv=refresh content='.5,b'>": ["a", "b"],
    "<meta http-equiv=refresh content=\"0;url='a b' c\"><meta http-equiv=refresh content='600 \"c d'>": ["a b", "c d"],
    "<noscript><meta http-equiv=refresh content='0;url=a;b'></noscript><a href=b>": ["b", "a;b"],
}

BASES = {
    "<base href=/b/>": "http://h/b/",
    "<base href=b/c#d>": "http://h/d/b/c",
    "<base target=_top><base href=//x><base href=/y>": "http://x/",
    "<a href=a></a><p><base href='https://x/y'>": "https://x/y",
    "<base href='ftp://x/'>": URL,
    "<base href='http://['>": URL,
    "<base href='javascript:0'>": URL,
    "<!-- <base href=/b/> -->": URL,
}

ROBOTS = {  # nofollow, noindex
    "<meta name=robots content='noindex, nofollow'>": (True, True),
    "<META NAME=' ROBOTS ' CONTENT='NoFollow'>": (True, False),
    "<meta name=robots content=none>": (True, True),
    "<meta name=robots content='index;follow'><meta name=robots content=noindex>": (False, True),
    "<meta name=robots content=all><meta name=other content=none>": (False, False),
    "<meta name=testbot content=nofollow>": (True, False),
    "<meta name=TestBot content=noindex><meta name=robots content=nofollow>": (True, True),
    "<meta name=robots content=nofollow><meta name=robots content=all>": (True, False),
    "<meta name=robots><meta name content=none><meta content=none>": (False, False),
}

TITLES = {
    "<title> A\n title\t&amp;  more </title>": "A title & more",
    "text <title>misplaced</title>": "misplaced",
    "<svg><title>drawing</title></svg><title>page</title>": "page",
    "<title>first</title><title>second</title>": "first",
    "<title> </title>": None,
    "<p>none</p>": None,
    "<title>é</title>": "é",
}

CANONICALS = {
    "<link rel=canonical href=c>": "http://h/b/c",
    "<link rel='Alternate CANONICAL' href='https://x/y#z'>": "https://x/y",
    "<link rel=canonical href=c><link rel=canonical href=d>": "http://h/b/c",
    "<link rel=stylesheet href=c>": None,
    "<link rel=canonical>": None,
    "<link rel=canonical href=''>": None,
    "<link rel=canonical href='mailto:a@h'>": None,
}


@pytest.mark.parametrize(("html", "hrefs"), HREFS.items())
def test_links_are_found_as_written(html, hrefs):
    """Links are in document order, without surrounding white space, each once."""
    assert extract(html, URL).hrefs == hrefs


@pytest.mark.parametrize(("html", "base"), BASES.items())
def test_base_url_is_that_of_the_document(html, base):
    """The first base element counts, if it is http(s)."""
    assert extract(html, URL).base == base


@pytest.mark.parametrize(("html", "expected"), ROBOTS.items())
def test_robots_are_obeyed(html, expected):
    """A directive in any meta element for robots, or for this one by name, applies."""
    page = extract(html, URL)
    names = ["testbot"]
    assert (page.forbids("nofollow", names), page.forbids("noindex", names)) == expected


@pytest.mark.parametrize(("html", "title"), TITLES.items())
def test_title_is_one_line(html, title):
    """The title of the page, not of an SVG in it, with white space collapsed."""
    assert extract(html, URL).title == title


@pytest.mark.parametrize(("html", "canonical"), CANONICALS.items())
def test_canonical_link_is_absolute(html, canonical):
    """The page's own URL is resolved against its base."""
    assert extract(f"<base href=/b/>{html}", URL).canonical == canonical


def test_links_of_a_nofollow_page_are_left_to_the_caller():
    """The page's nofollow is a flag; a link with nofollow is omitted."""
    page = extract("<meta name=robots content=nofollow><a href=a><a href=b rel=nofollow>", URL)
    assert (page.hrefs, page.forbids("nofollow")) == (["a"], True)


def test_robots_of_a_page_are_bounded():
    """Too many names, or too long ones, are ignored; never those of all robots."""
    others = "".join(f"<meta name=bot{number} content=none>" for number in range(2 * MAX_ROBOTS))
    page = extract(f"<meta name={'x' * 101} content=none>{others}<meta name=robots content=nofollow>", URL)
    assert page.forbids("nofollow")
    assert page.forbids("noindex", ["bot0"])
    assert len(page.robots) == MAX_ROBOTS + 1


def test_text_and_media_of_a_page_are_read():
    """In order; the head is the first one."""
    row = "<tr><td>cell <a href='l#'>link #</a><td><img src='p#.png' alt='picture #'>"
    html = (
        "<title>first</title><base href=/b/><link rel=canonical href=own>"
        f"<table>{''.join(row.replace('#', str(number)) for number in range(100))}</table>"
        "<title>last</title><base href=/c/><link rel=canonical href=other><p>end"
    )
    page = extract(html, URL, with_text=True)
    assert (page.title, page.base, page.canonical) == ("first", resolve("/b/", URL), resolve("/b/own", URL))
    words = [word for number in range(100) for word in ("cell", "link", str(number))]
    assert page.text.replace(SEPARATOR, " ").split() == [*words, "last", "end"]
    assert page.pictures.split()[:2] == ["p0.png", "p1.png"]
    assert len(page.pictures.split()) == MAX_PICTURES
    assert page.media[:2] == ("p0.png", "picture 0")


def test_too_many_links_are_counted():
    """Links beyond the limit are only counted."""
    page = extract("".join(f"<a href={n}>" for n in range(20_000)), URL, max_links=10)
    assert (page.hrefs, page.truncated) == ([str(n) for n in range(10)], 19_990)


def test_repeated_links_do_not_use_the_limit_up():
    """The limit is on distinct links."""
    assert extract("<a href=a>" * 50 + "<a href=b><a href=c>", URL, max_links=2).hrefs == ["a", "b"]


@pytest.mark.parametrize(
    ("body", "hrefs"),
    [
        ("<a href=é>".encode(), ["é"]),
        ("\ufeff<a href=é>".encode("utf-16-le"), ["é"]),
        ("<meta charset=windows-1251><a href=я>".encode("windows-1251"), ["я"]),
        (b"<a href=\xff\xfe>", ["\ufffd\ufffd"]),
        (b"", []),
    ],
)
def test_bytes_are_decoded_as_they_say(body, hrefs):
    """A byte order mark or meta element declares the encoding, else it is UTF-8."""
    assert extract(body, URL).hrefs == hrefs


GARBAGE = {
    "NULs": "\0" * 68_000,
    "nested divs": "<div>" * 100_000 + "<a href=a>",
    "nested links": "<a href=a><div>" * 50_000,
    "attributes": "<a " + " ".join(f"a{n}=1" for n in range(100_000)) + " href=a>",
    "open quote": "<a href='" + "a" * 1_000_000,
    "surrogates": "<a href='\ud800'>\udfff</a>" * 1_000,
    "noise": random.Random(1).randbytes(300_000),
}


@pytest.mark.parametrize("body", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_survived_in_time(body):
    """No body takes the parser more than a few seconds, although nested divs would take half a minute."""
    start = time.process_time()
    page = extract(body, URL)
    assert time.process_time() - start < 5
    assert len(page.hrefs) <= 1


@PROPERTY
@given(
    st.lists(
        st.sampled_from(
            ["<a href=", "<base href=", "<meta name=robots content=", "<title>", "</", ">", "'", " ", "a", "\0"]
        )
    )
)
def test_any_soup_can_be_read(pieces):
    """Any markup gives a page, the same from text and from its bytes."""
    text = "".join(pieces)
    page = extract(text, URL)
    assert dataclasses.asdict(extract(text.encode(), URL)) == dataclasses.asdict(page)
    assert len(set(page.hrefs)) == len(page.hrefs)


def test_pictures_are_named_by_their_files() -> None:
    """Only with text: last part of the path and query; no inline images, bounded number and length."""
    body = '<img src="/a/1.jpg"><img src=" x.php?id=2&u=a/b "><img src="data:image/png;base64,AA"><img src=""><img>'
    assert extract(body, "http://a.example/", with_text=True).pictures == "1.jpg x.php?id=2&u=a/b "
    assert extract(body, "http://a.example/").pictures == ""
    many = extract(f"<img src='{'y' * 10_000}'>" * 1000, "http://a.example/", with_text=True).pictures
    assert len(many) < 64 * 201
