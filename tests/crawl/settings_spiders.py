"""A spider that counts how often the settings of its crawl are parsed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

from crawlproject.options.all_settings import FAMILIES
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.options.values import Reader
from crawlproject.spiders.web import WebSpider

PARSED: Counter[str] = Counter()
OPENED: Counter[str] = Counter()


def count_calls() -> None:
    """Count each parse of a family, and each file opened through ``Path``, from now on."""
    for family in FAMILIES:

        def read(cls: type, reader: Reader, original: Any = family.read.__func__) -> Any:  # type: ignore[attr-defined]
            PARSED[cls.__name__] += 1
            return original(cls, reader)

        family.read = classmethod(read)  # type: ignore[assignment,method-assign]
    path_open = Path.open

    def counting_open(self: Path, *args: Any, **kwargs: Any) -> Any:
        OPENED[self.name] += 1
        return path_open(self, *args, **kwargs)

    Path.open = counting_open  # type: ignore[method-assign]


class CountingSpider(WebSpider):
    """Also changes settings in each place where a spider may."""

    name = "counting"
    custom_settings = {"FRONTIER_QUALITY": "scores", "FRONTIER_MAX_BATCH": 6}

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        count_calls()
        crawler.settings.set("FRONTIER_MAX_BATCH", 7, priority="spider")
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.write_counts, signals.spider_closed)
        return spider

    def write_counts(self) -> None:
        stats = self.crawler.stats
        assert stats is not None
        for name, count in PARSED.items():
            stats.set_value(f"parsed/{name}", count)
        for name in ("scores.tsv", "deny.txt"):
            stats.set_value(f"opened/{name}", OPENED[name])
        stats.set_value("max_batch", FrontierOptions.of(self.crawler).max_batch)
