"""The trap guard with stores of earlier versions, and with pages judged in steps."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from scrapy.crawler import Crawler
from scrapy.utils.test import get_crawler

from crawlproject.backends.choice import open_backend
from crawlproject.backends.protocol import Backend
from crawlproject.backends.recrawl import pack_again
from crawlproject.discovery.trap_guard import TrapGuard
from crawlproject.download.few_lines import MAX_LINES
from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.frontier import BestPrefix, Entry, Frontier, Politeness
from crawlproject.options.frontier import FrontierOptions
from crawlproject.spiders.web import WebSpider
from crawlproject.storage.fetched import FetchedPage

SITE = "http://a.example"


def backend_of(crawler: Crawler, frontier: Frontier, seen: SeenDupeFilter) -> Backend:
    return open_backend(crawler, FrontierOptions.of(crawler), frontier, seen)


def guard_over(frontier: Frontier) -> tuple[TrapGuard, Any]:
    crawler = get_crawler()
    seen = SeenDupeFilter.from_crawler(crawler)
    guard = TrapGuard.from_crawler(crawler, frontier, seen, backend_of(crawler, frontier, seen))
    assert guard is not None
    return guard, crawler.stats


def test_server_ranked_last_for_a_removed_reason_is_released() -> None:
    """\"slower\" stands in stores of an earlier version."""
    frontier = Frontier(BestPrefix(), Politeness())
    reasons = {"http://slow.example": "slower", "http://copy.example": "copies", "http://refused.example": "refused"}
    frontier.push([Entry(f"{key}/") for key in reasons])
    for key, reason in reasons.items():
        server = frontier.server(key)
        assert server is not None
        frontier.servers.rank_last(server, reason)
    guard_over(frontier)
    assert [server.demoted_because for server in frontier.servers] == ["", "copies", "refused"]


def test_a_pattern_that_revives_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """Each time it is dropped it counts; later lines are at DEBUG, and lines of many patterns are few."""
    frontier = Frontier(BestPrefix(), Politeness())
    frontier.push([Entry(f"{SITE}/p/0")])
    guard, stats = guard_over(frontier)
    caplog.set_level(logging.DEBUG)
    for spent in ["/p/#"] * 5 + [f"/{number}/#" for number in range(100)]:
        page = guard._guard.page(f"{SITE}/p/0", frozenset)
        assert page is not None
        page.spent = [spent]
        guard.judge(page, [])
    lines = [each for each in caplog.records if "shows nothing new" in each.getMessage() and each.levelname == "INFO"]
    assert [line.getMessage() for line in lines if "/p/#" in line.getMessage()] == [
        f"{SITE}/p/# shows nothing new: its URLs are dropped"
    ]
    assert 1 < len(lines) <= MAX_LINES
    assert stats.get_value("guard/patterns") == 105


def test_pattern_is_dropped_once_if_its_page_is_judged_in_steps() -> None:
    """Each drop reads the server's whole queue."""
    frontier = Frontier(BestPrefix(), Politeness())
    frontier.push([Entry(f"{SITE}/p/{number}") for number in range(3)])
    guard, stats = guard_over(frontier)
    page = guard._guard.page(f"{SITE}/p/0", frozenset)
    assert page is not None
    page.spent = ["/p/#"]
    for _ in range(3):
        assert guard.judge(page, []) == []
    assert stats.get_value("guard/patterns") == 1


def test_pages_to_refetch_stay_if_their_pattern_is_dropped(tmp_path: Path) -> None:
    """An earlier run read them: a recrawl that dropped them would lose their records."""
    asyncio.run(_drop_a_pattern_of_pages_fetched_before(tmp_path))


async def _drop_a_pattern_of_pages_fetched_before(tmp_path: Path) -> None:
    frontier = Frontier(BestPrefix(), Politeness())
    crawler = get_crawler(WebSpider, {"FRONTIER_DIR": str(tmp_path)})
    crawler.spider = WebSpider(seeds=SITE)
    seen = SeenDupeFilter.from_crawler(crawler)
    backend = backend_of(crawler, frontier, seen)
    again = pack_again(FetchedPage(fetched=1))
    frontier.push([Entry(f"{SITE}/2020/01/{day:02}", payload=again if day % 2 else None) for day in range(1, 9)])
    guard = TrapGuard.from_crawler(crawler, frontier, seen, backend)
    assert guard is not None
    page = guard._guard.page(f"{SITE}/2020/02/01", frozenset)
    assert page is not None
    page.spent = ["/@"]
    guard.judge(page, [])
    assert crawler.stats.get_value("guard/dropped") == 4
    assert sorted(entry.url[-1] for entry in frontier.server(SITE).urls.abandon(SITE)) == ["1", "3", "5", "7"]
    backend.close()
