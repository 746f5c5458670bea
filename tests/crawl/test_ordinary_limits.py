"""Order, limits and ends of ordinary crawls, by the servers' log."""

from __future__ import annotations

import signal
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from crawlproject.compat import closes_lane
from tests.crawl.crawling import NO_HEARTBEAT, PROMPT, crawling, read_results
from tests.crawl.differential import OWN_HANDLER, QUICK, Run, run, run_on
from tests.crawl.scripted_site import Answer, Asked, Script, Site, page, scripted_site

LIMITS = "tests.crawl.limit_spiders"
FINE = page(title="fine")

in_the_lane = pytest.mark.skipif(
    closes_lane() is not None, reason="without the lane a session goes on before the callback of its page has run"
)


def numbered(servers: int = 1, count: int = 30, delay: float = 0.0) -> Script:
    """Pages 0, 1, 2, ... on each server."""
    answer = fine(delay)
    return {f"{server}/{number}": answer for server in range(1, servers + 1) for number in range(count)}


def fine(delay: float) -> Answer:
    return Answer(FINE.body, headers=FINE.headers, delay=delay)


def slow_after(count: int, log: Path) -> Callable[[Site], Script]:
    """Pages 0, 1, 2, ... on each server; all but the first ``count`` requests wait until the crawl is about to end."""

    def script(site: Site) -> Script:
        def answer(_: Asked) -> Answer:
            while len(site.asked) > count and "Closing spider" not in log.read_text() and not site.stopping.is_set():
                site.came.wait(0.02)  # meanwhile other requests come
            return FINE

        return dict.fromkeys(numbered(3), answer)

    return script


def anything(site: Site) -> Script:
    """Every page of ``OrderSpider`` is there."""
    pages = ("0q1", "5q1", "-3q1", "5q3", "2q2", "9q0.5", "0q1")
    return {"1/": FINE, **{f"{server}/{name}": FINE for server in (1, 2) for name in pages}}


@pytest.mark.parametrize("policy", ["quality", "capacity", "prefix", "breadth-first"])
def test_urls_of_a_server_are_fetched_in_order(policy: str) -> None:
    """By quality, priority and arrival if the policy uses quality; else by priority and arrival."""
    ours = run(f"{LIMITS}.OrderSpider", anything, servers=2, settings={**QUICK, "FRONTIER_POLICY": policy})
    by_priority = ["9q0.5", "5q1", "5q3", "2q2", "0q1", "0q1", "-3q1"]
    by_quality = ["5q3", "2q2", "5q1", "0q1", "0q1", "-3q1", "9q0.5"]
    expected = by_quality if policy in ("quality", "capacity", "prefix") else by_priority
    assert ours.site.places(1) == ["1/", *(f"1/{name}" for name in expected)]
    assert ours.site.places(2) == [f"2/{name}" for name in by_priority]


@pytest.mark.parametrize(
    ("settings", "reason", "most"),
    [
        ({"CLOSESPIDER_PAGECOUNT": 5}, "closespider_pagecount", 5 + 2),
        ({"CLOSESPIDER_ITEMCOUNT": 5}, "closespider_itemcount", 5 + 2 + 2),
    ],
)
def test_closespider_by_count_ends_the_crawl(settings: dict[str, Any], reason: str, most: int, tmp_path: Path) -> None:
    """With the reason of Scrapy's extension; each server may have one more page in progress, and one in the spider."""
    log = tmp_path / "log"
    settings = {**QUICK, **settings, "LOG_FILE": str(log)}
    ours = run(f"{LIMITS}.ManySpider", slow_after(5, log), servers=2, settings=settings)
    assert ours.reason == reason
    assert 5 <= len(ours.site.places()) <= most
    assert len(ours.items()) == len(ours.site.places())


def test_closespider_by_time_ends_the_crawl() -> None:
    """Also while the servers rest."""
    settings = {**QUICK, "DOWNLOAD_DELAY": 30, "CLOSESPIDER_TIMEOUT": 4}
    ours = run(f"{LIMITS}.ManySpider", numbered(2), servers=2, settings=settings)
    assert ours.reason == "closespider_timeout"
    assert sorted(ours.site.places()) == ["1/0", "2/0"]
    assert ours.stat("elapsed_time_seconds") >= 4


