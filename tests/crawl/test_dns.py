"""Crawls of named servers, and of names that do not exist, with an emulated name server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from testbed.dns import Name, running_name_server
from testbed.web import WebSpec, running_web
from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.scripted_site import Site, page, scripted_site

WEB = "crawlproject.spiders.web.WebSpider"
SPEC = WebSpec(servers=20, pages=60, time_scale=0, seed_count=1, domain="web.test")


def test_each_name_is_looked_up_once_and_most_before_their_sessions() -> None:
    """One query per name in the whole crawl, however many sessions the server has; no page is lost."""
    with running_web(SPEC) as web:
        zone = {name: Name((f"A {address}",), delay=0.03) for name, address in web.web.addresses().items()}
        with running_name_server(zone) as names:
            own = {"FRONTIER_DNS_SERVERS": names.address, "FRONTIER_MAX_SESSIONS": 2}
            result = crawl(WEB, settings={**IMPOLITE, **own}, seeds=",".join(web.seeds))
            assert {names.questions(name) for name in zone} == {1}
        assert result.urls() == sorted(web.web.expected_urls()), result.log
    assert result.stat("dns/lookups") == SPEC.servers
    assert SPEC.servers // 2 <= result.stat("dns/prefetched") <= SPEC.servers
    assert result.stat("dns/waited") >= SPEC.servers - result.stat("dns/prefetched")


DEAD = [f"n{number}.dead.test" for number in range(100)]


def script(site: Site) -> None:
    """A page with the dead links, and two pages that are found beside them."""
    links = [f"http://{name}/" for name in DEAD]
    site.script = {"1/": page(*links[:50], "/a", *links[50:]), "1/a": page("/b"), "1/b": page()}


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
    assert result.stat("fates/queue/dns") == len(DEAD)
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
    assert result.stat("fates/queue/dns") == 1
    assert result.stat("dns/failures/servfail") == 4


def test_errbacks_are_told_that_the_name_is_missing() -> None:
    """As by Scrapy, but after one look-up, and without retries that would not be sent.

    The first server is contacted before it is looked up: with robots.txt, that is what fails.
    """
    settings = {**IMPOLITE, "RETRY_TIMES": 2, "ROBOTSTXT_OBEY": True}
    with running_name_server() as names:
        settings["FRONTIER_DNS_SERVERS"] = names.address
        urls = json.dumps([f"http://{name}/{number}" for name in DEAD[:3] for number in range(2)])
        result = crawl("tests.crawl.hostile_spiders.ToldSpider", settings=settings, urls=urls)
        assert {names.questions(name) for name in DEAD[:3]} == {1}
    assert [item["failed"] for item in result.items] == ["CannotResolveHostError"] * 6
    assert "no such name: n0.dead.test" in {item["told"]: item["why"] for item in result.items}["http://n0.dead.test/0"]
    assert result.stat("fates/request/dns") == 6
