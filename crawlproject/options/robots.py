"""The settings ``ROBOTSTXT_*``: this project's, and Scrapy's name of the crawler."""

from __future__ import annotations

from dataclasses import dataclass

from crawlproject.options.values import Options, Reader, setting
from crawlproject.urls.robots_rules import robot_names


def _names(reader: Reader) -> frozenset[str]:
    agent = reader.value("ROBOTSTXT_USER_AGENT") or reader.value("USER_AGENT")
    return robot_names(str(agent or ""))


@dataclass(frozen=True)
class RobotsOptions(Options):
    """The crawler's names, how long robots.txt files are kept, and when a server without one is given up.

    ROBOTSTXT_CACHE_TIME: seconds for which a robots.txt is used, unless its server allows less
    ROBOTSTXT_CACHE_SIZE: parsed files kept; a long file counts several times
    ROBOTSTXT_MAX_FAILURES: failed downloads in a row after which the server is given up; 0: never
    """

    #: By which pages may address the crawler; of ``ROBOTSTXT_USER_AGENT``, else of ``USER_AGENT``.
    names: frozenset[str] = setting(_names)
    #: Longest use of a copy, seconds.
    # RFC 9309 §2.4: no copy is used for longer than 24 hours.
    cache_time: float = setting(Reader.number, "ROBOTSTXT_CACHE_TIME", 86_400.0)
    #: Copies kept; each 4 kB of a longer one counts as one more.
    # 4 kB of rules (the mean of 2,163 popular servers; the median is 0.6 kB) take 4.5 kB parsed: 90 MB.
    cache_size: int = setting(Reader.count, "ROBOTSTXT_CACHE_SIZE", 20_000, least=1)
    #: Failures in a row after which the server is given up; 0 = never.
    # With the back-off of failing servers 5 + 10 + 20 + 40 + 80 s: a crawl waits 2.5 minutes for it.
    max_failures: int = setting(Reader.count, "ROBOTSTXT_MAX_FAILURES", 6)
