"""Keys of URLs: uniqueness and order."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from crawlproject.seen import fingerprint
from crawlproject.seen.fingerprint import key_bytes, server_part, url_fingerprint, url_key

from .conftest import PROPERTY

URLS = st.builds(
    "{}://{}{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["a.org", "b.org", "b.org:8080", "[::1]"]),
    st.sampled_from(["/", "/x", "/x?a=1&b=2", "/x?b=2&a=1", "/x?a=1", "/é"]),
)


@PROPERTY
@given(URLS, URLS)
def test_equal_keys_mean_equal_urls(one: str, other: str) -> None:
    """Except for the order of query parameters."""
    in_order = [url.replace("?b=2&a=1", "?a=1&b=2") for url in (one, other)]
    assert (url_key(one) == url_key(other)) == (in_order[0] == in_order[1])
    assert (url_fingerprint(one) == url_fingerprint(other)) == (in_order[0] == in_order[1])


@PROPERTY
@given(st.lists(URLS))
def test_urls_of_a_server_lie_together(urls: list[str]) -> None:
    """Sorted by key, as ints or bytes, each server is one block."""
    keys = sorted({url_key(url) for url in urls})
    assert sorted(map(key_bytes, keys)) == list(map(key_bytes, keys))
    servers = [key >> 64 for key in keys]
    changes = sum(one != other for one, other in pairwise(servers))
    assert changes + 1 == len(set(servers)) or not servers


def test_low_part_is_the_fingerprint_of_the_whole_url() -> None:
    """So "/" of two servers differs, even if the servers' parts are equal."""
    one, other = "http://a.org/", "http://b.org/"
    assert url_key(one) & (2**64 - 1) == url_fingerprint(one) != url_fingerprint(other)
    assert url_key(one) - url_fingerprint(one) == server_part("http://a.org/anything")


def test_servers_that_collide_share_no_page(monkeypatch) -> None:
    """All servers with one prefix: each URL still has its own key."""
    monkeypatch.setattr(fingerprint, "_part_of", lambda server: 7 << 64)
    urls = [f"http://host{number}.org/" for number in range(1_000)]
    assert len(set(map(url_key, urls))) == 1_000
    assert {key >> 64 for key in map(url_key, urls)} == {7}


def test_key_is_twelve_bytes() -> None:
    """Also for a URL without a server."""
    for url in ("http://a.org/", "data:,x", "nothing", "\ud800://\ud800/\ud800"):
        assert len(key_bytes(url_key(url))) == 12


def test_values_do_not_change() -> None:
    """Keys are stored in files; other values would need a new version of the files."""
    assert url_fingerprint("http://example.org/") == 0x40996F077A4E5125
    assert url_key("http://example.org/x?b=2&a=1") == 0xCAD20C00_DA8275998515990A
