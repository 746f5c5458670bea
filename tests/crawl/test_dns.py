"""Crawls of named servers, with an emulated name server."""

from typing import Any

from testbed.dns import Name, NameServer, Zone, running_name_server
from testbed.web import RunningWeb, WebSpec, running_web
from tests.crawl.crawling import IMPOLITE, Crawl, crawl

WEB = "crawlproject.spiders.web.WebSpider"
SPEC = WebSpec(servers=20, pages=60, time_scale=0, seed_count=1, domain="web.test")


def crawl_by_name(web: RunningWeb, names: NameServer, **settings: Any) -> Crawl:
    own = {"FRONTIER_DNS_SERVERS": names.address, "FRONTIER_MAX_SESSIONS": 2, "LOG_LEVEL": "INFO"}
    result = crawl(WEB, settings={**IMPOLITE, **own, **settings}, seeds=",".join(web.seeds))
    assert result.exit_code == 0, result.log
    return result


def zone_of(web: RunningWeb, **kind: Any) -> Zone:
    return {name: Name((f"A {address}",), **kind) for name, address in web.web.addresses().items()}


def test_each_name_is_looked_up_once_and_most_before_their_sessions() -> None:
    """One query per name in the whole crawl, however many sessions the server has; no page is lost."""
    with running_web(SPEC) as web, running_name_server(zone_of(web, delay=0.03)) as names:
        result = crawl_by_name(web, names)
        assert result.urls() == sorted(web.web.expected_urls())
        assert {names.questions(name) for name in web.web.addresses()} == {1}
    assert result.stat("dns/lookups") == SPEC.servers
    assert SPEC.servers // 2 <= result.stat("dns/prefetched") <= SPEC.servers
    assert result.stat("dns/waited") >= SPEC.servers - result.stat("dns/prefetched")
