"""The load monitor in real crawls: blocked event loop, memory limit, metrics."""

import socket
import urllib.request
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from testbed.children import free_port
from tests.crawl.crawling import crawling, read_results
from tests.crawl.differential import QUICK, run
from tests.crawl.scripted_site import Answer, page, scripted_site

SPIDERS = "tests.crawl.ordinary_spiders"
FINE = page(title="fine")


class Everywhere(dict[str, Any]):
    """An endless site: two links on every page."""

    def get(self, place: str, default: Any = None) -> Answer:
        return page(*(f"{place.lstrip('0123456789')}{digit}" for digit in (0, 1)))


def test_blocked_event_loop_lowers_the_limit_until_it_is_free_again() -> None:
    """A callback that blocks costs three quarters of the sessions; when it no longer blocks, they are allowed again."""
    settings = {**QUICK, "LOG_LEVEL": "INFO", "FRONTIER_MAX_SESSIONS": 8}
    settings |= {"FRONTIER_MONITOR_INTERVAL": 0.2, "FRONTIER_MONITOR_MAX_LAG": 0.4}
    start = ",".join(f"{server}/" for server in range(1, 9))
    spider = "tests.crawl.limit_spiders.BlockingSpider"
    ours = run(spider, Everywhere(), servers=8, settings=settings, start=start, block="0.6", few="2", every="8")
    assert ours.reason == "recovered"
    assert ours.stat("monitor/throttled") >= 2
    assert ours.stat("monitor/session_limit/lowest") <= 2
    assert ours.stat("monitor/session_limit") == 8
    assert ours.stat("monitor/lag/longest") >= 0.4
    assert ours.crawl.log.count("cannot keep up") == ours.crawl.log.count("all 8 sessions are allowed") == 1


def scrape(host: str, port: int) -> dict[tuple[str, str], float]:
    """(metric, label) -> value."""
    with urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=120) as answer:
        text = answer.read().decode()
    families = text_string_to_metric_families(text)
    return {(one.name, one.labels.get("name", "")): one.value for family in families for one in family.samples}


def test_metrics_can_be_scraped_during_the_crawl(tmp_path: Path) -> None:
    """The numbers of the monitor and of Scrapy, while a page is in progress; the port is closed after the crawl."""
    port = free_port()
    settings = {
        **QUICK,
        "FRONTIER_METRICS_HOST": "127.2.0.1",
        "FRONTIER_METRICS_PORT": port,
        "FRONTIER_MONITOR_INTERVAL": 0.1,
    }
    with scripted_site(1) as site:
        site.script = {"1/": page("/slow"), "1/slow": Answer(FINE.body, delay=1000)}
        spider = f"{SPIDERS}.StartUrlsSpider"
        with crawling(spider, tmp_path, settings=settings, sites=site.origins[0]) as process:
            site.wait_for(2)
            metrics = scrape("127.2.0.1", port)
            site.stopping.set()  # no more delays
            process.wait()
    assert metrics["crawlproject_session_limit", ""] == 64
    assert metrics["crawlproject_memory", ""] > 2**20
    assert metrics["scrapy_stat", "downloader/response_status_count/200"] == 1
    assert metrics["scrapy_stat", "scheduler/dequeued"] == 2
    assert not any("127.4.0" in label for _, label in metrics)
    stats = read_results(tmp_path, 0, "").stats
    assert stats["finish_reason"] == "finished"
    assert stats["monitor/sessions"] == 0
    with socket.socket() as client:
        assert client.connect_ex(("127.2.0.1", port)) != 0


def test_port_in_use_disables_only_the_metrics() -> None:
    """The log names the setting, and the crawl continues."""
    with socket.create_server(("127.2.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ours = run(
            "StartUrlsSpider",
            {"/": FINE},
            settings={"FRONTIER_METRICS_HOST": "127.2.0.1", "FRONTIER_METRICS_PORT": port},
        )
    assert f"FRONTIER_METRICS_PORT={port}" in ours.crawl.log
    assert ours.stat("log_count/ERROR") == 1
    assert len(ours.items()) == 1
    assert ours.reason == "finished"