@in_the_lane
def test_closespider_raised_by_a_callback_ends_the_crawl() -> None:
    """Its reason is the crawl's, and no request is started after it."""
    ours = run(f"{LIMITS}.StoppingSpider", numbered(delay=0.02))
    assert ours.reason == "enough"
    assert len(ours.site.places()) <= 4
    assert not ours.has_errors()


def test_interrupt_stops_cleanly(tmp_path: Path) -> None:
    """One Ctrl-C: pages in progress are finished, stats written, no request started, exit code 0."""
    with scripted_site(3) as site:
        log = tmp_path / "log"
        site.script = slow_after(6, log)(site)
        spider, settings = f"{LIMITS}.ManySpider", {**QUICK, "LOG_FILE": str(log)}
        with crawling(spider, tmp_path, settings=settings, sites=",".join(site.origins)) as process:
            site.wait_for(6)
            process.send_signal(signal.SIGINT)
            process.wait()
        stopped = Run(read_results(tmp_path, process.returncode, log.read_text()), site)
    assert stopped.crawl.exit_code == 0
    assert stopped.reason == "shutdown"
    assert len(stopped.items()) == len(site.places()) < 10
    assert not stopped.has_errors()


def test_handler_of_spider_idle_may_add_requests() -> None:
    """It adds requests and raises DontCloseSpider; they start without waiting for the engine's heartbeat."""
    ours = run(f"{LIMITS}.IdleSpider", numbered(), settings={**QUICK, **NO_HEARTBEAT})
    assert ours.site.places() == ["1/0", "1/1", "1/2"]
    assert ours.reason == "finished"
    assert ours.stat("elapsed_time_seconds") < PROMPT


@pytest.mark.parametrize("more", [{}, OWN_HANDLER])
def test_download_delay_is_a_minimum_gap(more: dict[str, Any]) -> None:
    """DOWNLOAD_DELAY holds by the servers' log; meanwhile the only session goes to the other server."""
    settings = {**QUICK, "DOWNLOAD_DELAY": 1, "FRONTIER_MAX_SESSIONS": 1, **more}  # longer than opening a connection
    ours = run(f"{LIMITS}.ManySpider", numbered(2, 4, delay=0.05), servers=2, settings=settings, count="4")
    gaps = ours.site.gaps(1) + ours.site.gaps(2)
    assert len(gaps) == 6
    assert min(gaps) >= 1
    turns = [one.server for one in ours.site.asked]
    assert sum(one != other for one, other in pairwise(turns)) >= 4  # 1 if one server were finished before the other


def test_download_delay_holds_after_failures() -> None:
    """A server that breaks every connection is not requested faster."""
    settings = {**QUICK, "DOWNLOAD_DELAY": 0.2, "RETRY_ENABLED": False}
    script = {f"1/{number}": Answer(reset=True) for number in range(4)}
    ours = run(f"{LIMITS}.ManySpider", script, settings=settings, count="4")
    assert len(ours.site.gaps(1)) == 3
    assert min(ours.site.gaps(1)) >= 0.2


def resetting(*lost: str) -> Callable[[Site], Script]:
    """Pages whose server answers one request on each connection, and resets it at the next one, or at ``lost``."""

    def script(site: Site) -> Script:
        used: set[int] = set()

        def answer(asked: Asked) -> Answer:
            if asked.connection in used or asked.place in lost:
                return Answer(reset=True)
            used.add(asked.connection)
            return fine(0.0)

        return {f"1/{number}": answer for number in range(4)}

    return script


def test_request_on_a_connection_that_is_reset_is_repeated_once() -> None:
    """On a new connection, not as a retry."""
    settings = {**QUICK, "RETRY_TIMES": 0}
    ours = run(f"{LIMITS}.ManySpider", resetting("1/2"), settings=settings, count="4")
    assert len(ours.items()) == 3
    assert max(ours.asked().values()) == 2
    resets = len(ours.site.places()) - 4
    assert ours.stat("frontier/given_back") == resets > 0
    assert ours.stat("retry/count") == 0
    assert ours.stat("downloader/exception_count") == 1  # /2, on a new connection
    assert ours.site.most_at_once(1) == 1
    assert ours.reason == "finished"


