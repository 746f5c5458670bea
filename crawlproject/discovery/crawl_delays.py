"""The ``Crawl-delay`` of robots.txt files."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from crawlproject.urls import server_key

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.robotstxt import RobotParser
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

    from crawlproject.backends.protocol import Exchange
    from crawlproject.frontier.frontier import Frontier


class CrawlDelays:
    """Passes ``Crawl-delay`` (seconds) to the frontier. Stats: ``frontier/crawl_delays``."""

    def __init__(
        self, frontier: Frontier, stats: StatsCollector, settings: BaseSettings, exchange: Exchange | None = None
    ) -> None:
        self._frontier = frontier
        self._exchange = exchange
        self._stats = stats
        self._agent: str | None = settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"]

    def robots_parsed(self, rules: RobotParser, page: Request) -> None:
        """Apply the delay in ``rules`` to the server of ``page``, or remove an older delay.

        Also if the server is about to go to another worker, who must know how long it rests after this contact.
        """
        key = server_key(page.url)
        is_own = self._exchange is None or self._exchange.is_own(page.url)
        if not is_own and self._frontier.server(key) is None:
            return
        delay = rules.crawl_delay(self._agent or page.headers.get(b"User-Agent") or b"*")
        server = self._frontier.server(key)
        if delay is not None and isfinite(delay) and delay > 0:
            self._frontier.servers.set_crawl_delay(key, delay)
            self._stats.inc_value("frontier/crawl_delays")
        elif server is not None and server.crawl_delay:
            self._frontier.servers.set_crawl_delay(key, 0.0)
