"""Crawl-delays of servers that belong to this worker, to another one, or are about to go to another one."""

from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from crawlproject.discovery.crawl_delays import CrawlDelays
from crawlproject.frontier import BestPrefix, Entry, Frontier
from crawlproject.middlewares.robots_parser import CappedRobotParser
from crawlproject.workers.outbox import Outbox
from crawlproject.workers.partitions import Partitions

KEY = "http://www.a.com"


@pytest.mark.parametrize(
    ("is_own", "is_known", "delay"), [(True, False, 7.0), (False, True, 7.0), (False, False, None)]
)
def test_a_delay_is_applied_until_the_server_has_gone(*, is_own: bool, is_known: bool, delay: float | None) -> None:
    """robots.txt was read when its partition was about to go: the next owner contacted the server within a second."""
    frontier, box, partitions = Frontier(BestPrefix()), Outbox(Partitions(4)), Partitions(4)
    box.set_own(partitions.of(KEY), own=is_own)
    if is_known:
        frontier.push([Entry(f"{KEY}/")])
    crawler = get_crawler()
    stats = crawler.stats
    assert stats is not None
    delays = CrawlDelays(frontier, stats, Settings({"USER_AGENT": "me"}), box)
    rules = CappedRobotParser.from_crawler(crawler, b"User-agent: *\nCrawl-delay: 7\n")
    delays.robots_parsed(rules, Request(f"{KEY}/"))
    server = frontier.server(KEY)
    assert (None if server is None else server.crawl_delay) == delay
