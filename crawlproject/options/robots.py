"""The settings ``ROBOTSTXT_*`` of this project: read here and nowhere else, checked once, passed on as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlproject.options.values import SettingValues

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

DEFAULTS: dict[str, Any] = {
    # RFC 9309 §2.4: no copy is used for longer than 24 hours.
    "ROBOTSTXT_CACHE_TIME": 86_400.0,
    # Parsed, 4 kB of rules (the mean of 2,163 popular servers; the median is 0.6 kB) take 4.5 kB: 90 MB.
    "ROBOTSTXT_CACHE_SIZE": 20_000,
    # With the back-off of failing servers 5 + 10 + 20 + 40 + 80 s: two and a half minutes, so that a small crawl ends.
    "ROBOTSTXT_MAX_FAILURES": 6,
}


@dataclass(frozen=True)
class RobotsOptions:
    """How robots.txt is kept, and how often it is asked for, checked."""

    #: Longest use of a copy, seconds.
    cache_time: float = 86_400.0
    #: Copies kept, each 4 kB of a longer one counted as one more.
    cache_size: int = 20_000
    #: Failures in a row after which the server is given up; 0 = never.
    max_failures: int = 6

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> RobotsOptions:
        """Read and check; raises ValueError naming setting and value."""
        values = SettingValues(settings, DEFAULTS)
        return cls(
            cache_time=values.number("ROBOTSTXT_CACHE_TIME"),
            cache_size=values.count("ROBOTSTXT_CACHE_SIZE", least=1),
            max_failures=values.count("ROBOTSTXT_MAX_FAILURES", least=0),
        )
