"""The fast lane shows the same web as Scrapy's own way."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from testbed.web import WebSpec, running_web
from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.scripted_site import page, scripted_site

WEB = "crawlproject.spiders.web.WebSpider"

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


def test_a_web_looks_the_same(tmp_path: Path) -> None:
    """Requests in the same order, the same items and stats: one connection at a time, and no choice by speed."""
    settings = {**QUICK, "FRONTIER_POLICY": "breadth-first", "FRONTIER_MAX_SESSIONS": 1, "ROBOTSTXT_OBEY": True}
    found = []
    stores = ("JOBDIR", "FRONTIER_REPOSITORY_DIR")
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
