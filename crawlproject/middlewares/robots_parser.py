"""Provides Scrapy's parser interface for ``urls.robots_rules``."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from scrapy.robotstxt import RobotParser
from scrapy.utils.python import to_unicode

from crawlproject.discovery.sitemaps import NamesSitemaps
from crawlproject.engine import stats_of
from crawlproject.urls.robots_rules import MAX_AGENTS, Group, read_group, read_sitemaps

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

#: Bytes read of a robots.txt: RFC 9309 §2.5 requires at least 500 KiB; 5 MB of rules took 4 s, and 0.1 s per URL.
MAX_ROBOTS_TXT = 512_000


class CappedRobotParser(RobotParser, NamesSitemaps):
    """robots.txt by RFC 9309: the first ``MAX_ROBOTS_TXT`` bytes, in UTF-8, or UTF-16 with a byte order mark.

    Parses only the groups of the requested agent. Stats: ``robotstxt/truncated``, ``robotstxt/too_many_wildcards``.
    """

    def __init__(self, body: bytes, stats: StatsCollector) -> None:
        self._body = body
        self._stats = stats
        self._groups: dict[str, Group] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        """Called by RobotsMiddleware."""
        is_long = len(robotstxt_body) > MAX_ROBOTS_TXT
        if robotstxt_body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # Notepad's "Unicode"
            robotstxt_body = robotstxt_body[:MAX_ROBOTS_TXT].decode("utf-16", "ignore").encode()
        if is_long or len(robotstxt_body) > MAX_ROBOTS_TXT:
            stats_of(crawler).inc_value("robotstxt/truncated")
            robotstxt_body = robotstxt_body[:MAX_ROBOTS_TXT].rpartition(b"\n")[0]
        return cls(robotstxt_body, stats_of(crawler))

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Whether ``user_agent`` (a product token, or a whole User-Agent) may fetch ``url``."""
        return self._group(user_agent).allows(to_unicode(url))

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """Crawl-delay for ``user_agent``, seconds; None if not given."""
        return self._group(user_agent).delay

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """URLs of the sitemaps, not resolved."""
        return read_sitemaps(self._body)

    @property
    def text(self) -> str:
        """The file, for people."""
        return self._body.decode("utf-8", "replace")

    def read_for(self, user_agent: str | bytes) -> None:
        """Parse the groups of ``user_agent`` now, in any thread; otherwise the first question about it does."""
        self._group(user_agent)

    def _group(self, user_agent: str | bytes) -> Group:
        agent = to_unicode(user_agent, errors="replace")
        group = self._groups.get(agent)
        if group is None:
            group = read_group(self._body, agent)
            if group.rules.too_many:
                self._stats.inc_value("robotstxt/too_many_wildcards")
            while len(self._groups) >= MAX_AGENTS:
                del self._groups[next(iter(self._groups))]
            self._groups[agent] = group
        return group
