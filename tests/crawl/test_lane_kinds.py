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
        for server in "123"
        for place, answer in {
            **{f"{server}{path}": page() for path in (*pages, *asked_again)},
            f"{server}/moved": redirect("/d"),
            f"{server}/later": [Answer(status=503), page()],
            f"{server}/broken": Answer(status=500),
        }.items()
    }


def ways(settings: dict[str, Any] | None = None, *, off: bool = True, **arguments: str) -> list[Seen]:
    """The lane, Scrapy's way with the add-on (if ``off``), and Scrapy alone; all requests of the first took the lane.

    With the lane off, middlewares of spiders and pipelines are called by Scrapy's own scraper: not ``off``.
    """
    names = ("auto", "off", "stock") if off else ("auto", "stock")
    found = three_ways(SPIDER, script, {**SETTINGS, **(settings or {})}, ways=names, **arguments)
    lane = found[0].crawl
    assert lane.stat("lane/requests") >= lane.stat("downloader/response_count")
    return found


@pytest.mark.parametrize(
    "kinds",
    [
        "generator,list,item", "nothing,coroutine,coroutine_of_one", "async_generator,awaiting,waiting_for_its_item",
        "raising,raising_at_once,raising_coroutine", "raising_async_generator,ignoring,wrong",
        "many,blocking", "closing",
    ],
)  # fmt: skip
def test_callbacks(kinds: str) -> None:
    found = ways(kind=kinds)
    assert_same(*found)
    assert {way.crawl.stat("finish_reason") for way in found} == {"enough" if kinds == "closing" else "finished"}


def test_outputs_of_any_type_reach_the_pipelines() -> None:
    """As with Scrapy, also if one of them loses all items."""
    assert_same(*ways({"ITEM_PIPELINES": {f"{KINDS}.Losing": 1}}, kind="wrong_outputs"))


def test_a_large_item() -> None:
    """Of 50 MB: nothing is made of it that Scrapy does not make."""
    found = ways({"ITEM_PIPELINES": {f"{KINDS}.Measuring": 1}}, kind="huge")
    assert_same(*found)
    assert [item["text"] for item in found[0].crawl.items if "text" in item] == [50_000_000]


@pytest.mark.long
def test_a_callback_with_a_million_requests() -> None:
    """One is new; the memory of the others is not kept."""
    found = ways({"LOG_LEVEL": "INFO"}, kind="many", many="1000000")
    assert_same(*found)
    assert found[0].crawl.stat("dupefilter/filtered") == 999_999


@pytest.mark.parametrize("kinds", ["nothing,failure,raising", "raising_later,coroutine,async_generator"])
def test_errbacks(kinds: str) -> None:
    assert_same(*ways(failing=kinds))


DOWNLOADER_MIDDLEWARES = [
    "Marking", "Async", "Failing", "FailingLater", "Recovering", "WrongRequest", "WrongResponse", "WrongException",
    "OldStyle",
]  # fmt: skip


@pytest.mark.parametrize(("first", "last"), [*pairwise((*DOWNLOADER_MIDDLEWARES, DOWNLOADER_MIDDLEWARES[0]))])
def test_downloader_middlewares(first: str, last: str) -> None:
    """Each at both ends of Scrapy's own."""
    assert_same(*ways({"DOWNLOADER_MIDDLEWARES": {f"{KINDS}.{first}": 50, f"{KINDS}.{last}": 560}}))


@pytest.mark.parametrize(
    "names",
    [
        "Seeing", "SeeingBadly", "Generating", "BothWays", "Breaking", "Catching", "Refusing", "WrongInput",
        "WrongOutput", "WrongCatching", "Catching,Breaking", "Breaking,Catching", "Seeing,Catching,SeeingBadly",
    ],
)  # fmt: skip
@pytest.mark.parametrize("order", [20, 920])
def test_spider_middlewares(names: str, order: int) -> None:
    """At both ends of Scrapy's own."""
    middlewares = {f"{KINDS}.{name}": order + number for number, name in enumerate(names.split(","))}
    assert_same(*ways({"SPIDER_MIDDLEWARES": middlewares}, off=False, kind="generator,raising,raising_async_generator"))


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("AsyncPiping", "OldPiping"), ("OldPiping", "AsyncPiping"), ("Dropping", "Fetching"), ("Fetching", "Dropping"),
        ("Closing", "Piping"), ("Piping", "Closing"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("most", [1, 100])
def test_pipelines(first: str, last: str, most: int) -> None:
    """Each before and after another one."""
    pipelines = {f"{KINDS}.{first}": 100, f"{KINDS}.{last}": 900}
    assert_same(*ways({"ITEM_PIPELINES": pipelines, "CONCURRENT_ITEMS": most}, off=False, kind="async_generator"))


ITEM_SIGNALS = "item_scraped,item_dropped,item_error"
REQUEST_SIGNALS = "request_scheduled,request_dropped,request_reached_downloader,request_left_downloader"
RESPONSE_SIGNALS = "response_downloaded,response_received,spider_error"


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("plain", f"{ITEM_SIGNALS},{REQUEST_SIGNALS},{RESPONSE_SIGNALS}"),
        ("asynchronous", ITEM_SIGNALS),
        ("raising", f"{ITEM_SIGNALS},{REQUEST_SIGNALS},{RESPONSE_SIGNALS}"),
        ("raising_later", ITEM_SIGNALS),
        ("ignoring", "request_scheduled"),
        ("stopping", "headers_received"),
        ("stopping", "bytes_received"),
        ("lasting", "spider_idle"),
    ],
)
def test_receivers(kind: str, names: str) -> None:
    pipelines = {f"{KINDS}.Dropping": 1}
    extensions = {f"{KINDS}.Receiving": 0}
    settings = {"EXTENSIONS": extensions, "RECEIVED": names, "RECEIVER": kind, "ITEM_PIPELINES": pipelines}
    settings |= {"TEST_HEARTBEAT": 0.2} if kind == "lasting" else {}
    found = ways(settings, kind="raising")
    assert_same(*found)
    if kind not in ("stopping", "lasting"):
        assert any(name.startswith("told/") for name in found[2].stats)


