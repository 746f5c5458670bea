"""The guard over frontiers: what it makes of stores of earlier versions, and of pages judged in steps."""

from __future__ import annotations

from typing import Any

from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from crawlproject.backend import MemoryBackend
from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.frontier import BestPrefix, Entry, Frontier, Politeness
from crawlproject.frontier.sift import set_guarded
from crawlproject.trap_guard import Around, TrapGuard

SITE = "http://a.example"


def guard_over(frontier: Frontier) -> tuple[TrapGuard, Any]:
    crawler = get_crawler()
    around = Around(frontier, SeenDupeFilter.from_crawler(crawler), MemoryBackend(), crawler.stats)
    guard = TrapGuard.from_settings(Settings(), around)
    assert guard is not None
    return guard, crawler.stats


def test_a_server_that_came_last_for_a_reason_that_is_gone_does_not_any_more() -> None:
    """\"slower\" stands in stores of an earlier version."""
    frontier = Frontier(BestPrefix(), Politeness())
    reasons = {"http://slow.example": "slower", "http://copy.example": "copies", "http://refused.example": "refused"}
    frontier.push([Entry(f"{key}/") for key in reasons])
    for key, reason in reasons.items():
        server = frontier.server(key)
        assert server is not None
        set_guarded(frontier, server, reason)
    guard_over(frontier)
    assert [server.guarded for server in frontier.servers()] == ["", "copies", "refused"]


def test_a_pattern_is_dropped_once_though_its_page_is_judged_in_steps() -> None:
    """Each drop goes through the server's whole queue."""
    frontier = Frontier(BestPrefix(), Politeness())
    frontier.push([Entry(f"{SITE}/p/{number}") for number in range(3)])
    guard, stats = guard_over(frontier)
    page = guard._guard.page(f"{SITE}/p/0", frozenset)
    assert page is not None
    page.spent = ["/p/#"]
    for _ in range(3):
        assert guard.judge(page, []) == []
    assert stats.get_value("guard/patterns") == 1
