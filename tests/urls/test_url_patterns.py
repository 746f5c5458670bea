"""URL patterns written by operators."""

import time

import pytest

from crawlproject.urls import Canonicalizer, LinkFilter, UrlPatterns

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
        ("/a+b.(c)[d]", (f"{A}/a+b.(c)%5Bd%5D",), (f"{A}/aab.c",)),
        ("re:/[0-9]{4}/", (f"{A}/x/2024/y",), (f"{A}/20245/",)),
        ("re:(?i)PRINT", (f"{A}/print",), (f"{A}/p",)),
    ],
)
def test_pattern_is_as_in_robots_txt(pattern: str, matching: tuple[str, ...], others: tuple[str, ...]) -> None:
    """A prefix, ``*``, ``$``, or an RE2 expression; the same in combination with other patterns."""
    for patterns in (UrlPatterns([pattern]), UrlPatterns(["/nothing", pattern, "re:^$"])):
        assert [url for url in (*matching, *others) if patterns.match(url)] == list(matching)


#: Patterns -> URLs as pages write them, of which each pattern matches each, and others.
SPELLINGS: list[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = [
    (("/%7Euser", "/%7euser", "/~user", "re:/%7Euser"), ("/~user/x", "/%7Euser", "/%7euser"), ("/user",)),
    (("/%c3%bc", "/%C3%BC", "/ü", "re:%c3%bc", "re:/ü", "re:[äü]"), ("/ü/x", "/%c3%bc", "/%C3%BC"), ("/u",)),
    (("*?x[]=", "*?x%5b%5D=", "re:x%5b%5d="), ("/l?x[]=1", "/l?x%5b%5d=1"), ("/l?x=1",)),
    (("/a b", "/a%20b"), ("/a b", "/a%20b"), ("/ab",)),
    (("/100%$", "/100%25$"), ("/100%", "/100%25"), ("/100",)),
    (("/a(b)", "/a%28b%29", "/a%28b)"), ("/a(b)", "/a%28b%29"), ("/ab",)),
    (("/Kind:It's", "/Kind%3AIt%27s"), ("/Kind:It's", "/Kind%3aIt%27s"), ("/kind:it's",)),
    (("*?q='x'", "*?q=%27x%27"), ("/?q='x'", "/?q=%27x%27"), ("/?q=x",)),
    (("/a%2Ab",), ("/a*b", "/a%2ab"), ("/axb",)),
    (("/a|b{c}", "/a%7cb%7Bc}"), ("/a|b{c}", "/a%7Cb%7bc%7d"), ("/abc",)),
    (
        ("HTTP://H.Test/x", "http://h.test:80/x", "http://h.test./x", "*://H.TEST:80/x", "http://h%2Etest/x"),
        ("http://h.test/x", "HTTP://H.TEST:80/x", "http://h.test./xy"),
        ("http://h.test:81/x", "http://www.h.test/x"),
    ),
    (
        ("http://*.H.test/", "*.H.TEST/", "http://*.h.test:80/", "http://WWW.h.test"),
        ("http://www.h.test/x",),
        ("http://h.test/x",),
    ),
    (
        ("http://münchen.test/", "http://MÜNCHEN.test/", "http://xn--MNCHEN-3ya.test/", "re:münchen\\.test/"),
        ("http://münchen.test/", "http://XN--mnchen-3ya.test/x"),
        ("http://munchen.test/",),
    ),
    (("http://*.münchen.test/", "*.münchen.test/"), ("http://www.münchen.test/",), ("http://www.munchen.test/",)),
    (("http://127.1/", "http://2130706433/"), ("http://127.0.0.1/x",), ("http://127.0.0.2/",)),
]


@pytest.mark.parametrize(("patterns", "matching", "others"), SPELLINGS)
def test_spelling_does_not_matter(
    patterns: tuple[str, ...], matching: tuple[str, ...], others: tuple[str, ...]
) -> None:
    """Neither of the pattern nor of the link."""
    canonical = Canonicalizer(()).canonical
    urls = [canonical(url, f"{A}/") or "" for url in (*matching, *others)]
    for pattern in patterns:
        found = UrlPatterns([pattern])
        assert [url for url in urls if found.match(url)] == urls[: len(matching)], pattern


def test_capitals_of_a_path_count() -> None:
    """What may be a host, because it ends before a slash, may be a part of the path as well."""
    assert UrlPatterns(["*.PDF"]).match(f"{A}/x.PDF")
    assert not UrlPatterns(["*.PDF"]).match(f"{A}/x.pdf")
    assert not UrlPatterns(["*.PDF"]).match("https://www.pdf.example/")
    assert UrlPatterns(["*Mr.X/"]).match(f"{A}/Mr.X/y")


@pytest.mark.parametrize(
    ("patterns", "told"),
    [
        (["docs/"], "'docs/': a pattern begins with /, \\*, http://, https:// or re:"),
        (["//a.example/"], "a pattern begins with"),
        (["/page#part"], "'/page#part': no URL has a fragment here; .* is written %23"),
        (["/a/../b"], "no URL has the path segments . and .."),
        (["*/%2E/"], "no URL has the path segments . and .."),
        (["http://*ü.example/"], "no part of a host name"),
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
