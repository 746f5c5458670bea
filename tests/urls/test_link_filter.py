"""Refused links and their labels."""

import pytest
from scrapy.linkextractors import IGNORED_EXTENSIONS

from crawlproject.urls import NON_TEXT_EXTENSIONS, LinkFilter
from crawlproject.urls.link_filter import MAX_LENGTH, remembering

REASONS = {
    "http://h/": None,
    "http://h/a.html": None,
    "http://h/a": None,
    "http://h/a.jpg": "extension",
    "http://h/a.JPG?size=2": "extension",
    "http://h/a.b/c.tar.gz": "extension",
    "http://h/+f/ae1/7cb/a-1.0-py3-none-any.whl": "extension",
    "http://h/a.jpg/": None,
    "http://h/a.jpg/b": None,
    "http://h/view?file=a.jpg": None,
    "http://images.jpg/": None,
    "http://h/whois/example.com.au": None,
    "http://h/jpg": None,
    "ftp://h/a": "scheme",
    "mailto:a@h": "scheme",
    "data:text/html,a/b/c/d": "scheme",
    "file:///a/b": "scheme",
    "http://h/" + "a" * 2074: None,
    "http://h/" + "a" * 2075: "length",
}

ALLOWED = frozenset(
    {"example.org", ".dot.org", "*.star.org", "port.org:8080", "tls.org:443", "1.2.3.4", "[::1]", "BÜCHER.de"}
)
OFFSITE = {
    "http://example.org/": None,
    "https://a.b.example.org:99/": None,
    "http://notexample.org/": "offsite",
    "http://example.org.evil.com/": "offsite",
    "http://dot.org/": None,
    "http://www.star.org/": None,
    "http://port.org/": "offsite",
    "http://www.port.org:8080/": None,
    "https://tls.org/": None,
    "http://tls.org/": "offsite",
    "http://1.2.3.4:8000/": None,
    "http://2.3.4/": "offsite",
    "http://[::1]:80/": None,
    "http://[::2]/": "offsite",
    "http://www.xn--bcher-kva.de/": None,
}


@pytest.mark.parametrize(("url", "reason"), REASONS.items())
def test_reason_by_default(url, reason):
    """Without custom rules, only non-text files are refused."""
    assert LinkFilter().reason(url) == reason


@pytest.mark.parametrize(("url", "reason"), OFFSITE.items())
def test_allowed_domains_keep_the_crawl_inside(url, reason):
    """With allowed domains, all others are offsite."""
    assert LinkFilter(allowed=ALLOWED).reason(url) == reason


def test_denied_wins_over_allowed():
    """A denied subdomain of an allowed domain is denied."""
    rules = LinkFilter(allowed=frozenset({"h.org"}), denied=frozenset({"ads.h.org", "x.org"}))
    urls = ("http://h.org/", "http://a.ads.h.org/", "http://x.org/", "http://y.org/")
    assert [rules.reason(url) for url in urls] == [None, "denied", "denied", "offsite"]


@pytest.mark.parametrize("domain", ["", "http://h.org/", "h.org/a", "a b", "h.org:x", "u@h.org", "[::1"])
def test_unreadable_domain_is_named(domain):
    """An invalid domain raises an error that shows it."""
    with pytest.raises(ValueError, match="not a domain"):
        LinkFilter(allowed=frozenset({domain}))


def test_extensions_cover_those_of_scrapy():
    """Of what LinkExtractor refuses, only text and endings that are top-level domains are followed here."""
    assert set(IGNORED_EXTENSIONS) - NON_TEXT_EXTENSIONS == {"tar.gz", "ai", "au", "py", "rb", "rss", "sh"}


def test_a_server_may_be_denied() -> None:
    """As people type it: with scheme and port, or with the port alone."""
    rules = LinkFilter(denied=frozenset({"HTTP://A.example:8200/", "127.1.0.9:8200"}))
    servers = ("http://a.example:8200", "https://a.example:8200", "http://127.1.0.9:8200", "http://127.1.0.9")
    assert [rules.denies(server) for server in servers] == [True, False, True, False]


def test_short_urls_are_asked_about_once_and_long_ones_each_time() -> None:
    """So that long URLs of strangers take no memory."""
    asked: list[str] = []

    def length(url: str) -> int:
        asked.append(url)
        return len(url)

    known = remembering(length)
    short, long = "x" * MAX_LENGTH, "x" * (MAX_LENGTH + 1)
    assert [known(url) for url in (short, short, long, long)] == [len(url) for url in (short, short, long, long)]
    assert asked == [short, long, long]
