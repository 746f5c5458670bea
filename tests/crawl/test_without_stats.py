"""Decisions do not read stats: a project may switch them off."""

from pathlib import Path

import pytest

from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.nasty_server import page, response, running
from tests.processes import run_python

WEB = "crawlproject.spiders.web.WebSpider"
NONE = "scrapy.statscollectors.DummyStatsCollector"
SITE = {"/": (response(page("/a", "/b")),)}


def test_a_crawl_without_stats_ends_as_any_other(tmp_path: Path) -> None:
    """Its first run, a second one that finds nothing new, and a recrawl."""
    settings = {**IMPOLITE, "STATS_CLASS": NONE, "JOBDIR": str(tmp_path / "job"), "LOG_LEVEL": "INFO"}
    with running({"site": SITE}) as roots:
        first, second, third = (
            crawl(WEB, settings=settings, seeds=f"{roots['site']}/", **more) for more in ({}, {}, {"recrawl": "0"})
        )
    assert [len(run.items) for run in (first, second, third)] == [3, 0, 3], first.log
    for run in (first, second, third):
        assert "Spider closed (finished)" in run.log
        assert "No seed could be fetched" not in run.log
        assert "Traceback" not in run.log
    assert "Recrawl: pages queued again: 3" in third.log


def test_a_keyword_search_without_stats_ends_by_what_it_found() -> None:
    with running({"site": SITE}) as roots:
        settings = {**IMPOLITE, "STATS_CLASS": NONE, "LOG_LEVEL": "INFO"}
        spider = "crawlproject.spiders.keyword.KeywordSpider"
        result = crawl(spider, settings=settings, start=f"{roots['site']}/", keyword="unicorn", levels="2")
    assert "Spider closed (keyword_not_found)" in result.log, result.log


@pytest.mark.parametrize(("path", "code"), [("/", 0), ("", 1)])
def test_exit_code_without_stats(path: str, code: int) -> None:
    """1 if no seed could be fetched: nothing listens at the second one."""
    with running({"site": SITE}) as roots:
        seed = f"{roots['site']}{path}" if path else "http://127.5.9.9:9/"
        settings = {**IMPOLITE, "STATS_CLASS": NONE, "FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8", "RETRY_TIMES": 0}
        settings |= {"ROBOTSTXT_OBEY": False, "FRONTIER_MAX_FAILURES": 1}
        switches = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        done = run_python("-m", "scrapy", "crawl", "web", "-a", f"seeds={seed}", *switches)
    assert done.returncode == code, done.stderr
