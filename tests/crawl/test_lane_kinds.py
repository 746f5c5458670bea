"""Callbacks, errbacks and components of every kind take the fast lane, with the same results as with Scrapy alone."""

import json
import signal
import threading
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from testbed.workers import environment
from tests.crawl.crawling import command
from tests.crawl.differential import OWN_HANDLER, QUICK, run_on
from tests.crawl.scripted_site import Answer, Asked, Site, page, redirect, scripted_site
from tests.crawl.test_lane_cases import Seen, assert_same, seen, three_ways
from tests.processes import running
from tests.waiting import PATIENCE, until

KINDS = "tests.crawl.lane_kinds"
SPIDER = f"{KINDS}.KindsSpider"

#: Few retries, and the crawl does not wait for a server.
SETTINGS: dict[str, Any] = {"RETRY_TIMES": 1, "CONCURRENT_REQUESTS": 1}


def script(_: Site) -> dict[str, Any]:
    """Of each server: a page, a dead link, a redirect, an error that goes away and one that does not."""
    pages = ("/", "/a", "/b", "/p", "/d", "/b?2", "/?caught", "/a?caught", "/b?caught")
    asked_again = [f"/c?{path}" for path in ("a", "gone", "broken", "moved", "later", "p", "")]
    return {
        place: answer
        for server in range(1, 10)
        for place, answer in {
            **{f"{server}{path}": page() for path in (*pages, *asked_again)},
            f"{server}/moved": redirect("/d"),
            f"{server}/later": [Answer(status=503), page()],
            f"{server}/broken": Answer(status=500),
        }.items()
    }


def ways(settings: dict[str, Any] | None = None, *names: str, **arguments: str) -> list[Seen]:
    """The lane and Scrapy alone, or these ways; all requests of the lane took it. A server for each kind."""
    servers = max(each.count(",") + 1 for each in (*arguments.values(), ""))
    chosen = {**SETTINGS, **(settings or {})}
    found = three_ways(SPIDER, script, chosen, ways=names or ("auto", "stock"), servers=servers, **arguments)
    lane = found[0].crawl
    assert lane.stat("lane/requests") >= lane.stat("downloader/response_count")
    return found


ALL = ("auto", "off", "stock")


@pytest.mark.parametrize(
    "kinds",
    [
        "generator,list,item,nothing,coroutine,coroutine_of_one,async_generator,awaiting,waiting_for_its_item",
        "raising,raising_at_once,raising_coroutine,raising_async_generator,ignoring,wrong,many,blocking",
        "closing",
    ],
    ids=["results", "errors", "closing"],
)
def test_callbacks(kinds: str) -> None:
    found = ways(None, *ALL, kind=kinds)
    assert_same(*found)
    assert {way.crawl.stat("finish_reason") for way in found} == {"enough" if kinds == "closing" else "finished"}


def test_errbacks() -> None:
    kinds = "generator,nothing,failure,raising,raising_later,coroutine,async_generator"
    assert_same(*ways(None, *ALL, failing=kinds))


DOWNLOADER_MIDDLEWARES = ["Marking", "Async", "Failing", "FailingLater", "Recovering", "OldStyle"]


@pytest.mark.parametrize(("first", "last"), [*pairwise((*DOWNLOADER_MIDDLEWARES, DOWNLOADER_MIDDLEWARES[0]))])
def test_downloader_middlewares(first: str, last: str) -> None:
    """Each at both ends of Scrapy's own."""
    assert_same(*ways({"DOWNLOADER_MIDDLEWARES": {f"{KINDS}.{first}": 50, f"{KINDS}.{last}": 560}}))


SPIDER_MIDDLEWARES = ["Seeing", "Generating", "Refusing", "Breaking", "Catching"]


@pytest.mark.parametrize(
    "names",
    [*pairwise((*SPIDER_MIDDLEWARES, SPIDER_MIDDLEWARES[0])), ("Catching", "Breaking"), ("Breaking", "Catching")],
    ids=",".join,
)
def test_spider_middlewares(names: tuple[str, ...]) -> None:
    """Each at both ends of Scrapy's own."""
    middlewares = {f"{KINDS}.{name}": 20 + 900 * number for number, name in enumerate(names)}
    assert_same(*ways({"SPIDER_MIDDLEWARES": middlewares}, kind="generator,raising,raising_async_generator"))


@pytest.mark.parametrize(
    ("first", "last", "most"),
    [
        ("AsyncPiping", "OldPiping", 1), ("OldPiping", "AsyncPiping", 100), ("Dropping", "Fetching", 1),
        ("Fetching", "Dropping", 100), ("Closing", "Piping", 100), ("Piping", "Closing", 1),
    ],
)  # fmt: skip
def test_pipelines(first: str, last: str, most: int) -> None:
    """Each before and after another one."""
    pipelines = {f"{KINDS}.{first}": 100, f"{KINDS}.{last}": 900}
    assert_same(*ways({"ITEM_PIPELINES": pipelines, "CONCURRENT_ITEMS": most}, kind="async_generator"))


ITEM_SIGNALS = ["item_scraped", "item_dropped", "item_error"]
ALL_SIGNALS = [
    *ITEM_SIGNALS,
    *("request_scheduled", "request_dropped", "request_reached_downloader", "request_left_downloader"),
    *("response_downloaded", "response_received", "spider_error"),
]


