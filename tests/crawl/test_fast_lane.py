"""The fast lane shows the same web as Scrapy's own way."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.web import WebSpec, running_web
from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.scripted_site import Answer, page, scripted_site

WEB = "crawlproject.spiders.web.WebSpider"
SPIDERS = "tests.crawl.lane_spiders"

QUICK = {**IMPOLITE, "FRONTIER_MIN_BACKOFF": 0.01, "FRONTIER_MAX_BACKOFF": 0.02, "LOG_LEVEL": "INFO"}

#: Everything that a web does to a crawl.
SPEC = WebSpec(
    servers=12,
    pages=200,
    seed=5,
    time_scale=0,
    page_bytes=4000,
    robots_disallow_share=0.3,
    gzip_share=0.3,
    redirect_share=0.1,
    not_found_share=0.1,
    server_error_share=0.05,
    silent_close_share=0.2,
    session_share=0.1,
)

#: Stats that time decides, or the lane itself.
VARYING = (
    "lane/",
    "monitor/",
    "memusage/",
    "elapsed",
    "start_time",
    "finish_time",
    "items_per",
    "responses_per",
    "seen/",
    "log_count/INFO",
    "frontier/commit",
    "frontier/sessions",  # one ends early if the links of its last page take longer than LINGER
    "repository/bytes",
)
#: Fields of an item that time decides, or the order of requests, which rests decide.
TIMES = ("fetched_at", "dns_time", "connect_time", "tls_time", "response_time")
ORDERED = ("connection_reused", "connection_requests", "quality", "depth")


def stats_of(crawled: Crawl) -> dict[str, Any]:
    return {name: value for name, value in crawled.stats.items() if not name.startswith(VARYING)}


def items_of(crawled: Crawl) -> list[dict[str, Any]]:
    return [{name: value for name, value in item.items() if name not in TIMES + ORDERED} for item in crawled.items]


@pytest.mark.parametrize("stores", [(), ("JOBDIR", "FRONTIER_REPOSITORY_DIR")], ids=["memory", "stores"])
def test_a_web_looks_the_same(stores: tuple[str, ...], tmp_path: Path) -> None:
    """Requests in the same order, the same items and stats: one connection at a time, and no choice by speed."""
    settings = {**QUICK, "FRONTIER_POLICY": "breadth-first", "FRONTIER_MAX_SESSIONS": 1, "ROBOTSTXT_OBEY": True}
    found = []
    spec = SPEC
    for lane in ("auto", "off"):
        with running_web(spec) as web:
            spec = replace(SPEC, port=web.port)  # the same URLs
            more = {name: str(tmp_path / lane / name) for name in stores} | {"FRONTIER_FAST_LANE": lane}
            for folder in stores:
                (tmp_path / lane / folder).mkdir(parents=True)
            crawled = crawl(WEB, settings={**settings, **more}, seeds=",".join(web.seeds))
        found.append((crawled, [(each.server, each.target) for each in web.records() if each.kind == "request"]))
    (fast, asked_fast), (slow, asked_slow) = found
    assert fast.stat("lane/pages") > 100, fast.log
    assert slow.stat("lane/requests") == 0
    assert Counter(asked_fast) == Counter(asked_slow)
    assert sorted(map(str, items_of(fast))) == sorted(map(str, items_of(slow)))
    assert stats_of(fast) == stats_of(slow)


#: Pages, a redirect, an error that goes away, and one that does not.
SCRIPT = {
    "1/": page("/a", "/broken", "/moved", "/gone", "/later"),
    "1/a": page("/b"),
    "1/b": page(),
    "1/broken": page(),
    "1/moved": Answer(status=301, headers={"Location": "/target"}),
    "1/target": page(),
    "1/later": [Answer(status=503), page()],
}


def both(spider: str, settings: dict[str, Any], **arguments: str) -> tuple[Crawl, Crawl]:
    """The same crawl with and without the fast lane."""
    done = []
    for lane in ("auto", "off"):
        with scripted_site(1) as site:
            site.script = {place: list(one) if isinstance(one, list) else one for place, one in SCRIPT.items()}
            url = f"{site.origins[0]}/"
            more = {name: value.replace("SITE", site.origins[0]) for name, value in arguments.items()}
            crawled = crawl(
                f"{SPIDERS}.{spider}", settings={**QUICK, **settings, "FRONTIER_FAST_LANE": lane}, seeds=url, **more
            )
            crawled.items = [{**item, "url": item["url"].removeprefix(site.origins[0])} for item in crawled.items]
            done.append(crawled)
    return done[0], done[1]


def assert_same(fast: Crawl, slow: Crawl) -> None:
    assert sorted(map(str, items_of(fast))) == sorted(map(str, items_of(slow)))
    assert stats_of(fast) == stats_of(slow)


def test_plain_spiders_take_the_lane() -> None:
    """All requests and all pages but the dead link."""
    fast, slow = both("BulkSpider", {})
    assert_same(fast, slow)
    assert fast.stat("lane/requests") == fast.stat("downloader/request_count")
    assert fast.stat("lane/pages") == len(fast.items) + 1 == 7  # and the dead link
    assert "fast lane" not in fast.log


@pytest.mark.parametrize(("spider", "pages"), [("AwaitingSpider", 7), ("FailingSpider", 6)])
def test_callbacks(spider: str, pages: int) -> None:
    """One that awaits; the errors of others are Scrapy's errors."""
    fast, slow = both(spider, {})
    assert_same(fast, slow)
    assert fast.stat("lane/pages") <= pages
    assert fast.stat("lane/requests") == fast.stat("downloader/request_count")


