"""Crawls by a project's own rules of politeness, from outside."""

from __future__ import annotations

from tests.crawl.crawling import crawl
from tests.crawl.scripted_site import Answer, Asked, page, scripted_site


def test_requests_to_one_server_go_at_once_as_the_project_says() -> None:
    """CONCURRENT_REQUESTS_PER_DOMAIN = 3: none of three pages is answered before all are asked for."""
    with scripted_site(1) as site:

        def answer(_: Asked) -> Answer:
            site.wait_for(4)
            return page()

        places = [f"/{number}" for number in range(3)]
        site.script = {"1/": page(*places), **{f"1{place}": answer for place in places}}
        settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 3, "FRONTIER_GUARD_PROBES": False}
        result = crawl("crawlproject.spiders.web.WebSpider", settings=settings, seeds=site.url("1/"))
    assert len(result.items) == len(places) + 1, result.log
    assert "Politeness: only what CONCURRENT_REQUESTS_PER_DOMAIN says" in result.log
