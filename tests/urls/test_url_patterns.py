"""URL patterns written by operators."""

from __future__ import annotations

import time

import pytest

from crawlproject.urls import LinkFilter, UrlPatterns

A = "https://a.example"


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("/docs/", (f"{A}/docs/", f"{A}/docs/1?q", "http://b.example:8080/docs/x"), (f"{A}/", f"{A}/x/docs/")),
        ("/*?sort=", (f"{A}/l?sort=1", f"{A}/?sort="), (f"{A}/l?page=1&sort=1", f"{A}/sort=")),
        (f"{A}/x", (f"{A}/x", f"{A}/xyz"), ("http://a.example/x", f"{A}/y/x")),
        ("*.pdf$", (f"{A}/x.pdf",), (f"{A}/x.pdf?v=1", f"{A}/xpdf")),
        ("/a$", (f"{A}/a",), (f"{A}/ab",)),
        ("*", (f"{A}/",), ()),
        ("/über", (f"{A}/%C3%BCber",), (f"{A}/uber",)),
        ("/a+b.(c)[d]", (f"{A}/a+b.(c)[d]",), (f"{A}/aab.c",)),
        ("re:/[0-9]{4}/", (f"{A}/x/2024/y",), (f"{A}/20245/",)),
        ("re:(?i)PRINT", (f"{A}/print",), (f"{A}/p",)),
    ],
)
def test_pattern_is_as_in_robots_txt(pattern: str, matching: tuple[str, ...], others: tuple[str, ...]) -> None:
    """A prefix, ``*``, ``$``, or an RE2 expression; the same in combination with other patterns."""
    for patterns in (UrlPatterns([pattern]), UrlPatterns(["/nothing", pattern, "re:^$"])):
        assert [url for url in (*matching, *others) if patterns.match(url)] == list(matching)


def test_no_pattern_matches_nothing() -> None:
    """And the object is false."""
    assert not UrlPatterns([])
    assert not UrlPatterns([]).match(A)


@pytest.mark.parametrize(
    ("patterns", "told"),
    [
        (["docs/"], "'docs/': a pattern begins with /, \\*, http://, https:// or re:"),
        (["//a.example/"], "a pattern begins with"),
        (["re:("], "'re:\\(': missing"),
        (["re:(a)\\1"], "invalid escape"),
        (["/" + "a" * 2083], "at most 2083 characters"),
        (["/a"] * 1001, "1001 patterns: at most 1000"),
    ],
)
def test_wrong_pattern_is_refused(patterns: list[str], told: str) -> None:
    """With its text, cut to a maximum length."""
    with pytest.raises(ValueError, match=told) as error:
        UrlPatterns(patterns)
    assert len(str(error.value)) < 300


def test_time_is_linear_in_the_url() -> None:
    """Patterns that take backtracking engines years: 2,000 URLs of 2 kB in less than a second of CPU."""
    evil = ["re:(a*)*$", "re:(a|aa)+$", "/" + "*a" * 100 + "b", *(f"/x{i}*y*z" for i in range(300))]
    patterns = UrlPatterns(evil[2:])
    assert not patterns.match(f"{A}/" + "a" * 2000)
    assert UrlPatterns(evil).match(f"{A}/" + "a" * 2000)
    start = time.thread_time()
    for number in range(2000):
        patterns.match(f"{A}/{number}" + "a" * 2000)
    assert time.thread_time() - start < 1


def test_link_filter_goes_by_patterns() -> None:
    """Included and not excluded; seeds and sitemaps are exempt."""
    rules = LinkFilter(include=UrlPatterns(["/docs/"]), exclude=UrlPatterns(["*/print$"]))
    urls = (f"{A}/docs/1", f"{A}/docs/print", f"{A}/")
    assert [rules.reason(url) for url in urls] == [None, "excluded", "excluded"]
    assert [rules.without_patterns().reason(url) for url in urls] == [None] * 3


def test_denied_servers() -> None:
    """Domains with their subdomains, independent of the other rules."""
    rules = LinkFilter(denied=frozenset(("a.example", "b.example:8080")))
    keys = ("http://x.a.example", "https://a.example", "http://b.example", "http://b.example:8080")
    assert [rules.denies(key) for key in keys] == [True, True, False, True]
