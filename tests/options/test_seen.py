"""Wrong settings ``SEEN_*`` are refused at start, by name; right ones make the seen-set that they describe."""

from pathlib import Path

import pytest
from scrapy.settings import Settings

from crawlproject.addon import FrontierAddon
from crawlproject.options.seen import SeenOptions
from crawlproject.seen import BloomSeenSet, ClockCache, LruCache, MemorySeenSet, RandomCache, SeenSet, StaticCache


def options(**settings: object) -> SeenOptions:
    """From a project's settings."""
    return SeenOptions.from_settings(Settings(settings))


def test_without_settings_the_defaults_hold() -> None:
    """No setting is needed: exact, CLOCK with 2^16 keys; a bloom, where it is alone, for 10 million."""
    assert options() == SeenOptions("exact", "clock", 2**16, (), 0.001, 0, None)
    assert options(SEEN_SET="bloom").bloom_capacity == 10_000_000


def test_settings_are_read_as_text_too() -> None:
    """The command line gives every value as text."""
    given = options(SEEN_SET="bloom", SEEN_BLOOM_ERROR="0.01", SEEN_BLOOM_CAPACITY="1000", JOBDIR="a/job")
    assert (given.kind, given.bloom_error, given.bloom_capacity) == ("bloom", 0.01, 1000)
    assert given.directory == Path("a/job")
    assert not Path("a/job").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"SEEN_SET": "fuzzy"}, r"SEEN_SET='fuzzy': must be one of exact, bloom"),
        ({"SEEN_CACHE_POLICY": "fifo"}, r"SEEN_CACHE_POLICY='fifo': must be one of clock, lru, random, static"),
        ({"SEEN_CACHE_SIZE": -1}, r"SEEN_CACHE_SIZE=-1: must be a whole number >= 0"),
        ({"SEEN_CACHE_SIZE": "many"}, r"SEEN_CACHE_SIZE='many': must be a whole number >= 0"),
        ({"SEEN_BLOOM_ERROR": 0}, r"SEEN_BLOOM_ERROR=0: must be above 0 and below 1"),
        ({"SEEN_BLOOM_ERROR": "1"}, r"SEEN_BLOOM_ERROR='1': must be above 0 and below 1"),
        ({"SEEN_BLOOM_ERROR": "x"}, r"SEEN_BLOOM_ERROR='x': must be a number >= 0"),
        ({"SEEN_BLOOM_CAPACITY": 0, "SEEN_SET": "bloom"}, r"SEEN_BLOOM_CAPACITY=0: must be a whole number >= 1"),
        ({"SEEN_CACHE_POLICY": "static"}, r"SEEN_CACHE_POLICY='static': SEEN_CACHE_URLS must name a file"),
        (
            {"SEEN_CACHE_POLICY": "static", "SEEN_CACHE_URLS": "/nowhere"},
            r"SEEN_CACHE_URLS='/nowhere': .*No such file",
        ),
        ({"SEEN_CACHE_POLICY": "static", "SEEN_CACHE_URLS": "/dev/null"}, r"SEEN_CACHE_URLS='/dev/null': has no URL"),
    ],
)
def test_wrong_values_are_refused(settings: dict[str, object], message: str) -> None:
    """With setting, value and choices, also by the add-on."""
    with pytest.raises(ValueError, match=f"^{message}"):
        options(**settings)
    with pytest.raises(ValueError, match=f"^{message}"):
        FrontierAddon().update_settings(Settings(settings))


def test_seen_set_without_a_store() -> None:
    """Exact, or a bloom of the size and error asked for."""
    assert isinstance(options().in_memory(), SeenSet)
    bloom = options(SEEN_SET="bloom", SEEN_BLOOM_CAPACITY=100).in_memory()
    assert isinstance(bloom, BloomSeenSet)


@pytest.mark.parametrize(("policy", "kind"), [("clock", ClockCache), ("lru", LruCache), ("random", RandomCache)])
def test_seen_set_over_a_store_has_cache_and_bloom(policy: str, kind: type) -> None:
    """As set; a size of 0 leaves them out."""
    chosen = options(SEEN_CACHE_POLICY=policy, SEEN_CACHE_SIZE=7, SEEN_BLOOM_CAPACITY=10)
    cache = chosen.cache(str)
    assert type(cache) is kind
    assert cache.size == 7
    seen = chosen.over(MemorySeenSet(), str)
    assert seen.add_new([1, 1, 2]) == [True, False, True]
    assert seen.counts() == {"urls": 2, "cache_hits": 1, "bloom_new": 2, "store_lookups": 0}
    bare = options(SEEN_CACHE_SIZE=0, SEEN_BLOOM_CAPACITY=0).over(MemorySeenSet(), str)
    bare.add_new([1, 1])
    assert bare.counts() == {"urls": 1, "cache_hits": 0, "bloom_new": 0, "store_lookups": 2}


def test_static_cache_has_the_first_urls_of_its_file(tmp_path: Path) -> None:
    """As many as SEEN_CACHE_SIZE, empty lines not counted."""
    file = tmp_path / "urls.txt"
    file.write_text("http://a/\n\n http://b/ \nhttp://c/\n")
    chosen = options(SEEN_CACHE_POLICY="static", SEEN_CACHE_URLS=str(file), SEEN_CACHE_SIZE=2)
    assert chosen.cache_urls == ("http://a/", "http://b/")
    cache = chosen.cache(lambda url: url[:7])  # any function of a URL
    assert isinstance(cache, StaticCache)
    assert cache.size == 1  # both are equal