def test_a_callback_with_many_outputs_does_not_hold_the_event_loop() -> None:
    """The loop has its turns between them, as on Scrapy's way."""
    for crawled in both("ManySpider", {}):
        assert len(crawled.items) == 1001
        assert crawled.items[-1]["turns"] >= 5


def test_proxies_are_taken() -> None:
    fast, slow = both("ProxySpider", {}, proxy="SITE")
    assert_same(fast, slow)
    assert fast.stat("lane/requests") == fast.stat("downloader/request_count")


def test_bytes_are_told() -> None:
    """Receivers of each piece of a body get what Scrapy's handlers give them."""
    fast, slow = both("BulkSpider", {"EXTENSIONS": {f"{SPIDERS}.Listener": 0}, "LISTENED": "bytes_received"})
    assert_same(fast, slow)
    assert fast.stat("lane/pages") == 7
    assert fast.stat("listened/bytes") > 0


def test_a_receiver_that_comes_late_is_told() -> None:
    """Of all responses from its connection on."""
    fast, slow = both("LateSpider", {})
    assert fast.stat("late/responses") == slow.stat("late/responses") > 0
    assert fast.stat("lane/requests") == fast.stat("downloader/request_count")


@pytest.mark.parametrize("name", ["DOWNLOADER", "ITEM_PROCESSOR"])
def test_classes_of_the_project_are_used(name: str) -> None:
    """Instead of Scrapy's: the lane calls them."""
    fast, slow = both("BulkSpider", {name: f"{SPIDERS}.Own{name.title()}"})
    assert_same(fast, slow)
    assert fast.stat("lane/pages") == 7
    assert fast.stat(f"own/{name}") >= 6


def test_newcomers_are_admitted_while_requests_are_handed_out() -> None:
    """However few are looked up ahead, as many sessions open as are allowed, all in one turn of the engine."""
    with scripted_site(9) as site:
        site.script = {"1/": page(*(site.url(f"{server}/") for server in range(2, 10)))}
        site.script |= {f"{server}/": page() for server in range(2, 10)}
        settings = {**QUICK, "ROBOTSTXT_OBEY": False, "FRONTIER_DNS_PREFETCH": 1, "FRONTIER_MAX_SESSIONS": 16}
        crawled = crawl(WEB, settings=settings, seeds=site.url("1/"))
    assert len(crawled.items) == 9
    assert crawled.stat("lane/pages") == 9
    assert crawled.stat("frontier/sessions/max_open") >= 8
