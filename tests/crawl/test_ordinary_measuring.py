"""The times in ``response.meta``, and pages that come from a cache, through a proxy or after a wake-up."""

from pathlib import Path
from typing import Any

import pytest

from tests.crawl.crawling import IMPOLITE, NO_HEARTBEAT, PROMPT
from tests.crawl.differential import QUICK, run, run_on
from tests.crawl.scripted_site import Answer, page, scripted_site

INLINE = "tests.crawl.inline_spiders"
FINE = page(title="fine")


@pytest.fixture(scope="module")
def measured() -> dict[str, dict[str, Any]]:
    """The times of two pages each of a server with http (1) and one with https (2); each answer takes 0.2 s."""
    script = {f"{server}/{name}": Answer("x", delay=0.2) for server in (1, 2) for name in ("first", "second")}
    with scripted_site(2, tls=(2,)) as site:
        site.script = script
        ours = run_on(site, f"{INLINE}.MeasuringSpider")
        assert not ours.has_errors()
        return {item["url"]: item["meta"] | {"certificate": item["certificate"]} for item in ours.items()}


@pytest.mark.parametrize("server", [1, 2])
def test_first_request_opens_the_connection(measured: dict[str, dict[str, Any]], server: int) -> None:
    """It has a connect time, and is the first of its connection."""
    meta = measured[f"{server}/first"]
    assert meta["dns_time"] == 0
    assert 0 < meta["connect_time"] <= meta["download_latency"] - 0.195  # without the server's 0.2 s
    assert meta["connection_reused"] is False
    assert meta["connection_requests"] == 1


@pytest.mark.parametrize("server", [1, 2])
def test_second_request_reuses_the_connection(measured: dict[str, dict[str, Any]], server: int) -> None:
    """It has no connect time, and is the second of its connection."""
    meta = measured[f"{server}/second"]
    assert meta["dns_time"] is meta["connect_time"] is meta["tls_time"] is None
    assert meta["connection_reused"] is True
    assert meta["connection_requests"] == 2


@pytest.mark.parametrize("place", ["1/first", "1/second", "2/first", "2/second"])
def test_response_time_is_that_of_the_server(measured: dict[str, dict[str, Any]], place: str) -> None:
    """0.2 s, also on a busy machine; at most Scrapy's latency, which ends with the headers."""
    assert 0.195 <= measured[place]["response_time"] <= measured[place]["download_latency"] + 0.1


def test_tls_handshake_is_measured_and_its_certificate_recorded(measured: dict[str, dict[str, Any]]) -> None:
    """https: handshake time and self-signed certificate are in the response; http: neither."""
    assert measured["1/first"]["tls_time"] is None
    assert measured["2/first"]["tls_time"] > 0
    assert [measured[f"{server}/second"]["certificate"] for server in (1, 2)] == [False, True]


def test_engine_can_be_woken() -> None:
    """The only private name of Scrapy that the scheduler calls still exists; ``est()`` finds what it shows."""
    item = run(f"{INLINE}.EngineSpider", {"1/": FINE}).items()[0]
    assert item["callable"], "engine._slot.nextcall.schedule has moved: see crawlproject/engine.py"
    assert item["broken"] == []


def test_second_crawl_is_answered_from_the_cache(tmp_path: Path) -> None:
    """HTTPCACHE_ENABLED: it sends no request, not even for robots.txt, and does not wait between pages."""
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path), "ROBOTSTXT_OBEY": True}
    with scripted_site(1) as site:
        site.script = {f"1/{number}": page(f"/{number + 1}") for number in range(150)}
        first = run_on(site, "StartUrlsSpider", settings={**QUICK, **settings}, start="1/0")
        asked = len(site.asked)
        waiting = {"FRONTIER_MIN_DELAY": 2 * PROMPT, "FRONTIER_MAX_DELAY": 2 * PROMPT}
        second = run_on(site, "StartUrlsSpider", settings={**settings, **waiting, **NO_HEARTBEAT}, start="1/0")
    assert len(first.items()) == 150
    assert second.items() == first.items()
    assert len(site.asked) == asked
    assert second.stat("elapsed_time_seconds") < PROMPT


def test_proxy_is_asked_for_the_whole_url() -> None:
    """``request.meta["proxy"]`` names the proxy."""
    hosts = ("http://a.example.com", "http://b.example.com:8080")
    script = {f"{host}/0": Answer(host) for host in hosts}
    ours = run(f"{INLINE}.ProxySpider", script, hosts=",".join(hosts))
    assert ours.items() == [{"url": f"{host}/0", "text": host} for host in hosts]
    assert {one.headers["host"] for one in ours.site.asked} == {"a.example.com", "b.example.com:8080"}


def test_dead_proxies_of_several_do_not_count_against_the_server() -> None:
    """A server is neither given up nor rests because 12 of 13 proxies are out of order."""
    pages = ("http://a.test/0", "http://a.test/1", "http://a.test/2", "http://b.test/1")
    resting = {"FRONTIER_MIN_BACKOFF": 200.0, "FRONTIER_MAX_BACKOFF": 200.0, **NO_HEARTBEAT}
    dead = ",".join(f"http://127.4.0.{number}:9" for number in range(101, 113))
    ours = run(
        f"{INLINE}.RotatingSpider",
        {f"1{url}": Answer("page") for url in pages},
        settings={**IMPOLITE, **resting},
        dead=dead,
    )
    assert ours.items() == [{"url": url} for url in pages]
    assert ours.stat("frontier/failures/proxy") == 3 * 12
    assert ours.stat("elapsed_time_seconds") < PROMPT
