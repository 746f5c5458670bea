"""Partitions: equal for the servers of a domain and in all processes; contiguous in every table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.seen.fingerprint import KEY_BYTES, key_bytes, url_fingerprint
from crawlproject.urls.server_key import server_key
from crawlproject.workers.partitions import MAX_PREFIX, Partitions

COUNTS = [1, 2, 256, 4096]


@pytest.mark.parametrize("count", COUNTS)
def test_servers_of_a_domain_are_together(count: int) -> None:
    partitions = Partitions(count)
    keys = ["https://example.co.uk", "http://www.example.co.uk", "https://a.b.example.co.uk:8443"]
    assert len({partitions.of(key) for key in keys}) == 1
    assert 0 <= partitions.of(keys[0]) < count


def test_known_partitions() -> None:
    """Part of the format of what is stored: another process, or another version, must find the same."""
    partitions = Partitions(256)
    servers = ["http://example.com", "http://a", "http://[::1]:81", "data:", ""]
    assert [partitions.of(server) for server in servers] == [66, 202, 178, 18, 18]
    assert f"{partitions.url_key('http://example.com/'):024x}" == "424c61dbfb2241160c9dad06"


def test_partitions_have_equal_shares() -> None:
    partitions = Partitions(16)
    counts = [0] * 16
    for number in range(4000):
        counts[partitions.of(f"http://www.site{number}.org")] += 1
    assert min(counts) > 190  # 250 on average, standard deviation 16
    assert max(counts) < 310


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "https://www.example.org/a//b?c=/d",
        "http://example.org",
        "http://Example.ORG:80/a",
        "http://user@example.org/a",
        "http:////example.org/a",
        "http://[::1]:81/a",
        "s3://bucket/a/b/c",
        "data:,a/b/c/d",
        "http://" + "a" * MAX_PREFIX + ".example.org/",
    ],
)
def test_url_is_in_the_partition_of_its_server(url: str) -> None:
    partitions = Partitions(4096)
    for _ in range(2):  # computed, then cached
        assert partitions.of_url(url) == partitions.of(server_key(url))
        assert partitions.server_part(url) == partitions.server_part(server_key(url))


@pytest.mark.parametrize("url", ["", "http:", "/a", "http://", "a" * 1000])
def test_url_without_a_server(url: str) -> None:
    partitions = Partitions(256)
    assert partitions.of_url(url) == partitions.of("")
    assert partitions.of_url(url) == partitions.of_number(partitions.url_key(url) >> 64)


@given(st.text(max_size=30), st.sampled_from(["http://", "https://", "http://example.com/", "ftp://", ""]))
def test_any_text_has_a_partition(text: str, start: str) -> None:
    partitions = Partitions(256)
    url = start + text
    key = partitions.url_key(url)
    assert partitions.of_url(url) == partitions.of_number(key >> 64)
    assert key & ((1 << 64) - 1) == url_fingerprint(url)


@pytest.mark.parametrize("count", COUNTS)
def test_ranges_are_adjacent(count: int) -> None:
    partitions = Partitions(count)
    assert partitions.first_number(0) == partitions.first_seen(0) == 0
    assert partitions.first_number(count) == 1 << 32
    assert partitions.first_seen(count) == 1 << 96
    for one in range(count - 1):
        assert partitions.first_number(one + 1) == partitions.first_number(one + 1)
        assert partitions.first_seen(one + 1) == partitions.first_seen(one + 1)
        assert partitions.of_number(partitions.first_number(one + 1) - 1) == one
        assert partitions.of_number(partitions.first_number(one + 1)) == one + 1


def test_seen_keys_of_a_partition_are_in_its_range() -> None:
    partitions = Partitions(64)
    for number in range(300):
        url = f"http://site{number % 100}.org/{number}"
        one, key = partitions.of_url(url), partitions.url_key(url)
        assert partitions.first_seen(one) <= key < partitions.first_seen(one + 1)
        assert key == partitions.server_part(url) | url_fingerprint(url)
        assert len(key_bytes(key)) == KEY_BYTES


def test_servers_of_a_partition_differ_in_their_part() -> None:
    """The hash below the partition is the server's, not its domain's."""
    partitions = Partitions(4096)
    parts = {partitions.server_part(f"http://{number}.example.org/") for number in range(50)}
    assert len(parts) == 50


@pytest.mark.parametrize("count", [0, -1, 3, 8192])
def test_count_is_a_power_of_two(count: int) -> None:
    with pytest.raises(ValueError, match=f"{count} partitions"):
        Partitions(count)
