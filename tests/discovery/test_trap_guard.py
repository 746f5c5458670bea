"""The trap guard with pages judged in steps."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadFailedError
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from crawlproject.backends.choice import open_backend
from crawlproject.backends.disk import pack_again
from crawlproject.backends.protocol import Backend
from crawlproject.content.page_marks import PageAddresses, PageContent, PageText, page_content
from crawlproject.discovery.page_reading import answer_of
from crawlproject.discovery.trap_guard import Probes, TrapGuard
from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.frontier import BestPrefix, Entry, Frontier, Politeness
from crawlproject.frontier.guard.server_guard import ServerGuard
from crawlproject.frontier.queues.sort_key import DEMOTED
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.options.traps import TrapOptions
from crawlproject.spiders.web import WebSpider
from crawlproject.storage.fetched import FetchedPage
from tests.crawl_ports import NO_HOST

SITE = "http://a.example"


def backend_of(crawler: Crawler, frontier: Frontier, seen: SeenDupeFilter) -> Backend:
    return open_backend(crawler, FrontierOptions.of(crawler), frontier, seen, NO_HOST)


async def no_answer(request: Request) -> Response:
    raise DownloadFailedError


def nothing(_: PageAddresses) -> PageContent:
    return page_content(SITE, PageText())


def guard_over(frontier: Frontier) -> tuple[TrapGuard, Any]:
    crawler = get_crawler()
    seen = SeenDupeFilter.from_crawler(crawler)
    probes = Probes(no_answer, partial(answer_of, seen.canonicalizer), crawler.stats)
    guard = TrapGuard(frontier, seen, backend_of(crawler, frontier, seen), TrapOptions.of(crawler), probes)
    return guard, crawler.stats


def test_pattern_is_dropped_once_if_its_page_is_judged_in_steps() -> None:
    """Each drop reads the server's whole queue."""
    frontier = Frontier(BestPrefix(), Politeness())
    frontier.push([Entry(f"{SITE}/p/{number}") for number in range(3)])
    guard, stats = guard_over(frontier)
    page = guard._guard.page(f"{SITE}/p/0", nothing)
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
    urls = ((f"{SITE}/2020/01/{day:02}", again if day % 2 else None) for day in range(1, 9))
    frontier.push([Entry(url, priority=DEMOTED, payload=payload) for url, payload in urls])
    probes = Probes(no_answer, partial(answer_of, seen.canonicalizer), crawler.stats)
    guard = TrapGuard(frontier, seen, backend, TrapOptions.of(crawler), probes)
    page = guard._guard.page(f"{SITE}/2020/02/01", nothing)
    assert page is not None
    page.server.guard = page.server.guard or ServerGuard()
    page.spent = ["/@@"]
    guard.judge(page, [])
    assert crawler.stats.get_value("guard/dropped") == 4
    assert sorted(entry.url[-1] for entry in frontier.server(SITE).urls.abandon(SITE)) == ["1", "3", "5", "7"]
    backend.close()