@pytest.mark.parametrize(
    "received",
    [
        {"plain": ALL_SIGNALS},
        {"raising": ALL_SIGNALS, "asynchronous": ITEM_SIGNALS, "raising_later": ITEM_SIGNALS},
        {"ignoring": ["request_scheduled"]},
        {"stopping": ["headers_received"]},
        {"stopping": ["bytes_received"]},
        {"lasting": ["spider_idle"]},
    ],
    ids=["plain", "raising", "ignoring", "headers", "bytes", "lasting"],
)
def test_receivers(received: dict[str, list[str]]) -> None:
    settings = {"EXTENSIONS": {f"{KINDS}.Receiving": 0}, "RECEIVED": received}
    settings |= {"ITEM_PIPELINES": {f"{KINDS}.Dropping": 1}}
    settings |= {"TEST_HEARTBEAT": 0.2} if "lasting" in received else {}
    found = ways(settings, kind="raising")
    assert_same(*found)
    if not {"stopping", "lasting"} & {*received}:
        assert any(name.startswith("told/") for name in found[-1].stats)


@pytest.mark.parametrize(
    "settings",
    [
        {"COOKIES_ENABLED": True, "HTTPERROR_ALLOW_ALL": True, "DEPTH_LIMIT": 1, "DEPTH_STATS_VERBOSE": True},
        {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.01, "AUTOTHROTTLE_MAX_DELAY": 0.02},
        {"CONCURRENT_REQUESTS_PER_DOMAIN": 1, "DOWNLOAD_SLOTS": {"127.4.0.1": {"delay": 0.01, "concurrency": 1}}},
        {"DOWNLOAD_DELAY": 0.01},
        {"DOWNLOADER": f"{KINDS}.OwnDownloader", "ITEM_PROCESSOR": f"{KINDS}.OwnProcessor"},
        OWN_HANDLER,
    ],
    ids=["cookies and errors", "throttle", "slots", "delay", "classes", "handler"],
)
def test_settings(settings: dict[str, Any]) -> None:
    """Also classes of the project instead of Scrapy's: the lane calls them."""
    lane, stock = ways(settings)
    if settings is OWN_HANDLER:
        lane.stats = stock.stats = {}  # Scrapy's handler sees answers of its own
    if "DOWNLOADER" in settings:
        assert min(stock.stats["own/downloader"], stock.stats["own/processor"]) > 0
    assert_same(lane, stock)


def test_the_cache(tmp_path: Path) -> None:
    """The second time all pages come from there."""
    for _ in range(2):
        found = []
        for way in ("auto", "stock"):
            with scripted_site(1) as site:
                site.script = script(site)
                settings = {**SETTINGS, "HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / way)}
                chosen = settings if way == "stock" else {**QUICK, **settings, "FRONTIER_FAST_LANE": way}
                found.append(seen(run_on(site, SPIDER, settings=chosen, addon=way != "stock")))
        lane, stock = found
        assert lane.items == stock.items
        assert lane.stats == stock.stats
    assert lane.crawl.stat("httpcache/hit") > 0


@pytest.mark.parametrize("pipeline", ["Piping", "Dropping"])
def test_what_happens_to_a_url_happens_in_scrapys_order(pipeline: str) -> None:
    """Signals, and lines of the log of engine and scraper."""
    settings = {"EXTENSIONS": {f"{KINDS}.Diary": 0}, "ITEM_PIPELINES": {f"{KINDS}.{pipeline}": 1}}
    lane, stock = map(_diary, ways(settings, kind="generator,raising,async_generator,coroutine"))
    assert lane == stock
    assert sum(map(len, lane.values())) > 50


def test_a_callback_with_many_outputs_does_not_hold_the_event_loop() -> None:
    """The loop has its turns between them, as on Scrapy's way."""
    for way in ways(kind="turning"):
        turns = [item["turns"] for item in way.crawl.items if "turns" in item]
        assert len(way.crawl.items) == 1001
        assert turns[0] >= 5


@pytest.mark.parametrize("pipeline", ["NeverEnding", "Piping"])
def test_ctrl_c(pipeline: str, tmp_path: Path) -> None:
    """Once: what is in progress is finished. A pipeline that never ends keeps the crawl from that: twice."""
    released = threading.Event()
    with scripted_site(1) as site:

        def later(_: Asked) -> Answer:
            with site.came:
                site.came.wait_for(lambda: site.stopping.is_set() or released.is_set(), PATIENCE)
            return page()

        site.script = {"1/": page(), **dict.fromkeys(("1/a", "1/p", "1/moved", "1/later", "1/gone", "1/broken"), later)}
        settings = {**QUICK, **SETTINGS, "ITEM_PIPELINES": {f"{KINDS}.{pipeline}": 1}}
        line = command(SPIDER, tmp_path, settings, {"sites": site.origins[0]}, addon=True)
        with (tmp_path / "log").open("w") as log, running(line, stderr=log, env=environment()) as process:
            site.wait_for(2)
            process.send_signal(signal.SIGINT)
            until(lambda: "Closing spider (shutdown)" in (tmp_path / "log").read_text(), process)
            with site.came:
                released.set()
                site.came.notify_all()
            if pipeline == "NeverEnding":
                until(lambda: (tmp_path / "log").read_text().count("Crawled (200)") == 2, process)
                process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
    said = (tmp_path / "log").read_text()
    assert ("Spider closed (shutdown)" in said) == (pipeline == "Piping")
    assert ("forcing unclean shutdown" in said) == (pipeline == "NeverEnding")
    assert len(site.places()) == 2


def _diary(way: Seen) -> dict[str, list[str]]:
    events: dict[str, list[str]] = defaultdict(list)
    for event in json.loads(json.dumps(way.stats["diary"])):
        url, _, what = event.partition(" ")
        if url != "-":
            events[url].append(what)
    return dict(events)
