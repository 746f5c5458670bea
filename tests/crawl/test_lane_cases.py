"""Practices of ordinary spiders on the fast lane: the same as on Scrapy's own way, and as with Scrapy alone."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from tests.crawl.crawling import Crawl
from tests.crawl.differential import QUICK, Run, run_on
from tests.crawl.scripted_site import Answer, Asked, Script, Site, page, redirect, scripted_site
from tests.waiting import PATIENCE

SPIDERS = "tests.crawl.lane_cases"

HTML = {"Content-Type": "text/html"}

#: Stats that this project adds, that time decides, or that count what a log says. Bytes: a server says
#: ``Connection: close`` in the last answer of each session.
OWN = (
    "dns/",
    "duplicates/",
    "fates/",
    "frontier/",
    "lane/",
    "monitor/",
    "robotstxt/",
    "scheduler/",
    "seen/",
    "redirect/",
)
VARYING = (
    "downloader/response_bytes",
    "elapsed",
    "finish_time",
    "items_per",
    "log_count/",
    "memusage/",
    "responses_per",
    "start_time",
)


def headers_of(asked: Asked) -> dict[str, str]:
    """The headers of a request, without those of server and connection."""
    return {name: value for name, value in asked.headers.items() if name not in ("host", "connection")}


def echo(asked: Asked) -> Answer:
    return Answer(json.dumps(headers_of(asked)), headers={"Content-Type": "text/plain"})


def refresh(to: str, seconds: int = 0, before: str = "") -> Answer:
    return Answer(
        f'<html><head>{before}<meta http-equiv="refresh" content="{seconds};url={to}"></head></html>', headers=HTML
    )


class Cases(dict[str, Any]):
    """The servers of ``CasesSpider``; paths with numbers and queries are computed."""

    def get(self, place: str, default: Any = None) -> Any:  # type: ignore[override]
        if place in self or not place[:1].isdigit():
            return super().get(place, default)
        path, _, query = place[1:].partition("?")
        if path.startswith("/chain"):
            number = int(path.removeprefix("/chain"))
            return redirect(f"/chain{number - 1}?{query}") if number else page()
        if path.startswith("/status"):
            return redirect(f"/echo?{path[1:]}", int(path.removeprefix("/status")))
        known = {"/500": Answer(status=500), "/418": Answer(status=418), "/echo": echo, "/page": page()}
        return known.get(path, redirect(f"/echo?to{query}") if path == "/to" else default)


def cases(site: Site) -> Script:
    """See ``CasesSpider``."""
    return Cases(
        {
            "1/twice": [Answer(status=500), page()],
            "1/relative/a": redirect("../echo?relative"),
            "1/protocol": redirect(site.url("2/echo?protocol").removeprefix("http:")),
            "1/query": redirect("?q=1"),
            "1/query?q=1": page(),
            "1/part": page(),
            "1/topart": redirect("/part#two"),
            "1/tls": redirect(site.url("3/echo?tls")),
            "1/refresh": refresh("/echo?refreshed"),
            "1/refresh?dont": refresh("/echo?not-followed"),
            "1/refresh3000": refresh("/echo?too-late", 3000),
            "1/refreshbase": refresh("echo", before='<base href="/b/">'),
            "1/noscript": refresh("/echo?noscript", before="<noscript>"),
            "1/location200": Answer("x", 200, {"Location": "/echo?no", **HTML}),
            "1/away": redirect(site.url("2/echo?away")),
            "1/times": redirect("/echo?times"),
            "1/manyheaders": Answer("", 302, {"Location": "/echo?many", "Set-Cookie": "a=1", "Refresh": "0;url=/x"}),
            "1/notype": Answer("<html><body>a</body></html>"),
            "1/twotypes": Answer("<html>", 200, {"Content-Type": "text/plain", "content-type": "text/html"}),
            "1/latin": Answer("x", 200, {"X-L": "\xe9", "Content-Type": "text/html; charset=\xe9"}),
            "1/setcookie": Answer("x", 200, {"Set-Cookie": "a=1", "set-cookie": "b=2", "SET-COOKIE": "c=3"}),
            "1/large": Answer("x" * 5000, 200, HTML),
            "1/large?w": Answer("x" * 5000, 200, HTML),
            "1/slow": Answer("x", delay=3.0),
            "1/policy": Answer("x", 200, {"Referrer-Policy": "same-origin", **HTML}),
            **dict.fromkeys(("1/links", "1/links?policy", "3/links", "3/links?2"), page()),
        }
    )


@dataclass
class Seen:
    """What a crawl shows."""

    crawl: Crawl
    items: Counter[str]
    requests: Counter[str]
    stats: dict[str, Any]


def seen(found: Run) -> Seen:
    """Addresses are those of the script."""
    site = found.site

    def short(what: Any) -> str:
        return site.short(json.dumps(what, sort_keys=True)).replace("127.4.0.", "server ")

    requests = [short([asked.place, asked.method, headers_of(asked)]) for asked in site.asked]
    items = [{**item, "body": site.short(item.get("body", ""))} for item in found.crawl.items]
    stats = json.loads(short(found.crawl.stats))
    kept = {name: value for name, value in stats.items() if not name.startswith(OWN + VARYING)}
    return Seen(found.crawl, Counter(map(short, items)), Counter(requests), kept)


def three_ways(
    spider: str,
    script: Any,
    settings: dict[str, Any],
    *,
    tls: tuple[int, ...] = (),
    ways: Sequence[str] = ("auto", "off", "stock"),
    servers: int = 3,
    **more: str,
) -> list[Seen]:
    """The lane, Scrapy's way with the add-on, and Scrapy alone."""

    def one(way: str) -> Seen:
        with scripted_site(servers, tls=tls) as site:
            site.script = script(site)
            chosen = settings if way == "stock" else {**QUICK, **settings, "FRONTIER_FAST_LANE": way}
            path = spider if "." in spider else f"{SPIDERS}.{spider}"
            return seen(run_on(site, path, settings=chosen, addon=way != "stock", **more))

    with ThreadPoolExecutor(len(ways)) as pool:
        return list(pool.map(one, ways))


