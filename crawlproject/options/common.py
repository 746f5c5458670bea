"""The settings that must be equal in all workers of a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.options.redis import RedisOptions
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.options.values import Reader
from crawlproject.urls import DEFAULT_DROP_PARAMS

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def common_settings(crawler: Crawler) -> dict[str, str]:
    """The settings that decide who owns a URL and which URLs are equal: the same in all workers. Name -> value."""
    options = RedisOptions.of(crawler)
    dropped = Reader(crawler.settings).strings("FRONTIER_DROP_PARAMETERS", unset=DEFAULT_DROP_PARAMS)
    values = {
        "FRONTIER_PARTITIONS": options.partitions,
        "FRONTIER_LEASE": options.lease,
        "FRONTIER_POLITENESS_GROUP": FrontierOptions.of(crawler).group,
        "FRONTIER_DROP_PARAMETERS": sorted(set(dropped)),
    }
    return {name: repr(value) for name, value in values.items()}
