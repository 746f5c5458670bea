"""Partitions: equal for the servers of a domain and in all processes; contiguous in every table; shared equally."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.seen.fingerprint import KEY_BYTES, key_bytes, url_fingerprint
from crawlproject.urls.server_key import server_key
from crawlproject.workers.partitions import MAX_PREFIX, Partitions, assign

COUNTS = [1, 2, 256, 4096]


@pytest.mark.parametrize("count", COUNTS)
def test_servers_of_a_domain_are_together(count: int) -> None:
    """Their seen keys differ in the hash below the partition, which is the server's."""
    partitions = Partitions(count)
    keys = ["https://example.co.uk", "http://www.example.co.uk", "https://a.b.example.co.uk:8443"]
    assert len({partitions.of(key) for key in keys}) == 1
    assert 0 <= partitions.of(keys[0]) < count
    assert len({partitions.server_part(f"{key}/") for key in keys}) == 3


def test_known_partitions() -> None:
    """Part of the format of what is stored: another process, or another version, must find the same."""
    partitions = Partitions(256)
    servers = ["http://example.com", "http://a", "http://[::1]:81", "data:", ""]
    assert [partitions.of(server) for server in servers] == [66, 202, 178, 18, 18]
    assert f"{partitions.url_key('http://example.com/'):024x}" == "424c61dbfb2241160c9dad06"


def test_partitions_have_equal_shares() -> None:
    partitions = Partitions(16)
    counts = Counter(partitions.of(f"http://www.site{number}.org") for number in range(4000))
    assert min(counts.values()) > 190  # 250 on average, standard deviation 16
    assert max(counts.values()) < 310


@pytest.mark.parametrize(
    "url",
    [
        "https://www.example.org/a//b?c=/d",
        "http://example.org",
        "http://Example.ORG:80/a",
        "http://user@example.org/a",
        "http:////example.org/a",
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


@settings(max_examples=50)
@given(st.text(max_size=30), st.sampled_from(["http://", "https://", "http://example.com/", "ftp://", ""]))
def test_any_text_has_a_partition(text: str, start: str) -> None:
    """In whose range its key is; without a server, that of none."""
    partitions = Partitions(256)
    url = start + text
    one, key = partitions.of_url(url), partitions.url_key(url)
    assert one == partitions.of_number(key >> 64)
    assert partitions.first_seen(one) <= key < partitions.first_seen(one + 1)
    assert key & ((1 << 64) - 1) == url_fingerprint(url)
    assert len(key_bytes(key)) == KEY_BYTES
    assert start or text.partition(":")[1] or one == partitions.of("")


@pytest.mark.parametrize("count", COUNTS)
def test_ranges_are_adjacent(count: int) -> None:
    partitions = Partitions(count)
    assert partitions.first_number(0) == partitions.first_seen(0) == 0
    assert partitions.first_number(count) == 1 << 32
    assert partitions.first_seen(count) == 1 << 96
    for one in range(count):
        assert partitions.of_number(partitions.first_number(one)) == one
        assert partitions.of_number(partitions.first_number(one + 1) - 1) == one


@pytest.mark.parametrize("count", [0, -1, 3, 8192])
def test_count_is_a_power_of_two(count: int) -> None:
    with pytest.raises(ValueError, match=f"{count} partitions"):
        Partitions(count)


# who owns what


def ids(count: int, seed: int = 0) -> list[str]:
    return [f"worker-{seed}-{number}" for number in range(count)]


@pytest.mark.parametrize(("partitions", "workers"), [(256, 1), (256, 3), (256, 7), (256, 16), (1024, 30), (4, 7)])
def test_shares_are_equal(partitions: int, workers: int) -> None:
    """And the same in all workers."""
    owners = assign(partitions, ids(workers))
    assert len(owners) == partitions
    shares = Counter(dict.fromkeys(ids(workers), 0))
    shares.update(owners)
    assert len(shares) == workers
    assert max(shares.values()) - min(shares.values()) <= 1
    mixed = ids(workers)
    random.Random(1).shuffle(mixed)
    assert assign(partitions, mixed) == assign(partitions, {*mixed}) == owners


def test_known_owners() -> None:
    """Workers of different versions must agree; each answer is the caller's own."""
    for _ in range(2):
        owners = assign(8, ["a", "b", "c"])
        assert owners == ["b", "c", "b", "c", "a", "a", "b", "c"]
        owners.clear()
    with pytest.raises(ValueError, match="no workers"):
        assign(8, [])


@pytest.mark.parametrize(("workers", "limit"), [(1, 1.01), (2, 1.3), (4, 1.3), (8, 1.6), (16, 2.1)])
def test_few_move_when_a_worker_joins_or_leaves(workers: int, limit: float) -> None:
    """Moved partitions relative to the share of one worker, which must move; the limits are measured."""
    for seed in range(5):
        more = ids(workers + 1, seed)
        before, after = assign(256, more[:-1]), assign(256, more)
        moved = sum(one != other for one, other in zip(before, after, strict=True))
        assert moved <= limit * -(-256 // (workers + 1))