def assert_same(lane: Seen, *others: Seen) -> None:
    """The items, the requests with their headers, and the stats that Scrapy has."""
    assert lane.crawl.stat("lane/requests") > 0
    for other in others:
        assert lane.items == other.items
        assert lane.requests == other.requests
        assert lane.stats == other.stats
        assert other.crawl.stat("lane/requests") == 0
        assert lane.crawl.log.count("Traceback") == other.crawl.log.count("Traceback")


@pytest.mark.parametrize(
    "settings",
    [
        {"REDIRECT_MAX_TIMES": 4, "DEPTH_STATS_VERBOSE": True},
        {"RETRY_ENABLED": False, "REFERRER_POLICY": "strict-origin-when-cross-origin", "HTTPERROR_ALLOW_ALL": True},
        {
            "RETRY_HTTP_CODES": [404, 418],
            "METAREFRESH_MAXDELAY": 5000,
            "REDIRECT_MAX_TIMES": 1,
            "HTTPAUTH_USER": "u",
            "HTTPAUTH_PASS": "p",
            "HTTPAUTH_DOMAIN": "127.4.0.2",
            "DEFAULT_REQUEST_HEADERS": {"X-A": ["7", "8"], "accept": "a", "ACCEPT": "b"},
            "USER_AGENT": None,
        },
    ],
    ids=["usual", "off", "other"],
)
def test_cases_are_the_same(settings: dict[str, Any]) -> None:
    """Retries, redirects, headers, passwords, limits, referrers, errors, whatever their settings."""
    lane, slow, stock = three_ways("CasesSpider", cases, {"RETRY_TIMES": 2, **settings}, tls=(3,))
    assert_same(lane, slow, stock)
    assert len(lane.items) > 80
    assert lane.crawl.stat("lane/pages") > 80


def signalling(site: Site) -> Script:
    """The page that connects receivers, and two whose requests are then under way."""

    def after(*places: str) -> Callable[[Asked], Answer]:
        def answer(asked: Asked) -> Answer:
            with site.came:
                site.came.wait_for(lambda: site.stopping.is_set() or {*places} <= {*site.places()}, PATIENCE)
            return page()

        return answer

    # the callback of the first page has run when its links are requested
    under_way = dict.fromkeys(("2/soon", "3/slowly"), after("1/a"))
    return {"1/now": after(*under_way), "1/a": page(), "1/b": redirect("/a"), **under_way}


@pytest.mark.parametrize(
    "names",
    [
        "item_scraped",
        "request_left_downloader,response_downloaded,response_received",
        "request_scheduled,request_dropped",
        "headers_received,bytes_received",
    ],
)
def test_receivers_that_come_late_are_told(names: str) -> None:
    """Of the requests under way when they were connected, and of the items of the callback that connected them."""
    lane, stock = three_ways("LateSpider", signalling, {"RETRY_TIMES": 0}, ways=("auto", "stock"), names=names)
    told = {name: value for name, value in stock.stats.items() if name.startswith("told/")}
    assert told
    assert {name: value for name, value in lane.stats.items() if name.startswith("told/")} == told
    assert lane.items == stock.items
