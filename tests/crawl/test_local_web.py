"""Whole crawls of the emulated web, judged by the log of its servers."""

import pytest

from testbed.web import (
    PolitenessRule,
    WebSpec,
    duplicates,
    max_open_connections,
    parallel_connections,
    politeness_violations,
    running_web,
)
from tests.crawl.crawling import IMPOLITE, crawl

WEB = "crawlproject.spiders.web.WebSpider"


def crawl_web(spec: WebSpec, **settings: object) -> tuple[object, object, list]:
    with running_web(spec) as web:
        result = crawl(WEB, settings={"LOG_LEVEL": "INFO", **settings}, seeds=",".join(web.seeds))
        web.keep_records()
    return result, web.web, web.records()


def test_every_page_is_fetched_once() -> None:
    """All pages reachable from the seeds, none twice, over at most one connection per server."""
    spec = WebSpec(servers=20, pages=200, seed=3, time_scale=0)
    result, web, records = crawl_web(spec, **IMPOLITE, FRONTIER_MAX_SESSIONS=8)
    assert result.stat("finish_reason") == "finished"
    assert result.urls() == sorted(web.expected_urls())
    assert duplicates(records) == {}
    assert max_open_connections(records) <= 8
    assert max(parallel_connections(records).values()) == 1
    assert result.stat("frontier/urls") == 0


@pytest.mark.parametrize("mode", ["request", "session"])
def test_server_log_shows_no_impolite_request(mode: str) -> None:
    """Every gap is as long as politeness requires, also for robots.txt and by Crawl-delay, on the servers' clock."""
    spec = WebSpec(servers=15, pages=90, seed=4, time_scale=0.1, crawl_delay_share=0.2, crawl_delay=0.7)
    factor = {"request": 3.0, "session": 2.0}[mode]
    result, web, records = crawl_web(
        spec,
        ROBOTSTXT_OBEY=True,
        FRONTIER_POLITENESS=mode,
        FRONTIER_DELAY_FACTOR=factor,
        FRONTIER_MIN_DELAY=0.1,
        FRONTIER_MAX_DELAY=1.0,
    )
    rule = PolitenessRule(mode, factor, 0.1, 1.0, crawl_delays=web.crawl_delays())
    assert politeness_violations(records, rule) == []
    assert max(parallel_connections(records).values()) == 1
    assert result.urls() == sorted(web.expected_urls())


def test_robots_txt_begins_a_servers_first_session() -> None:
    """On the connection of its first pages, politely, within the limit on connections; fetched once, no page lost."""
    spec = WebSpec(servers=30, pages=100, seed=6, time_scale=0.2, keep_alive_limit=100, seed_count=30)
    result, web, records = crawl_web(
        spec,
        ROBOTSTXT_OBEY=True,
        FRONTIER_MAX_SESSIONS=8,
        FRONTIER_DELAY_FACTOR=1,
        FRONTIER_MIN_DELAY=0.05,
        FRONTIER_MAX_DELAY=1.0,
    )
    assert result.urls() == sorted(web.expected_urls())
    rules = [one for one in records if one.kind == "request" and one.target == "/robots.txt"]
    assert sorted(one.server for one in rules) == sorted({one.server for one in records})
    alone = {one.connection for one in records if one.kind == "close" and one.number == 1}
    assert not [one.server for one in rules if one.connection in alone]
    assert politeness_violations(records, PolitenessRule("session", 1, 0.05, 1.0)) == []
    assert max_open_connections(records) <= 8
    assert max(parallel_connections(records).values()) == 1


def test_retry_after_of_a_server_is_obeyed() -> None:
    """429 with Retry-After, in seconds and as a date: no request comes earlier, and no page is lost."""
    spec = WebSpec(servers=6, pages=60, seed=5, time_scale=0, throttled_share=1.0, retry_after=1)
    result, web, records = crawl_web(spec, **IMPOLITE, FRONTIER_MIN_BACKOFF=0.1)
    assert not [record for record in records if "retry-after" in record.note]
    assert result.stat("downloader/response_status_count/429") >= 6
    assert result.urls() == sorted(web.expected_urls())


def test_redirects_errors_and_disallowed_pages_are_handled_as_usual() -> None:
    """Redirect targets are fetched once, errors are not items, disallowed pages are not requested."""
    spec = WebSpec(
        servers=12,
        pages=150,
        seed=8,
        time_scale=0,
        not_found_share=0.05,
        server_error_share=0.02,
        redirect_share=0.1,
        robots_disallow_share=0.5,
    )
    result, web, records = crawl_web(
        spec, **IMPOLITE, ROBOTSTXT_OBEY=True, RETRY_TIMES=1, FRONTIER_MIN_BACKOFF=0.01, FRONTIER_MAX_BACKOFF=0.1
    )
    assert result.urls() == sorted(web.expected_urls())
    assert duplicates(records) == {}
    assert not [record for record in records if "disallowed" in record.note]
