"""Hosts that are other names of one by DNS: crawled once; hosts that only look like that: crawled twice."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from testbed.dns import Name, running_name_server
from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.scripted_site import Answer, Asked, Site, page, scripted_site

WEB = "crawlproject.spiders.web.WebSpider"
MAIN, ALIAS, PAGES = "main.test", "www.other.test", 12


def run(
    site: Site, records: str = "CNAME main.test.", *, differs: str = "", spider: str = WEB, **settings: Any
) -> Crawl:
    """Crawl both hosts: each page links to all under both names. ``differs``: what the alias shows in all pages, or in
    its front page."""
    address, port = site.origins[0].removeprefix("http://").split(":")

    def answer(asked: Asked) -> Answer:
        links = [f"http://{host}:{port}/{number}" for host in (MAIN, ALIAS) for number in range(PAGES)]
        own = ALIAS if asked.headers["host"].startswith(ALIAS) and differs in ("all", asked.path) else ""
        return page(*links, f"http://{ALIAS}:{port}/", title=f"{own} {asked.path}")

    site.script = dict.fromkeys(("/", *(f"/{number}" for number in range(PAGES))), answer)
    zone = {MAIN: Name((f"A {address}",)), ALIAS: Name((records.replace("ADDRESS", address),))}
    with running_name_server(zone) as names:
        own = {"FRONTIER_DNS_SERVERS": names.address, "FRONTIER_MAX_SESSIONS": 1, "ROBOTSTXT_OBEY": False}
        return crawl(spider, settings={**IMPOLITE, **own, **settings}, seeds=f"http://{MAIN}:{port}/")


def fetched(site: Site) -> dict[str, set[str]]:
    """The pages asked for, each once, by host; without what the guard tests."""
    found = defaultdict(set)
    for asked in (asked for asked in site.asked if asked.path in ALL):
        host = asked.headers["host"].partition(":")[0]
        assert asked.path not in found[host], "twice"
        found[host].add(asked.path)
    return found


ALL = {"/", *(f"/{number}" for number in range(PAGES))}


def test_a_host_that_is_another_name_is_crawled_once() -> None:
    """Its front page is fetched first, to find that out; links to its pages lead to the other name, and are counted."""
    with scripted_site() as site:
        result = run(site)
    assert fetched(site) == {MAIN: ALL, ALIAS: {"/"}}
    assert result.stat("duplicates/aliases") == 1
    assert result.stat("frontier/links/aliased") > PAGES
    assert result.stat("fates/queue/alias") == PAGES
    assert f"http://{ALIAS}" in result.log
    assert result.stat("finish_reason") == "finished"


@pytest.mark.parametrize(
    ("records", "differs"),
    [("CNAME main.test.", "all"), ("CNAME main.test.", "/"), ("A ADDRESS", "")],
    ids=["another site", "another front page", "no record"],
)
def test_a_host_that_only_shares_the_address_loses_no_page(records: str, differs: str) -> None:
    """Its site, or its front page, is another; or no record says that it is one."""
    with scripted_site() as site:
        result = run(site, records, differs=differs)
    assert fetched(site) == {MAIN: ALL, ALIAS: ALL}
    assert not result.stat("duplicates/aliases")


def test_where_links_to_the_other_name_are_not_followed() -> None:
    """A spider wants the pages of the alias only, and begins with the other name."""
    with scripted_site() as site:
        result = run(site, spider="tests.crawl.spiders.StartElsewhereSpider")
    assert fetched(site) == {MAIN: {"/"}, ALIAS: ALL}
    assert not result.stat("duplicates/aliases")


def test_switched_off() -> None:
    """FRONTIER_DUPLICATES_ALIASES."""
    with scripted_site() as site:
        result = run(site, FRONTIER_DUPLICATES_ALIASES=False)
    assert fetched(site) == {MAIN: ALL, ALIAS: ALL}
    assert not result.stat("frontier/links/aliased")


def test_it_is_known_after_a_restart(tmp_path: Path) -> None:
    """And is forgotten by a run that does not want it."""
    job: dict[str, Any] = {"JOBDIR": str(tmp_path), "FRONTIER_MAX_BATCH": 2, "FRONTIER_POLICY": "quality"}
    with scripted_site() as site:
        first = run(site, **job, CLOSESPIDER_PAGECOUNT=6)
        assert first.stat("duplicates/aliases") == 1
        second = run(site, **job, CLOSESPIDER_PAGECOUNT=2)
        assert second.stat("frontier/links/aliased") > 0
        assert not second.stat("duplicates/aliases")
        assert fetched(site)[ALIAS] == {"/"}
        third = run(site, **job, FRONTIER_DUPLICATES_ALIASES=False)
    assert not third.stat("frontier/links/aliased")
    assert fetched(site) == {MAIN: ALL, ALIAS: ALL}
