"""What is kept of a robots.txt, and for how long."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from crawlproject.middlewares.robots import Copy, RobotsMiddleware

URL = "http://example.com/robots.txt"
DAY, HOUR = 86_400, 3600


def copy_of(response: Response, **settings: Any) -> Copy:
    """As the middleware keeps it."""
    crawler = get_crawler(settings_dict={"ROBOTSTXT_OBEY": True, **settings})
    return RobotsMiddleware.from_crawler(crawler).copy_of(response)


@pytest.mark.parametrize(
    ("cache_control", "seconds"),
    [
        (None, DAY),
        ("max-age=7200", 2 * HOUR),
        ("public, Max-Age = 7200", 2 * HOUR),
        ("max-age=0", HOUR),
        ("max-age=99999999", DAY),
        ("max-age=99999999999999999999", DAY),
        ("no-cache", DAY),
        ("max-age=-1", DAY),
        ("\xe9=;;,", DAY),
    ],
)
def test_servers_may_shorten_the_time(cache_control: str | None, seconds: float) -> None:
    """Down to an hour; not beyond ROBOTSTXT_CACHE_TIME."""
    headers = {"Cache-Control": cache_control.encode("latin-1")} if cache_control else {}
    assert copy_of(Response(URL, headers=headers)).lifetime == seconds


def test_own_time_may_be_shorter_still() -> None:
    """ROBOTSTXT_CACHE_TIME is an upper bound of all."""
    headers = {"Cache-Control": "max-age=7200"}
    assert copy_of(Response(URL, headers=headers), ROBOTSTXT_CACHE_TIME=60).lifetime == 60


@pytest.mark.parametrize(("size", "counts"), [(0, 1), (4095, 1), (8192, 3), (512_000, 126), (9_000_000, 126)])
def test_long_files_count_for_more(size: int, counts: int) -> None:
    """One for each 4 kB that are read."""
    assert copy_of(Response(URL, body=b"#" * size)).size == counts


def test_one_file_fits_always() -> None:
    """However small the cache is."""
    assert copy_of(Response(URL, body=b"#" * 100_000), ROBOTSTXT_CACHE_SIZE=2).size == 2


@pytest.mark.parametrize(("status", "allows"), [(200, False), (206, False), (404, True), (403, True), (301, True)])
def test_body_of_an_error_is_no_rules(status: int, allows: bool) -> None:
    """Only what came with 2xx is read."""
    copy = copy_of(Response(URL, status=status, body=b"User-agent: *\nDisallow: /"))
    assert copy.parser.allowed("http://example.com/", "bot") == allows


def test_files_without_rules_share_their_parser() -> None:
    """100,000 servers without a robots.txt take the memory of one."""
    crawler = get_crawler(settings_dict={"ROBOTSTXT_OBEY": True})
    middleware = RobotsMiddleware.from_crawler(crawler)
    first, second = (middleware.copy_of(Response(URL, status=status)) for status in (404, 200))
    assert first.parser is second.parser


def test_not_obeyed() -> None:
    """Without ROBOTSTXT_OBEY there is no such middleware."""
    with pytest.raises(NotConfigured):
        RobotsMiddleware.from_crawler(get_crawler())
