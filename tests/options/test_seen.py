"""Wrong settings ``SEEN_*`` are refused at start, by name; right ones make the cache that they describe."""

import pytest
from scrapy.settings import Settings

from crawlproject.addon import FrontierAddon
from crawlproject.options.seen import SeenOptions
from crawlproject.seen import ClockCache


def options(**settings: object) -> SeenOptions:
    """From a project's settings."""
    return SeenOptions.from_settings(Settings(settings))


@pytest.mark.parametrize("value", [-1, "many"])
def test_wrong_values_are_refused(value: object) -> None:
    """With setting and value, also by the add-on."""
    message = f"^SEEN_CACHE_SIZE={value!r}: must be a whole number >= 0"
    with pytest.raises(ValueError, match=message):
        options(SEEN_CACHE_SIZE=value)
    with pytest.raises(ValueError, match=message):
        FrontierAddon().update_settings(Settings({"SEEN_CACHE_SIZE": value}))


def test_the_cache_has_its_size() -> None:
    """2^16 keys without a setting; the command line gives text; a size of 0 leaves the cache out."""
    assert options() == SeenOptions(2**16)
    cache = options(SEEN_CACHE_SIZE="7").cache()
    assert isinstance(cache, ClockCache)
    assert cache.size == 7
    assert options(SEEN_CACHE_SIZE=0).cache() is None
