"""The settings ``ROBOTSTXT_*``: this project's, and Scrapy's name of the crawler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from crawlproject.options.values import Options, Reader
from crawlproject.urls.robots_rules import robot_names


@dataclass(frozen=True)
class RobotsOptions(Options):
    """The crawler's names, how long robots.txt files are kept, and when a server without one is given up."""

    #: By which pages may address the crawler; of ``ROBOTSTXT_USER_AGENT``, else of ``USER_AGENT``.
    names: frozenset[str]
    #: Longest use of a copy, seconds.
    cache_time: float
    #: Copies kept; each 4 kB of a longer one counts as one more.
    cache_size: int
    #: Failures in a row after which the server is given up; 0 = never.
    max_failures: int

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """See ``Options``."""
        agent = reader.value("ROBOTSTXT_USER_AGENT") or reader.value("USER_AGENT")
        return cls(
            names=robot_names(str(agent or "")),
            # RFC 9309 §2.4: no copy is used for longer than 24 hours.
            cache_time=reader.number("ROBOTSTXT_CACHE_TIME", 86_400.0),
            # 4 kB of rules (the mean of 2,163 popular servers; the median is 0.6 kB) take 4.5 kB parsed: 90 MB.
            cache_size=reader.count("ROBOTSTXT_CACHE_SIZE", 20_000, least=1),
            # With the back-off of failing servers 5 + 10 + 20 + 40 + 80 s: a small crawl ends after 2.5 minutes.
            max_failures=reader.count("ROBOTSTXT_MAX_FAILURES", 6),
        )
