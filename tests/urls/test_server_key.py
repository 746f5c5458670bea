"""Server keys, hosts and registered domains."""

import pytest
from hypothesis import given
from tldextract import TLDExtract

from crawlproject.urls import Canonicalizer, domain_of_server, host_of, server_key
from crawlproject.urls.server_key import DomainTable, suffix_list_id

from .conftest import PROPERTY, url_like

KEYS = {
    "http://h.org/": "http://h.org",
    "https://h.org:8443/a/b?c=http://x/": "https://h.org:8443",
    "http://[::1]:80/a": "http://[::1]",
    "https://h.org:80/": "https://h.org:80",
    "https://h.org:443/": "https://h.org",
    "http://h.org:08080/": "http://h.org:8080",
    "http://h.org:59999/": "http://h.org:59999",
    "http://h.org:65535/": "http://h.org:65535",
    "HTTP://U:p@H.Org:80/a": "http://h.org",
    "https://h.org.:443": "https://h.org",
    "http://h.org?a/b": "http://h.org",
    "http:h.org/a/b": "http://h.org",
    " https:////h.org/a": "https://h.org",
    "file:///a/b": "file://",
    "s3://Bucket/a": "s3://bucket",
    "ftp://u:p@h:21/a": "ftp://h:21",
    "data:text/html,<a href='http://h/'>": "data:",
    "about:blank": "about:",
}


@pytest.mark.parametrize(("url", "key"), KEYS.items())
def test_server_key_is_scheme_host_and_port(url, key):
    """Every spelling of a server has one key."""
    assert server_key(url) == key


@pytest.mark.parametrize(
    "url", ["", "h.org/a", "/a", "//h.org/", "http://", "http:///", "http://h:x/", "1:2", "a" * 999]
)
def test_url_without_server_is_named(url):
    """A URL without a server raises an error that shows its beginning."""
    with pytest.raises(ValueError, match="no scheme and host in URL") as error:
        server_key(url)
    assert len(str(error.value)) < 150


@pytest.mark.parametrize("others", [{}, {"b.test:8080": 3, "http://b.test": 4}], ids=["hosts", "ports as well"])
def test_the_most_specific_name_wins(others):
    """In a table of hosts alone, where others are not looked for, and in one with ports and schemes."""
    table = DomainTable({"test": 1, "b.test": 2} | others)
    places = ("http://b.test:8080/", "https://b.test:8080/", "http://b.test/", "https://a.b.test/", "http://test/")
    found = [table.of(url) for url in places]
    assert found == ([3, 3, 4, 2, 1] if others else [2, 2, 2, 2, 1])
    assert [table.of(url) for url in ("http://[::1]/", "http://btest.org/", "data:,b.test", "x")] == [None] * 4


def test_host_of_key():
    """The host without port and brackets."""
    keys = ("http://h.org", "https://h.org:8443", "http://[::1]:8080", "http://1.2.3.4", "file://", "data:")
    assert [host_of(key) for key in keys] == ["h.org", "h.org", "::1", "1.2.3.4", "", ""]


@PROPERTY
@given(url_like())
def test_key_is_prefix_of_canonical_url(text):
    """The key is a prefix of a canonical URL, and the key of a key is itself."""
    url = Canonicalizer().canonical(text)
    if url is not None:
        key = server_key(url)
        assert url.startswith(f"{key}/")
        assert server_key(key) == server_key(f"{key}/") == key
        assert host_of(key)


@PROPERTY
@given(url_like())
def test_every_spelling_has_the_key_of_its_canonical_url(text):
    """The key of a URL as written is the key of its canonical form."""
    url = Canonicalizer().canonical(text)
    if url is not None:
        assert server_key(text) == server_key(url)


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.co.uk", "example.co.uk"),
        ("WWW.Example.ORG", "example.org"),
        ("xn--bcher-kva.de", "xn--bcher-kva.de"),
        ("a.b.github.io", "github.io"),
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("1.2.3.4", "1.2.3.4"),
        ("::1", "::1"),
        ("", ""),
    ],
)
def test_registered_domain_falls_back_to_the_host(host, domain):
    """Hosts under a public suffix have a registered domain; for others it is the host."""
    assert domain_of_server(f"http://[{host}]" if ":" in host else f"http://{host}") == domain


def test_suffix_list_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for the same list in any order; another for another list."""
    own = suffix_list_id.__wrapped__()
    assert own == suffix_list_id() == suffix_list_id.__wrapped__()
    suffixes = TLDExtract(suffix_list_urls=(), cache_dir=None).tlds
    monkeypatch.setattr(TLDExtract, "tlds", suffixes[::-1])
    assert suffix_list_id.__wrapped__() == own
    monkeypatch.setattr(TLDExtract, "tlds", suffixes[1:])
    assert suffix_list_id.__wrapped__() != own
