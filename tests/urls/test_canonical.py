"""The canonical form of a URL: cases and invariants."""

import time

import pytest
from hypothesis import given
from scrapy import Request

from crawlproject.urls import Canonicalizer, why_none

from .conftest import PROPERTY, url_like

CANONICALIZER = Canonicalizer()

CASES = {
    "g": "http://a/b/c/g",
    "./g": "http://a/b/c/g",
    "g/": "http://a/b/c/g/",
    "/g": "http://a/g",
    "//g": "http://g/",
    "?y": "http://a/b/c/d;p?y",
    "g?y": "http://a/b/c/g?y",
    "#s": "http://a/b/c/d;p?q",
    "g#s": "http://a/b/c/g",
    "g?y#s": "http://a/b/c/g?y",
    ";x": "http://a/b/c/;x",
    "g;x": "http://a/b/c/g;x",
    "g;x?y#s": "http://a/b/c/g;x?y",
    "": "http://a/b/c/d;p?q",
    ".": "http://a/b/c/",
    "./": "http://a/b/c/",
    "..": "http://a/b/",
    "../": "http://a/b/",
    "../g": "http://a/b/g",
    "../..": "http://a/",
    "../../": "http://a/",
    "../../g": "http://a/g",
    "../../../g": "http://a/g",
    "../../../../g": "http://a/g",
    "/./g": "http://a/g",
    "/../g": "http://a/g",
    "g.": "http://a/b/c/g.",
    ".g": "http://a/b/c/.g",
    "g..": "http://a/b/c/g..",
    "..g": "http://a/b/c/..g",
    "./../g": "http://a/b/g",
    "./g/.": "http://a/b/c/g/",
    "g/./h": "http://a/b/c/g/h",
    "g/../h": "http://a/b/c/h",
    "g;x=1/./y": "http://a/b/c/g;x=1/y",
    "g;x=1/../y": "http://a/b/c/y",
    "g?y/./x": "http://a/b/c/g?y/./x",
    "g?y/../x": "http://a/b/c/g?y/../x",
    "g#s/../x": "http://a/b/c/g",
    "http:g": "http://a/b/c/g",  # as browsers do; a strict parser says "http:g"
    "g:h": None,
}

CASES = {
    # scheme and host
    "HTTP://Example.ORG/A": "http://example.org/A",
    "http://example.org": "http://example.org/",
    "http://example.org:80/": "http://example.org/",
    "https://example.org:443/": "https://example.org/",
    "http://example.org:443/": "http://example.org:443/",
    "http://example.org:/": "http://example.org/",
    "http://example.org:08080/": "http://example.org:8080/",
    "http://example.org./": "http://example.org/",
    "http://example.org...:8080/": "http://example.org:8080/",
    "http://user:secret@example.org/": "http://example.org/",
    "http://bücher.de/": "http://xn--bcher-kva.de/",
    "http://b%C3%BCcher.de/": "http://xn--bcher-kva.de/",
    "http://0x7f.1/": "http://127.0.0.1/",
    "http://0x7f.1../": "http://127.0.0.1/",
    "http://[0:0::1]/": "http://[::1]/",
    "http:\\\\example.org\\a": "http://example.org/a",
    " http://exam\tple.org/a\nb ": "http://example.org/ab",
    # path and query
    "http://h/a#b?c": "http://h/a",
    "http://h/?": "http://h/",
    "http://h?": "http://h/",
    "http://h/??": "http://h/??",
    "http://h?a": "http://h/?a",
    "http://h/a/./b/../c": "http://h/a/c",
    "http://h/a/%2e%2E/c": "http://h/c",
    "http://h//a///b": "http://h//a///b",
    "http://h/?b=1&a=2&&c=": "http://h/?b=1&a=2&&c=",
    # escapes
    "http://h/%7Ea/%41%2d%5f": "http://h/~a/A-_",
    "http://h/%2f%3f%23?%26%3d": "http://h/%2F%3F%23?%26%3D",
    "http://h/é?é": "http://h/%C3%A9?%C3%A9",
    "http://h/%e9": "http://h/%E9",
    "http://h/a b?a b": "http://h/a%20b?a%20b",
    "http://h/100%?100%": "http://h/100%25?100%25",
    "http://h/%%37E": "http://h/%257E",
    "http://h/[a|b]^`{}": "http://h/%5Ba%7Cb%5D%5E%60%7B%7D",
    "http://h/?[a|b]\\^`{}'": "http://h/?%5Ba%7Cb%5D%5C%5E%60%7B%7D%27",
    # session ids
    "http://h/a;jsessionid=1F?b=1&utm_source=x&c=2": "http://h/a?b=1&c=2",
    "http://h/a?utm_source=x": "http://h/a",
    "http://h/a/..;jsessionid=1": "http://h/",
}

MALFORMED = [
    *("", " ", "a", "/a", "//h/", "http:", "http://", "http:///", "http://.", "http://h:99999/", "http://[::1/"),
    *("http://a b/", "http://a%00b/", "http://1.2.3.4.5/", "http://h/\ud800", "http://\ud800/"),
    *("mailto:a@h", "javascript:void(0)", "ftp://h/", "file:///a", "data:text/html,a", "ws://h/", "about:blank"),
]


@pytest.mark.parametrize(("url", "expected"), CASES.items())
def test_spellings_of_one_url_become_one(url, expected):
    """Each normalisation gives the expected spelling, alone and on a page."""
    assert CANONICALIZER.canonical(url) == expected
    assert CANONICALIZER.batch([url], "http://other/") == [expected]


