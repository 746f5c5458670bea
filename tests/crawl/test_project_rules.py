"""Crawls by a project's own rules of politeness, from outside."""

from __future__ import annotations

import threading

import pytest

from tests.crawl.crawling import crawl
from tests.crawl.scripted_site import Answer, Asked, page, scripted_site
from tests.waiting import PATIENCE


@pytest.mark.parametrize("fast_lane", ["auto", "off"])
def test_requests_to_one_server_go_at_once_as_the_project_says(fast_lane: str) -> None:
    """CONCURRENT_REQUESTS_PER_DOMAIN = 3: the first answers come when three requests are there."""
    together = threading.Barrier(3)
    broken = []

    def answer(asked: Asked) -> Answer:
        if asked.path in ("/0", "/1", "/2"):
            try:
                together.wait(PATIENCE)
            except threading.BrokenBarrierError:
                broken.append(asked.path)
        return page()

    with scripted_site(1) as site:
        places = [f"/{number}" for number in range(3)]
        site.script = {"1/": page(*places), **{f"1{place}": answer for place in places}}
        settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 3, "FRONTIER_FAST_LANE": fast_lane, "TRAPS_PROBES": 0}
        result = crawl("crawlproject.spiders.web.WebSpider", settings=settings, seeds=site.url("1/"))
    assert not broken, result.log
    assert len(result.items) == len(places) + 1, result.log
    assert "Politeness: only what CONCURRENT_REQUESTS_PER_DOMAIN says" in result.log
