"""Doubted URLs; URLs of real pages are not doubted."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given

from crawlproject.urls import Canonicalizer
from crawlproject.urls.pattern import pattern_of
from crawlproject.urls.traps import TrapRules, leads_back
from tests.data import real
from tests.urls.conftest import PROPERTY, url_like

RULES = TrapRules(years=(1900, 2030))

REASONS = {
    "http://h/": None,
    "http://h/a/b/c/d.html?x=1&y=2": None,
    # depth
    "http://h" + "/a%d" * 20 % tuple(range(20)): None,
    "http://h" + "/a%d" * 21 % tuple(range(21)): "path_depth",
    "http://h/a?b=" + "/".join(map(str, range(40))): None,
    # repetition
    "http://h/a/a": None,
    "http://h/a/a/a": "repeated_path",
    "http://h/x/a/b/a/b/": "repeated_path",
    "http://h/x/a/b/c/a/b/c.html": None,
    "http://h/x/a/b/c/d/a/b/c/d?q": "repeated_path",
    "http://h/a/b/a/c/a/d": None,
    "http://h/2012/01/01/01/title": None,
    "http://h/7/6/7/6/x.html": None,
    "http://h/a///b": None,
    "http://h/a////b": "repeated_path",
    # parameters
    "http://h/?" + "&".join(f"p{i}=1" for i in range(10)): None,
    "http://h/?" + "&".join(f"p{i}=1" for i in range(11)): "parameters",
    "http://h/?" + ";".join(f"p{i}=1" for i in range(11)): "parameters",
    "http://h/?f=a&f=b&f=c": None,
    "http://h/?q=a&q=a": None,
    "http://h/?q=a&q=a&q=a": "repeated_parameters",
    # nested URLs
    "http://h/login?target=https%3A%2F%2Fh%2Fpage": "nested_url",
    "http://h:81/login?target=http://h/page": "nested_url",
    "http://h/share?u=https%3A%2F%2Fother.org%2Fpage": None,
    "http://h/share?u=https%3A%2F%2Fother.org%2Fl%3Fu%3Dhttps%253A%252F%252Fh%252F": "nested_url",
    "http://h/web/2001/http://h/page": None,
    # calendars
    "http://h/calendar/2012/05/": None,
    "http://h/calendar/2031/05/": "calendar",
    "http://h/calendar/12003/01/": "calendar",
    "http://h/events/1850-12": "calendar",
    "http://h/2044/02/28": "calendar",
    "http://h/2044/02/28/title": None,
    "http://h/handle/2115/12": None,
    "http://h/events/2044": None,
    "http://h/day.php?year=2044&month=2": "calendar",
    "http://h/list?startdate=2044-02-28": "calendar",
    "http://h/list?startdate=20440228": None,
    "http://h/list?id=2044": None,
    "http://h/list?event_year=2044": "calendar",
    "http://h/list?a=1&event-date=2044-02": "calendar",
    "http://h/list?year=12003": "calendar",
    # names that end like those of dates, and years and months in one
    "http://h/list?candidate=12345": None,
    "http://h/list?mandate=1066": None,
    "http://h/list?update=165000": None,
    "http://h/list?month=202405": None,
    "http://h/list?year=202405": None,
    "http://h/list?date=240531": None,
    "http://h/list?date=1066": None,
    "http://h/list?day=1066": None,
    "http://h/list?lightyear=2044": None,
    "http://h/list?year=2044a": None,
}


@pytest.mark.parametrize("url", REASONS)
def test_reason(url: str) -> None:
    """Each rule, on both sides of its limit."""
    assert RULES.reason(url) == REASONS[url]


@PROPERTY
@given(url_like())
def test_every_canonical_url_gets_an_answer(text: str) -> None:
    """Never an exception."""
    url = Canonicalizer().canonical(text)
    if url is not None:
        assert RULES.reason(url) in {
            *(None, "path_depth", "repeated_path", "parameters", "repeated_parameters", "nested_url", "calendar")
        }


def families() -> list[dict[str, str]]:
    """Trap families found by a crawl of a university's servers."""
    with real("traps/real-trap-families.tsv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.long
def test_real_families_are_seen_by_rule_or_pattern() -> None:
    """Of 58: rules alone detect logins that lead back and empty path segments; the members of most other families
    share a pattern, so the evidence of their pages is combined."""
    canonical = Canonicalizer().canonical
    found = [[canonical(family[name]) for name in ("example1", "example2")] for family in families()]
    assert len(found) == 58
    refused = [urls for urls in found if any(RULES.reason(url) for url in urls)]
    assert len(refused) == 4
    patterns = [[pattern_of(url) for url in urls] for urls in found]
    assert sum(None not in names and names[0] == names[1] for names in patterns) == 53


@pytest.mark.long
def test_no_page_of_a_real_crawl_looks_like_a_trap() -> None:
    """Of 10,247 fetched by a crawl of a university, 11 of one trap family; of all 90,988 known URLs, 1 in 260."""
    path = real("graphs/uic.urls.txt.zst")
    zstandard = pytest.importorskip("zstandard")
    lines = zstandard.ZstdDecompressor().decompress(path.read_bytes()).decode().split("\n")
    canonical = Canonicalizer().canonical
    urls = [url for line in lines[:-1] if (url := canonical(line)) is not None]
    refused = [url for url in urls[:10_240] if RULES.reason(url)]
    assert len(refused) == 11
    assert {url.partition("Sistla")[0] for url in refused} == {"https://www.cs.uic.edu/bin/edit//////////"}
    assert sum(RULES.reason(url) is not None for url in urls) < len(urls) / 250


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h/login?next=/topic/5/caf%C3%A9/", True),
        ("http://h/login?next=%2Ftopic%2F5%2Fcaf%C3%A9", True),
        ("http://h/login?from=topic/5/caf%C3%A9%23end&x=1", True),
        ("http://h/login?x=1&next=/topic/5/caf%C3%A9/%3Fpage%3D3", True),
        ("http://h/login?next=http%3A%2F%2Fh%2Ftopic%2F5%2Fcaf%C3%A9/", True),
        ("http://h/browse?path=/topic/5/", False),
        ("http://h/browse?path=/topic/5/caf%C3%A9/2", False),
        ("http://h/topic/5/caf%C3%A9/?page=3", False),
        ("http://h/?q=", False),
    ],
)
def test_links_that_lead_back_to_their_page(url: str, expected: bool) -> None:
    assert leads_back(url, "http://h/topic/5/caf%C3%A9/?page=2") is expected


def test_root_path_proves_nothing() -> None:
    assert not leads_back("http://h/browse?path=/", "http://h/")
