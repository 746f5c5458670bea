"""Servers that accept connections and do not answer give way to others, and are tried again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.crawl.crawling import IMPOLITE, NO_HEARTBEAT, PROMPT, Crawl, crawl
from tests.crawl.scripted_site import Answer, Asked, Site, page, scripted_site
from tests.waiting import PATIENCE

WEB = "crawlproject.spiders.web.WebSpider"
RULES = Answer("User-agent: *\nDisallow: /private", headers={"Content-Type": "text/plain"})
#: One session, and no second chance for whatever counts as a failure of a page or of robots.txt.
ONCE: dict[str, Any] = IMPOLITE | {
    "FRONTIER_MAX_SESSIONS": 1,
    "ROBOTSTXT_OBEY": True,
    "FRONTIER_MIN_BACKOFF": 0.1,
    "FRONTIER_PATIENCE": 0.3,
    "RETRY_TIMES": 0,
    "FRONTIER_ROBOTS_MAX_FAILURES": 1,
    "LOG_LEVEL": "INFO",
}


def run(site: Site, silent: str, **settings: Any) -> Crawl:
    """Crawl two servers; the first answers at ``silent`` only after the second was asked for a page."""
    answers = {"/robots.txt": RULES, "/": page("/private", "/open"), "/open": page()}
    script: dict[str, Any] = {f"1{path}": answer for path, answer in answers.items()}
    usual = script[silent]

    def answer_late(_: Asked) -> Answer:
        with site.came:
            site.came.wait_for(lambda: "2/" in site.places(), PATIENCE)
        return usual

    site.script = script | {silent: answer_late, "2/": page()}
    # the first server does not want the connection back while the second, a newcomer too, may be slow
    settings = ONCE | {"FRONTIER_MIN_BACKOFF": 3} | settings
    return crawl(WEB, settings=settings, seeds=f"{site.url('1/')},{site.url('2/')}")


@pytest.mark.parametrize("obeys", [True, False])
def test_a_silent_newcomer_gives_way_and_loses_nothing(obeys: bool) -> None:
    """Whether robots.txt or a page was asked for: neither counts as failed, and robots.txt is obeyed afterwards."""
    with scripted_site(2) as site:
        result = run(site, "1/robots.txt" if obeys else "1/", ROBOTSTXT_OBEY=obeys)
    private = [] if obeys else ["1/private"]
    assert sorted(set(site.places())) == ["1/", "1/open", *private, "2/"]
    assert result.stat("frontier/sessions/put_off") == 1
    assert re.search(r"no answer within \d+ s, while others wait for a connection; try 2 in", result.log)
    assert result.stat("robotstxt/unreachable") == result.stat("retry/max_reached") == 0
    assert result.stat("fates/queue/server_given_up") == 0
    assert site.most_at_once(1, 2) <= 2  # the abandoned request, which the server still holds, and another


def test_a_newcomer_that_keeps_nobody_waiting_has_its_time() -> None:
    """As much as ``DOWNLOAD_TIMEOUT``."""
    with scripted_site(1) as site:
        site.script = {"1/robots.txt": Answer("", delay=2.0), "1/": page()}
        result = crawl(WEB, settings=ONCE | NO_HEARTBEAT | {"FRONTIER_PATIENCE": 0.1}, seeds=site.url("1/"))
    assert [one.path for one in site.asked] == ["/robots.txt", "/"]
    assert result.stat("frontier/sessions/put_off") == 0


def test_the_end_of_a_crawl_does_not_wait_for_silent_newcomers(tmp_path: Path) -> None:
    """The next run asks them again."""
    own = {"FRONTIER_MAX_SESSIONS": 2, "DOWNLOAD_TIMEOUT": 2 * PROMPT, "JOBDIR": str(tmp_path / "job")}
    settings = ONCE | own
    with scripted_site(2) as site:

        def answer_late(_: Asked) -> Answer:
            site.wait_for(3)  # the other server was asked, too
            return page()

        site.script = {"1/robots.txt": Answer(delay=2 * PROMPT), "2/": answer_late}
        seeds = f"{site.url('1/')},{site.url('2/')}"
        stopped = crawl(WEB, settings=settings | {"CLOSESPIDER_PAGECOUNT": 1}, seeds=seeds)
        site.script = {"1/": page()}
        resumed = crawl(WEB, settings=settings, seeds=seeds)
    assert stopped.stat("finish_reason") == "closespider_pagecount"
    assert stopped.stat("elapsed_time_seconds") < PROMPT
    assert stopped.stat("frontier/sessions/put_off") == 0
    assert f"{site.origins[0]} has not answered: the crawl ends without it" in stopped.log
    assert [stopped.urls(), resumed.urls()] == [[site.url("2/")], [site.url("1/")]]
