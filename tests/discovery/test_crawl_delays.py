"""Crawl-delays of servers that belong to this worker, to another one, or are about to go to another one."""

import pytest
from scrapy import Request

from crawlproject.frontier import Entry
from crawlproject.middlewares.robots import CappedRobotParser
from tests.backends.worker import Worker

OWN, FOREIGN = "http://a.example", "http://b.example"


@pytest.mark.parametrize(
    ("key", "is_known", "delay"), [(OWN, False, 7.0), (FOREIGN, True, 7.0), (FOREIGN, False, None)]
)
def test_a_delay_is_applied_until_the_server_has_gone(*, key: str, is_known: bool, delay: float | None) -> None:
    """robots.txt was read when its partition was about to go: the next owner contacted the server within a second."""
    worker = Worker()
    frontier = worker.scheduler._frontier
    if is_known:
        frontier.push([Entry(f"{key}/")])
    rules = CappedRobotParser.from_crawler(worker.crawler, b"User-agent: *\nCrawl-delay: 7\n")
    worker.scheduler._discovery.robots_parsed(rules, Request(f"{key}/"))
    server = frontier.server(key)
    assert (None if server is None else server.crawl_delay) == delay