@pytest.mark.parametrize("url", MALFORMED)
def test_malformed_and_other_schemes_are_none(url):
    """What is not an http or https URL is None."""
    assert CANONICALIZER.canonical(url) is None


@pytest.mark.parametrize("base", ["", "not a URL", "data:,x", "mailto:a@h", "http://.", "http://h:x/"])
def test_base_that_is_no_page_leaves_absolute_links(base):
    """An unusable base only loses the relative links."""
    assert CANONICALIZER.batch(["http://h/a", "b", "/c", "?d", "#e", ""], base) == ["http://h/a", *[None] * 5]


def test_links_of_a_page_with_session_id():
    """The session id in a page's own URL does not reach its links."""
    base = "http://u:p@H.org./a;jsessionid=1/b%7e.html?PHPSESSID=2#c"
    hrefs = ["", "#d", "?e=1", "f", "/g", "../h", "../../../i", "//k/l"]
    expected = ["a/b~.html", "a/b~.html", "a/b~.html?e=1", "a/f", "g", "h", "i"]
    assert CANONICALIZER.batch(hrefs, base) == [*(f"http://h.org/{path}" for path in expected), "http://k/l"]


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("windows-1251", "http://h/%D1%8F?q=%FF"),
        ("koi8-r", "http://h/%D1%8F?q=%D1"),
        ("latin-1", "http://h/%D1%8F?q=%26%231103%3B"),
        ("utf-16", "http://h/%D1%8F?q=%D1%8F"),
        ("no such encoding", "http://h/%D1%8F?q=%D1%8F"),
        ("\0", "http://h/%D1%8F?q=%D1%8F"),
    ],
)
def test_query_takes_the_encoding_of_its_page(encoding, expected):
    """Only the query is escaped in the page's encoding; missing characters become references, as in forms."""
    assert CANONICALIZER.canonical("/я?q=я", "http://h/", encoding) == expected
    assert CANONICALIZER.batch(["/я?q=я"], "http://h/", encoding) == [expected]


@PROPERTY
@given(url_like(), url_like())
def test_canonical_form_is_a_fixed_point(url, base):
    """The canonical form of any text, on any page, is None or its own canonical form."""
    once = CANONICALIZER.canonical(url, base)
    assert once is None or CANONICALIZER.canonical(once) == once


@PROPERTY
@given(url_like())
def test_scrapy_leaves_canonical_urls_alone(text):
    """A Request keeps a canonical URL unchanged, so a page has the same URL everywhere."""
    url = CANONICALIZER.canonical(text)
    assert url is None or Request(url).url == url


#: References that string methods, regular expressions and the parser may each read in their own way; then those of
#: RFC 3986, section 5.4.
ODD = [
    *("\u0130leti\u015fim:x", "\u212a:x", "http\u017f://h/", "\u0130:", "i\u0307:x", "HTTPS:x", "http:", "https:"),
    *("a:b", "java\tscript:x", " mailto:x", "\0mailto:x", "//", "///", "//h.", "//h..:80/", "http://h.:80"),
    *("http://h..", "?", "#", "http://[", "http://[::1%25a]/", "http://%FF/", "http://./", "http://a b/"),
    *("http://h:/", "http://h:99999/", "/a/%2e%2E/b", "a;b:c", "./a:b", "../a:b", "%41:", "%:", "/%", "/%zz", "\\"),
    *("\\\\h/", "a\\b", "?a#b", "x" * 20_000, "/" + "x" * 20_000, "http://" + "h" * 600 + "/"),
    *("http://" + "\u4e00" * 600 + "/", "//u:p@h/", "http:h", "http:/h", "g", "./g", "g/", "/g", "//g", "?y", "g?y"),
    *("#s", "g?y#s", ";x", "g;x", "g;x?y#s", "", ".", "./", "..", "../", "../g", "../..", "../../", "../../g"),
    *("../../../g", "../../../../g", "/./g", "/../g", "g.", ".g", "g..", "..g", "./../g", "./g/.", "g/./h", "g/../h"),
    *("g;x=1/./y", "g;x=1/../y", "g?y/./x", "g?y/../x", "g#s/../x", "http:g", "g:h"),
]


@pytest.mark.parametrize(
    "base",
    ["http://h.org/a/b?c#d", "https://u@h.org:8443/", "http://h.org/a;jsessionid=1/", "http://a/b/c/d;p?q", "data:,x"],
)
def test_alone_and_on_a_page_a_reference_is_the_same(base):
    """``batch`` and ``canonical`` never differ."""
    for href in ODD:
        found = CANONICALIZER.batch([href, f"{href}#x"], base)
        assert found == [CANONICALIZER.canonical(href, base), CANONICALIZER.canonical(f"{href}#x", base)], href


def test_dots_cost_nothing():
    """100,000 dots in a host took 157 s; too long references are rejected, others cost little."""
    started = time.thread_time()
    for href in (
        "http://a" + "." * 100_000 + "b/",
        "http://a" + "." * 500 + "b/",
        "/" + "%61" * 5_000,
        "x" * 1_000_000,
    ):
        CANONICALIZER.batch([href] * 10, "http://h.org/")
        CANONICALIZER.canonical(href)
    assert time.thread_time() - started < 1
    assert why_none("http://a" + "." * 100_000 + "b/") == "length"
