"""Cached copies of robots.txt: their size and lifetime."""

import asyncio
from typing import Any

import pytest
from scrapy.http import Request, Response
from scrapy.utils.test import get_crawler

from crawlproject.compat import robots_parsed
from crawlproject.middlewares.robots import Copy, RobotsMiddleware

URL = "http://example.com/robots.txt"
DAY, HOUR = 86_400, 3600


def copy_of(response: Response, **settings: Any) -> Copy:
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
def test_server_may_shorten_the_lifetime_of_a_copy(cache_control: str | None, seconds: float) -> None:
    """To an hour at least; a longer time than FRONTIER_ROBOTS_CACHE_TIME has no effect."""
    headers = {"Cache-Control": cache_control.encode("latin-1")} if cache_control else {}
    assert copy_of(Response(URL, headers=headers)).lifetime == seconds


def test_setting_bounds_the_lifetime_of_a_copy() -> None:
    """Also if FRONTIER_ROBOTS_CACHE_TIME is less than an hour."""
    headers = {"Cache-Control": "max-age=7200"}
    assert copy_of(Response(URL, headers=headers), FRONTIER_ROBOTS_CACHE_TIME=60).lifetime == 60


@pytest.mark.parametrize(("size", "counts"), [(0, 1), (4095, 1), (8192, 3), (512_000, 126), (9_000_000, 126)])
def test_long_file_counts_as_several_copies(size: int, counts: int) -> None:
    """One for each 4 kB read."""
    assert copy_of(Response(URL, body=b"#" * size)).size == counts


@pytest.mark.parametrize(("status", "allows"), [(200, False), (206, False), (404, True), (403, True), (301, True)])
def test_body_of_an_error_has_no_rules(status: int, allows: bool) -> None:
    """Only answers with 2xx are parsed."""
    copy = copy_of(Response(URL, status=status, body=b"User-agent: *\nDisallow: /"))
    assert copy.parser.allowed("http://example.com/", "bot") == allows


def test_files_without_rules_share_their_parser() -> None:
    """100,000 servers without a robots.txt take the memory of one parser."""
    crawler = get_crawler(settings_dict={"ROBOTSTXT_OBEY": True})
    middleware = RobotsMiddleware.from_crawler(crawler)
    first, second = (middleware.copy_of(Response(URL, status=status)) for status in (404, 200))
    assert first.parser is second.parser


@pytest.mark.parametrize("is_async", [False, True])
def test_receivers_of_parsed_rules_have_them_before_a_request_is_judged(*, is_async: bool) -> None:
    """Also a receiver of the project, and one that awaits something."""
    crawler = get_crawler(settings_dict={"ROBOTSTXT_OBEY": True})
    middleware = RobotsMiddleware.from_crawler(crawler)
    received: list[Any] = []

    def plain(robotparser: Any, request: Request) -> None:
        received.append((robotparser, request))

    async def slow(robotparser: Any, request: Request) -> None:
        await asyncio.sleep(0)
        received.append((robotparser, request))

    crawler.signals.connect(slow if is_async else plain, robots_parsed)
    request, copy = Request("http://example.com/a"), middleware.copy_of(Response(URL, body=b"User-agent: *"))
    assert asyncio.run(middleware._keep("http://example.com", request, copy)) is copy.parser
    assert received == [(copy.parser, request)]
