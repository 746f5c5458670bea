"""Links to many servers that do not exist: one look-up each, few lines, and no good page lost."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Self

import pytest
from scrapy import signals
from scrapy.crawler import Crawler

from crawlproject.download.resolver import crawl_resolver
from testbed.dns import Name, running_name_server
from tests.crawl.crawling import IMPOLITE, NO_HEARTBEAT, PROMPT, Crawl, crawl
from tests.crawl.scripted_site import Site, page, scripted_site

DEAD = [f"n{number}.dead.test" for number in range(300)]
WEB = "crawlproject.spiders.web.WebSpider"


def script(site: Site) -> None:
    """A page with the dead links, and two pages that are found beside them."""
    links = [f"http://{name}/" for name in DEAD]
    site.script = {"1/": page(*links[:150], "/a", *links[150:]), "1/a": page("/b"), "1/b": page()}


def run(site: Site, names: Any, **settings: Any) -> Crawl:
    own = {"FRONTIER_DNS_SERVERS": names.address, "LOG_LEVEL": "INFO", "FRONTIER_MAX_SESSIONS": 2}
    return crawl(WEB, settings={**IMPOLITE, **own, **settings}, seeds=site.url("1/"))


def test_each_name_is_looked_up_once_and_gets_no_session(tmp_path: Path) -> None:
    """Its link is counted as dropped; a few of the servers are in the log; the next run does not ask again."""
    with scripted_site(1) as site, running_name_server() as names:
        script(site)
        result = run(site, names, JOBDIR=str(tmp_path / "job"))
        assert result.urls() == [site.url(f"1/{name}") for name in ("", "a", "b")]
        assert {names.questions(name) for name in DEAD} == {1}
        again = run(site, names, JOBDIR=str(tmp_path / "job"))
        assert {names.questions(name) for name in DEAD} == {1}
    assert result.stat("finish_reason") == again.stat("finish_reason") == "finished"
    assert result.stat("frontier/sessions") < 10
    assert result.stat("frontier/dropped/server_given_up") == len(DEAD)
    assert result.stat("dns/failures/nxdomain") == result.stat("frontier/failures/dns") == len(DEAD)
    lines = [line for line in result.log.splitlines() if "dead.test" in line]
    assert 0 < len(lines) <= 12
    assert "is given up: no such name: n" in lines[0]


def test_a_name_whose_name_servers_fail_is_looked_up_four_times() -> None:
    """After rests; then its link is dropped and counted."""
    with scripted_site(1) as site, running_name_server() as names:
        port = site.url("1/").rsplit(":", 1)[1].rstrip("/")
        address = site.url("1/").split("//")[1].split(":")[0]
        names.zone = {"late.test": Name((f"A {address}",), rcode="SERVFAIL")}
        site.script = {"1/": page(f"http://late.test:{port}/a"), "1/a": page()}
        settings = {"FRONTIER_MIN_BACKOFF": 0.01}
        result = run(site, names, **settings)
        assert names.questions("late.test") >= 4
    assert result.stat("frontier/dropped/server_given_up") == 1
    assert result.stat("dns/failures/servfail") == 4


def test_a_proxy_resolves_names_itself() -> None:
    """Requests with ``meta["proxy"]``: no name is looked up, and no server is given up for its name."""
    with scripted_site(1) as site, running_name_server() as names:
        settings = {**IMPOLITE, "FRONTIER_DNS_SERVERS": names.address}
        spider = "tests.crawl.inline_spiders.ProxySpider"
        hosts = ",".join(f"http://{name}" for name in DEAD[:20])
        result = crawl(spider, settings=settings, sites=site.origins[0], hosts=hosts)
    assert result.stat("downloader/response_count") >= 20
    assert result.stat("frontier/dropped/server_given_up") == 0


@pytest.mark.parametrize("robots", [False, True])
def test_errbacks_are_told_that_the_name_is_missing(robots: bool) -> None:
    """As by Scrapy, but after one look-up, and without retries that would not be sent.

    The first server is contacted before it is looked up: with robots.txt, that is what fails.
    """
    settings = {**IMPOLITE, "RETRY_TIMES": 2, "ROBOTSTXT_OBEY": robots}
    with running_name_server() as names:
        settings["FRONTIER_DNS_SERVERS"] = names.address
        urls = json.dumps([f"http://{name}/{number}" for name in DEAD[:3] for number in range(2)])
        result = crawl("tests.crawl.hostile_spiders.ToldSpider", settings=settings, urls=urls)
        assert {names.questions(name) for name in DEAD[:3]} == {1}
    assert [item["failed"] for item in result.items] == ["CannotResolveHostError"] * 6
    assert "no such name: n0.dead.test" in {item["told"]: item["why"] for item in result.items}["http://n0.dead.test/0"]
    assert result.stat("frontier/dropped/server_given_up") == 6


class LookUpsEnd:
    """Delays the end of a crawl, after its frontier was closed, until no look-up is in progress.

    They get no answer before that: ``TEST_CLOSED`` is a file that this makes.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension._closed, signals.spider_closed)
        return extension

    async def _closed(self) -> None:
        Path(self._crawler.settings["TEST_CLOSED"]).touch()
        resolver = crawl_resolver(self._crawler)
        while resolver.in_flight:
            await asyncio.wait(resolver._in_flight.values())
        await asyncio.sleep(0)


def test_answers_that_come_after_the_end_of_a_crawl_change_nothing(tmp_path: Path) -> None:
    """The frontier on disk is closed by then; the next run asks again."""
    with scripted_site(1) as site, running_name_server() as names:
        script(site)
        closed = tmp_path / "closed"
        names.find = lambda _: Name(rcode="NXDOMAIN", lost=1 if closed.exists() else 1_000)  # asked every 2 s
        job = {"JOBDIR": str(tmp_path / "job"), "EXTENSIONS": {"tests.crawl.test_dead_names.LookUpsEnd": 1}}
        job |= {"TEST_CLOSED": str(closed), "FRONTIER_DNS_TIMEOUT": 600}
        result = run(site, names, **job, CLOSESPIDER_PAGECOUNT=2)
        asked = sum(names.questions(name) > 1 for name in DEAD)
        again = run(site, names, **job)
    assert "Traceback" not in result.log
    assert result.stat("dns/failures/nxdomain") == asked > 0
    assert result.stat("frontier/dropped/server_given_up") == 0
    assert again.stat("frontier/dropped/server_given_up") == len(DEAD)
    assert again.stat("finish_reason") == "finished"


def test_many_links_to_one_server_that_refuses_are_dropped_in_steps(tmp_path: Path) -> None:
    """All of them, before the crawl ends; the end does not wait for the engine's heartbeat."""
    with scripted_site(1) as site, running_name_server() as names:
        port = site.url("1/").rsplit(":", 1)[1].rstrip("/")  # of another address: nobody listens there
        links = [f"http://127.9.9.9:{port}/{number}" for number in range(1001)]
        site.script = {"1/": page(*links, "/a"), "1/a": page()}
        settings = {**NO_HEARTBEAT, "FRONTIER_MAX_FAILURES": 1, "RETRY_TIMES": 0, "JOBDIR": str(tmp_path / "job")}
        result = run(site, names, **settings)
        assert sorted(result.urls()) == [site.url("1/"), site.url("1/a")]
    assert result.stat("finish_reason") == "finished"
    assert result.stat("frontier/dropped/server_given_up") == 1000  # the other link failed
    assert result.stat("frontier/urls") == 0
    assert result.stat("elapsed_time_seconds") < PROMPT