@pytest.mark.parametrize(
    "settings",
    [
        {"COOKIES_ENABLED": True},
        {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.01, "AUTOTHROTTLE_MAX_DELAY": 0.02},
        {"CONCURRENT_REQUESTS_PER_DOMAIN": 1},
        {"DOWNLOAD_SLOTS": {"127.4.0.1": {"delay": 0.01, "concurrency": 1}}},
        {"DOWNLOAD_DELAY": 0.01},
        {"HTTPERROR_ALLOW_ALL": True, "DEPTH_LIMIT": 1, "DEPTH_STATS_VERBOSE": True},
        OWN_HANDLER,
    ],
    ids=["cookies", "throttle", "per domain", "slots", "delay", "errors", "handler"],
)
def test_settings(settings: dict[str, Any]) -> None:
    lane, slow, stock = ways(settings)
    for way in (lane, slow, stock) if settings is OWN_HANDLER else ():
        way.stats = {}  # Scrapy's handler sees answers of its own
    assert_same(lane, slow, stock)


def test_the_cache(tmp_path: Path) -> None:
    """The second time all pages come from there."""
    for _ in range(2):
        found = []
        for way in ("auto", "off", "stock"):
            settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / way)}
            found.append(_one(way, settings))
        lane, slow, stock = found
        assert lane.items == slow.items == stock.items
        assert lane.stats == slow.stats == stock.stats
    assert lane.crawl.stat("httpcache/hit") > 0


def _one(way: str, settings: dict[str, Any]) -> Seen:
    with scripted_site(1) as site:
        site.script = script(site)
        chosen = {**SETTINGS, **settings}
        if way != "stock":
            chosen = {**QUICK, **chosen, "FRONTIER_FAST_LANE": way}
        return seen(run_on(site, SPIDER, settings=chosen, addon=way != "stock"))


@pytest.mark.parametrize("kind", ["generator,raising,async_generator", "coroutine"])
@pytest.mark.parametrize("pipeline", ["Piping", "Dropping"])
def test_what_happens_to_a_url_happens_in_scrapys_order(kind: str, pipeline: str) -> None:
    """Signals, and lines of the log of engine and scraper."""
    settings = {"EXTENSIONS": {f"{KINDS}.Diary": 0}, "ITEM_PIPELINES": {f"{KINDS}.{pipeline}": 1}}
    found = [_diary(way) for way in ways(settings, kind=kind)]
    assert found[0] == found[1] == found[2]
    assert sum(map(len, found[0].values())) > 50


@pytest.mark.parametrize("way", ["auto", "off"])
@pytest.mark.parametrize("pipeline", ["NeverEnding", "Piping"])
def test_ctrl_c(way: str, pipeline: str, tmp_path: Path) -> None:
    """Once: what is in progress is finished. A pipeline that never ends keeps the crawl from that: twice."""
    released = threading.Event()
    with scripted_site(1) as site:

        def later(_: Asked) -> Answer:
            with site.came:
                site.came.wait_for(lambda: site.stopping.is_set() or released.is_set(), PATIENCE)
            return page()

        site.script = {"1/": page(), **dict.fromkeys(("1/a", "1/p", "1/moved", "1/later", "1/gone", "1/broken"), later)}
        settings = {**QUICK, **SETTINGS, "ITEM_PIPELINES": {f"{KINDS}.{pipeline}": 1}, "FRONTIER_FAST_LANE": way}
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
