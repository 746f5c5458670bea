"""The seen-set that the settings ``FRONTIER_SEEN_*`` describe."""

from scrapy.settings import Settings

from crawlproject.options.seen import SeenOptions
from crawlproject.seen.bloom import BloomSeenSet
from crawlproject.seen.exact import MemorySeenSet
from crawlproject.seen.seen_set import SeenSet


def options(**settings: object) -> SeenOptions:
    """From a project's settings."""
    return SeenOptions.from_settings(Settings(settings))


def test_seen_set_without_a_store() -> None:
    """Exact, or a bloom."""
    assert isinstance(options().in_memory(), SeenSet)
    bloom = options(FRONTIER_SEEN_SET="bloom").in_memory()
    assert isinstance(bloom, BloomSeenSet)


def test_seen_set_over_a_store_has_a_cache() -> None:
    """Of the size set; 0 leaves it out."""
    seen = options(FRONTIER_SEEN_CACHE_SIZE=1).over(MemorySeenSet())
    assert seen.add_new([1, 1, 2]) == [True, False, True]
    assert seen.add_new([1]) == [False]
    assert seen.counts() == {"urls": 2, "cache_hits": 1, "store_lookups": 3}
    bare = options(FRONTIER_SEEN_CACHE_SIZE=0).over(MemorySeenSet())
    bare.add_new([1, 1])
    assert bare.counts() == {"urls": 1, "cache_hits": 0, "store_lookups": 2}
