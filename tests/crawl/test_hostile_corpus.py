"""One crawl of hundreds of hostile inputs: no traceback, and no long step of the event loop."""

from collections.abc import Iterator

import pytest

from crawlproject import settings as project
from testbed.dns import running_name_server
from tests.crawl import crawling
from tests.crawl.crawling import IMPOLITE, Crawl, crawl
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


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    """The crawl of all of them."""
    sites = servers()
    with pytest.MonkeyPatch.context() as patch, running(sites) as roots, running_name_server({}) as names:
        patch.setattr(crawling, "TIMEOUT", 500)
        awaited = [
            roots[name] + path
            for name, answers in sites.items()
            for path in answers
            if path != "/robots.txt" and not name.startswith(("sitemaps", "robots"))
        ]
        settings = {
            **SETTINGS,
            "FRONTIER_DNS_SERVERS": [names.address],
            "PROBE_AWAITED": awaited,
            "FRONTIER_REPOSITORY_DIR": str(tmp_path_factory.mktemp("repository")),
        }
        seeds = ",".join(f"{root}/" for root in roots.values())
        yield crawl("crawlproject.spiders.web.WebSpider", settings=settings, seeds=seeds)


def test_every_input_is_fetched_and_the_crawl_finishes(crawled: Crawl) -> None:
    """None blocks the others."""
    assert crawled.exit_code == 0
    assert crawled.stat("finish_reason") == "awaited"
    assert crawled.stats[MISSED] == 0


def test_no_input_causes_a_traceback(crawled: Crawl) -> None:
    """At most a stat and a line."""
    assert "Traceback" not in crawled.log


def test_no_step_of_the_event_loop_is_long(crawled: Crawl) -> None:
    """Measured by the CPU time of its thread, so that a busy machine does not matter."""
    assert crawled.stats[STEP] <= LONGEST_STEP, crawled.stats[STEP_OF]


def test_memory_is_bounded(crawled: Crawl) -> None:
    """Bodies, their texts and trees, queue and store together."""
    assert crawled.peak_memory <= MAX_MEMORY, crawled.peak_memory / 1e6


def test_every_answer_is_in_the_repository(crawled: Crawl) -> None:
    """Whatever it contains."""
    assert crawled.stat("repository/records/metadata") > COUNT
    assert crawled.stat("repository/failures") == 0


def test_ignored_cookies_are_counted(crawled: Crawl) -> None:
    """One is too long; one with a huge age is accepted."""
    assert crawled.stat("cookies/skipped") == 1
