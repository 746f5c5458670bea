"""One crawl of hundreds of hostile inputs: no traceback, and no long step of the event loop."""

from pathlib import Path

import pytest

from crawlproject import settings as project
from testbed.dns import running_name_server
from tests.crawl import crawling
from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.hostile_corpus import COUNT, servers
from tests.crawl.loop_probe import MISSED, STEP, STEP_OF
from tests.crawl.nasty_server import running

#: It takes half a minute of CPU; beside other processes the same step takes up to twice the CPU time.
pytestmark = [pytest.mark.long, pytest.mark.alone]

#: Seconds of CPU that one callback of the event loop may take.
LONGEST_STEP = 0.25

#: Peak memory allowed, bytes; about 90 MB are in use before the first page.
MAX_MEMORY = 300_000_000

SETTINGS = {
    **IMPOLITE,
    "CLOSESPIDER_TIMEOUT": 400,
    "COOKIES_ENABLED": True,
    "DOWNLOAD_MAXSIZE": project.DOWNLOAD_MAXSIZE,
    "DOWNLOAD_TIMEOUT": 5,
    "DOWNLOAD_WARNSIZE": 0,
    "EXTENSIONS": {"tests.crawl.loop_probe.LoopProbe": 1},
    "FRONTIER_CONNECT_TIMEOUT": 3,
    "FRONTIER_DNS_TIMEOUT": 1,
    "FRONTIER_MAX_BACKOFF": 0.02,
    "FRONTIER_MAX_FAILURES": 50,
    "FRONTIER_MIN_BACKOFF": 0.01,
    "FRONTIER_LINKS_SITEMAPS": True,
    "LOG_LEVEL": "INFO",
    "RETRY_TIMES": 0,
    "FRONTIER_ROBOTS_MAX_FAILURES": 2,
    "ROBOTSTXT_OBEY": True,
}


def test_no_input_costs_more_than_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every input is fetched and in the repository, without a traceback, a long step of the loop or much memory."""
    monkeypatch.setattr(crawling, "TIMEOUT", 500)
    sites = servers()
    with running(sites) as roots, running_name_server({}) as names:
        awaited = [
            roots[name] + path
            for name, answers in sites.items()
            for path in answers
            if path != "/robots.txt" and not name.startswith(("sitemaps", "robots"))
        ]
        own = {"FRONTIER_DNS_SERVERS": [names.address], "PROBE_AWAITED": awaited}
        settings = {**SETTINGS, **own, "FRONTIER_REPOSITORY_DIR": str(tmp_path / "repository")}
        (tmp_path / "repository").mkdir()
        seeds = ",".join(f"{root}/" for root in roots.values())
        crawled = crawl("crawlproject.spiders.web.WebSpider", settings=settings, seeds=seeds)
    assert (crawled.exit_code, crawled.stat("finish_reason"), crawled.stats[MISSED]) == (0, "awaited", 0)
    assert "Traceback" not in crawled.log
    assert crawled.stats[STEP] <= LONGEST_STEP, crawled.stats[STEP_OF]  # by the CPU time of the loop's thread
    assert crawled.peak_memory <= MAX_MEMORY, crawled.peak_memory / 1e6  # bodies, texts, trees, queue and store
    assert crawled.stat("repository/records/metadata") > COUNT
    assert crawled.stat("repository/failures") == 0
    assert crawled.stat("cookies/skipped") == 1  # the one that is too long
