"""Scrapy's collectors of stats, once they are quick: the same values; a collector that counts by itself still does."""

from typing import Any

import pytest
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.statscollectors import DummyStatsCollector, MemoryStatsCollector, StatsCollector
from scrapy.utils.test import get_crawler

from crawlproject.engine import quicken_stats


class OwnMaximum(MemoryStatsCollector):
    """Does not count by itself, but takes its own maxima."""

    def max_value(self, key: str, value: Any, spider: Any = None) -> None:
        self._stats[f"own/{key}"] = value


class OwnCount(MemoryStatsCollector):
    """Counts by itself."""

    def inc_value(self, key: str, count: int = 1, start: int = 0, spider: Any = None) -> None:
        super().inc_value(f"own/{key}", count, start)


def values(kind: type[StatsCollector], *, is_quick: bool) -> tuple[Any, ...]:
    """What a collector has after one call of each kind."""
    stats = kind(get_crawler(settings_dict={"STATS_DUMP": False}))
    for _ in range(2 if is_quick else 0):
        quicken_stats(stats)
    stats.set_stats({"set": 1})
    stats.inc_value("a")
    stats.inc_value("a", 2)
    stats.inc_value("b", start=5)
    stats.inc_value("c", count=0)
    for value in (3, 9, 4):
        stats.max_value("most", value)
        stats.min_value("least", value)
    stats.set_value("d", None)
    with pytest.warns(ScrapyDeprecationWarning):
        stats.inc_value("a", spider=None)
    with pytest.warns(ScrapyDeprecationWarning):
        stats.max_value("most", 10, None)
    found = dict(stats.get_stats()), stats.get_value("a"), stats.get_value("x", 7), str(stats), type(stats).__name__
    stats.clear_stats()
    stats.inc_value("last")
    stats.close_spider()
    return *found, dict(stats.get_stats()), isinstance(stats, kind)


@pytest.mark.parametrize("kind", [StatsCollector, MemoryStatsCollector, DummyStatsCollector, OwnMaximum, OwnCount])
def test_quick_stats_are_those_of_scrapy(kind: type[StatsCollector]) -> None:
    assert values(kind, is_quick=True) == values(kind, is_quick=False)