def test_delays_in_download_slots_hold() -> None:
    """A delay given to a host replaces DOWNLOAD_DELAY, longer or shorter."""
    slots = {"127.4.0.1": {"delay": 0.5, "jitter": 0}, "127.4.0.2": {"delay": 0}}
    settings = {**QUICK, "DOWNLOAD_DELAY": 0.2, "DOWNLOAD_SLOTS": slots}
    ours = run(f"{LIMITS}.ManySpider", numbered(2, 4), servers=2, settings=settings, count="4")
    slow, fast = ([one.started for one in ours.site.of(server)] for server in (1, 2))
    assert slow[-1] - slow[0] >= 1  # three times 0.5, less what the first one is late: at most until the second
    assert fast[-1] < slow[2]


def test_concurrent_requests_of_the_project_holds() -> None:
    """CONCURRENT_REQUESTS = 1 holds over all servers together, also for robots.txt."""
    settings = {**QUICK, **NO_HEARTBEAT, "ROBOTSTXT_OBEY": True}
    settings |= {"CONCURRENT_REQUESTS": 1, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    ours = run(f"{LIMITS}.ManySpider", numbered(3, 5, delay=0.01), servers=3, settings=settings, count="5")
    assert len(ours.items()) == 15
    assert ours.site.most_at_once(1, 2, 3) == 1
    assert ours.stat("elapsed_time_seconds") < PROMPT


def test_servers_on_one_address_take_turns() -> None:
    """One of two servers has another name; between their sessions there is a rest."""
    settings = {**QUICK, "FRONTIER_POLITENESS_GROUP": "ip", "FRONTIER_MIN_DELAY": 0.1, "FRONTIER_MAX_DELAY": 0.1}
    with scripted_site(2, address="127.0.0.1") as site:
        site.script = numbered(2, 5, delay=0.02)
        site.origins[1] = site.origins[1].replace("127.0.0.1", "localhost")
        ours = run_on(site, f"{LIMITS}.ManySpider", settings=settings, count="5")
    assert len(ours.items()) == 10
    assert site.most_at_once(1, 2) == 1
    turns = [one.server for one in site.asked]
    change = next(index for index in range(1, 10) if turns[index] != turns[index - 1])
    assert site.asked[change].started - site.asked[change - 1].ended >= 0.1


def test_servers_of_one_domain_take_turns() -> None:
    """Meanwhile a server of another domain is requested."""
    hosts = ("http://a.example.com", "http://b.example.com", "http://a.example.net")
    settings = {**QUICK, "FRONTIER_POLITENESS_GROUP": "domain"}
    script = {f"{host}/{number}": Answer(FINE.body, delay=0.03) for host in hosts for number in range(5)}
    ours = run("tests.crawl.inline_spiders.ProxySpider", script, settings=settings, hosts=",".join(hosts), count="5")
    assert len(ours.items()) == 15
    for one in ours.site.asked:
        one.server = 1 + one.path.startswith(hosts[2])
    assert ours.site.most_at_once(1) == ours.site.most_at_once(2) == 1
    assert ours.site.most_at_once(1, 2) == 2


@in_the_lane
def test_depth_first_visits_a_tree_in_preorder() -> None:
    """By one connection: each page before its links, and these before those of the pages above."""
    tree = {"": "ab", "a": "cd", "c": "e", "d": "", "b": "f", "e": "", "f": ""}
    with scripted_site(1) as site:
        site.script = {f"1/{name}": page(*(f"/{child}" for child in below), title=name) for name, below in tree.items()}
        settings = {**QUICK, "FRONTIER_POLICY": "depth-first", "FRONTIER_DUPLICATES_EXACT": False}
        run_on(site, "crawlproject.spiders.web.WebSpider", settings=settings, seeds=site.url("1/"))
    assert [place.removeprefix("1/") for place in site.places()] == ["", "a", "c", "e", "d", "b", "f"]
