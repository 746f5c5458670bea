"""The times in ``response.meta``, and pages that come from a cache, through a proxy or after a wake-up."""

from pathlib import Path

from tests.crawl.crawling import IMPOLITE, NO_HEARTBEAT, PROMPT
from tests.crawl.differential import QUICK, run, run_on
from tests.crawl.scripted_site import Answer, page, scripted_site

INLINE = "tests.crawl.inline_spiders"
FINE = page(title="fine")


def test_times_in_meta() -> None:
    """Of two pages each of a server with http (1) and one with https (2); each answer takes 0.2 s."""
    with scripted_site(2, tls=(2,)) as site:
        site.script = {f"{server}/{name}": Answer("x", delay=0.2) for server in (1, 2) for name in ("first", "second")}
        ours = run_on(site, f"{INLINE}.MeasuringSpider")
    assert not ours.has_errors()
    found = {item["url"]: item for item in ours.items()}
    for server in (1, 2):
        first, second = (found[f"{server}/{name}"]["meta"] for name in ("first", "second"))
        assert first["dns_time"] == 0
        assert 0 < first["connect_time"] <= first["download_latency"] - 0.195  # without the server's 0.2 s
        assert (first["connection_reused"], first["connection_requests"]) == (False, 1)
        assert second["dns_time"] is second["connect_time"] is second["tls_time"] is None
        assert (second["connection_reused"], second["connection_requests"]) == (True, 2)
        for meta in (first, second):  # the latency ends with the headers
            assert 0.195 <= meta["response_time"] <= meta["download_latency"] + 0.1
    assert found["1/first"]["meta"]["tls_time"] is None
    assert found["2/first"]["meta"]["tls_time"] > 0
    assert [found[f"{server}/second"]["certificate"] for server in (1, 2)] == [False, True]


def test_engine_can_be_woken() -> None:
    """The only private name of Scrapy that the scheduler calls still exists; ``est()`` finds what it shows."""
    item = run(f"{INLINE}.EngineSpider", {"1/": FINE}).items()[0]
    assert item["callable"], "engine._slot.nextcall.schedule has moved: see crawlproject/engine.py"
    assert item["broken"] == []


def test_second_crawl_is_answered_from_the_cache(tmp_path: Path) -> None:
    """HTTPCACHE_ENABLED: it sends no request, not even for robots.txt, and does not wait between pages."""
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path), "ROBOTSTXT_OBEY": True}
    with scripted_site(1) as site:
        site.script = {f"1/{number}": page(f"/{number + 1}") for number in range(40)}
        first = run_on(site, "StartUrlsSpider", settings={**QUICK, **settings}, start="1/0")
        asked = len(site.asked)
        waiting = {"FRONTIER_MIN_DELAY": 2 * PROMPT, "FRONTIER_MAX_DELAY": 2 * PROMPT}
        second = run_on(site, "StartUrlsSpider", settings={**settings, **waiting, **NO_HEARTBEAT}, start="1/0")
    assert len(first.items()) == 40
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
