"""Several spiders in one crawl (``web -a spiders=...``): the items of each are those of the spider alone."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.children import free_port
from testbed.redis_server import RunningRedis
from tests.crawl.crawling import TIMEOUT, crawling, read_results
from tests.crawl.differential import QUICK, Run, run_on
from tests.crawl.scripted_site import Answer, Asked, Script, Site, page, scripted_site
from tests.crawl.test_console import open_console
from tests.waiting import PATIENCE, until

WEB = "crawlproject.spiders.web.WebSpider"
SPIDERS = "tests.crawl.several_spiders"
PROJECT: dict[str, Any] = {"SPIDER_MODULES": [SPIDERS], "FRONTIER_LINKS_SITEMAPS": True, "ROBOTSTXT_OBEY": True}


def several(site: Site, spiders: str, settings: dict[str, Any] | None = None, **arguments: str) -> Run:
    sites = ",".join(site.origins)
    of_each = {f"{name}.sites": sites for name in spiders.split(",") if name != "all"}
    return run_on(site, WEB, settings={**QUICK, **PROJECT, **(settings or {})}, spiders=spiders, **of_each, **arguments)


def alone(site: Site, spider: str, **settings: Any) -> Run:
    return run_on(site, f"{SPIDERS}.{spider}", settings={"ROBOTSTXT_OBEY": True, **settings}, addon=False)


def xml(*urls: str) -> Answer:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    text = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    return Answer(text, headers={"Content-Type": "application/xml"})


def shops(site: Site) -> Script:
    """Three servers that link to each other and to a fourth, which links back to their books."""

    def found(asked: Asked) -> Answer:
        return Answer(f"{asked.method} {asked.body}", headers={"Content-Type": "text/plain"})

    return {
        "1/robots.txt": Answer(f"Sitemap: {site.url('1/books.xml')}\n"),
        "1/books.xml": xml(site.url("1/never")),
        "1/never": page(),
        "1/list?c=all": page("/book/1", "/book/2", "/book/gone"),
        "1/list?c=new": page("/book/2"),
        **{f"1/book/{number}": page(title=f"book {number}") for number in (1, 2, 3)},
        "1/search": found,
        "1/broken": Answer(status=500),
        "2/": page("/list/1", site.url("1/book/3"), site.url("4/")),
        "2/list/1": page("/item/1", "/item/2", site.url("4/item/9")),
        "2/item/1": page(title="one"),
        "2/item/2": page(title="two"),
        "3/sitemap.xml": xml(site.url("3/a/1"), site.url("3/b/2"), site.url("3/c/3")),
        **{f"3/{place}": page(title=place) for place in ("a/1", "b/2")},
        "4/": page("/item/9", site.url("1/book/1"), site.url("2/item/1")),
        "4/item/9": page(title="nine"),
    }


def after(place: str, site: Site, then: str) -> Callable[[Asked], Answer]:
    """The answer of the script at ``then``, once ``place`` has been asked for."""
    answer = site.script[then]
    assert isinstance(answer, Answer)

    def wait(_: Asked) -> Answer:
        assert site.came.wait_for(lambda: place in site.places(), PATIENCE)
        return answer

    return wait


NAMES = {"shop": "ShopSpider", "news": "NewsSpider", "map": "MapSpider"}


@pytest.mark.parametrize("lane", ["auto", "off"])
def test_items_are_those_of_each_spider_alone(lane: str) -> None:
    """Callbacks, errbacks, forms, ``meta``, rules, sitemaps, headers, pipelines; pages of other servers are web's."""
    with scripted_site(4) as site:
        site.script = shops(site)
        expected = [item for spider in NAMES.values() for item in alone(site, spider).items()]
        site.asked.clear()
        # a URL is the crawl's own only if nobody's spider has requested it before: web's page comes first
        site.script = {**site.script, **{each: after("4/item/9", site, each) for each in ("1/list?c=all", "2/")}}
        ours = several(site, ",".join(NAMES), {"FRONTIER_FAST_LANE": lane}, seeds=site.url("4/"))
    cases = {item["case"] for item in expected}
    assert cases == {"list", "book", "found", "failed", "news", "a", "b"}
    assert ours.reason == "finished"
    own = [item for item in ours.items() if "case" in item]
    more = [item for item in own if item not in expected]
    assert [item for item in expected if item not in own] == []
    # web's link to a book goes to the shop's parse, too; so does the one of a news page
    assert {(item["case"], item["url"]) for item in more} == {("list", "1/book/1"), ("list", "1/book/3")}
    assert {item["url"] for item in ours.items() if "case" not in item} == {"4/", "4/item/9"}
    assert "1/books.xml" not in ours.site.places()
    for name, (pages, items) in {"shop": (7, 8), "news": (5, 2), "map": (3, 2)}.items():
        assert (ours.stat(f"spiders/{name}/pages"), ours.stat(f"spiders/{name}/items")) == (pages, items)
    assert "[shop] INFO: closed: finished" in ours.crawl.log


@pytest.mark.parametrize(
    ("spiders", "told"),
    [
        ("links", "the spider links: allowed_domains: 'http://127.4.0.1/' is not a domain"),
        ("shop,bad_init", "the spider bad_init cannot be made: RuntimeError: no such category"),
        ("shop,no_domain", "the spider no_domain has no allowed_domains"),
        ("shop,same_domain", "the spiders shop and same_domain have the same domain: 127.4.0.1"),
        ("refused", "the spider refused sets LOG_LEVEL, SCHEDULER, which cannot hold for one spider among several"),
        ("shoop", "spiders: there is no spider 'shoop'; known spiders: "),
    ],
)
def test_spiders_that_cannot_be_one_of_several_are_refused(spiders: str, told: str) -> None:
    """In one line that names them."""
    with scripted_site(1) as site:
        domains = {"links.domains": "http://127.4.0.1/"} if spiders == "links" else {}  # which Scrapy ignores
        ours = several(site, spiders, **domains)
    assert ours.crawl.exit_code == 1
    assert f"Cannot start: {told}" in ours.crawl.log
    assert not site.asked


def test_one_spider_does_not_end_the_others() -> None:
    """Neither an error in ``start`` or on each page, nor ``CloseSpider``, nor a ``start`` that never ends."""
    script: Script = {
        "1/": page(),
        "2/": page(),
        **{f"3/{number}": page() for number in range(1, 500)},
        "4/": page("/more"),
        "4/more": page(),
    }
    with scripted_site(4) as site:
        site.script = script
        ours = several(site, "bad_start,bad_pages,endless", seeds=site.url("4/"))
    assert ours.reason == "finished"
    assert ours.items("bad start") == [{"case": "bad start", "url": "1/"}]
    assert {item["url"] for item in ours.items() if "case" not in item} == {"4/", "4/more"}
    assert 3 <= len(ours.items("endless")) < 100
    assert ours.stat("spiders/bad_start/errors") == ours.stat("spiders/bad_pages/errors") == 1
    assert ours.stat("spiders/endless/finish_reason") == "seen enough"
    assert "[endless] INFO: closed: seen enough" in ours.crawl.log
    dropped = ours.stat("spiders/endless/dropped")
    assert dropped == ours.stat("fates/queue/spider_ended")


@pytest.mark.parametrize("domain", ["0x7f.4.0.1", "*.127.4.0.1"])
def test_domains_in_other_spellings(domain: str) -> None:
    """Those that name the server; pages found elsewhere are its spider's, too."""
    with scripted_site(2) as site:
        site.script = {"1/": page("/a"), "1/a": page(), "2/": page(site.url("1/a"))}
        ours = several(site, "links", seeds=site.url("2/"), **{"links.domains": domain})
    assert {(item.get("case"), item["url"]) for item in ours.items()} == {
        *(("parsed", place) for place in ("1/", "1/a")),
        (None, "2/"),
    }


def test_limits_of_one_spider_end_it() -> None:
    """Its own ``custom_settings``; what is queued of it is dropped and counted."""
    with scripted_site(2) as site:
        site.script = {
            "1/": page(*(f"/{number}" for number in range(20))),
            **{f"1/{number}": page() for number in range(20)},
            "2/": page("/1"),
            "2/1": page(),
        }
        ours = several(site, "limited", seeds=site.url("2/"))
    assert ours.reason == "finished"
    assert ours.stat("spiders/limited/finish_reason") == "closespider_pagecount"
    assert ours.stat("spiders/limited/pages") == 3
    assert ours.stat("spiders/limited/dropped") == ours.stat("fates/queue/spider_ended") == 18
    assert {item["url"] for item in ours.items() if "case" not in item} == {"2/", "2/1"}
    assert ours.site.most_at_once(1) == 1


def test_links_go_to_their_spider_with_its_quality() -> None:
    """``Links`` with and without a callback; ``quality_of`` says how good they are."""
    with scripted_site(2) as site:
        site.script = {
            "1/": Answer(
                '<a class=more href="/a">x</a><a class=more href="/abc">x</a><a class=item href="/item">x</a>'
            ),
            **dict.fromkeys(("1/a", "1/abc", "1/item", "2/"), page()),
        }
        ours = several(site, "links")
    places = ours.site.places()
    assert places[0] == "1/"
    assert sorted(places) == ["1/", "1/a", "1/abc", "1/item"]
    assert {item["url"]: item["quality"] for item in ours.items("parsed") if item["url"] != "1/"} == {
        "1/a": 1,
        "1/abc": 3,
    }
    assert ours.items("item") == [{"case": "item", "url": "1/item"}]


def test_all_spiders_with_domains_and_pipelines_of_the_project(tmp_path: Path) -> None:
    """``spiders=all``; a pipeline gets the spider of each item, and a feed only those of one."""
    feed = tmp_path / "books.jsonl"
    of_one = {"format": "jsonlines", "item_filter": "crawlproject.records.feeds.OfSpider", "spiders": ["one"]}
    settings = {
        "SPIDER_MODULES": ["tests.crawl.two_spiders"],
        "ITEM_PIPELINES": {"tests.crawl.several_spiders.Named": 100},
        "FEEDS": {
            str(tmp_path / "all.jsonl"): {"format": "jsonlines"},
            str(feed): of_one,
        },
    }
    with scripted_site(3) as site:
        site.script = {"1/": page(), "2/": page(), "3/": page()}
        run = several(site, "all", settings, seeds=",".join(site.origins))
    items = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert sorted(item["spider"] for item in items if "spider" in item) == ["one", "two"]
    assert [json.loads(line)["spider"] for line in feed.read_text().splitlines()] == ["one"]
    assert run.reason == "finished"


RULES = """
seeds = ["{origin}/list"]
[follow]
allow = ["/list", "/book/"]
[records.book]
pages = ["/book/"]
[records.book.fields]
title = "title"
"""


def test_rules_page_objects_spiders_and_others_are_one_crawl(tmp_path: Path) -> None:
    """Each page is read by its spider, else by the rules of its domain, else by ``web``."""
    with scripted_site(3) as site:
        site.script = {
            "1/list?c=all": page("/book/1"),
            "1/book/1": page(title="of the shop"),
            "2/list": page("/book/2", "/private", site.url("3/")),
            "2/book/2": page("/book/3", title="two"),
            "2/book/3": page(title="three"),
            "3/": page(site.url("2/about"), site.url("2/book/3"), "/more"),
            "3/more": page(),
        }
        (tmp_path / "news.toml").write_text(RULES.format(origin=site.origins[1]))
        ours = several(site, "shop", rules=str(tmp_path))
        only = run_on(site, WEB, settings=QUICK, rules=str(tmp_path), allowed="127.4.0.2")
    records = [
        {"record": "book", "url": f"2/book/{number}", "title": title} for number, title in ((2, "two"), (3, "three"))
    ]
    assert [item for item in ours.items() if "record" in item] == records
    assert "1/book/1" in {item["url"] for item in ours.items("book")}
    assert {item["url"] for item in ours.items() if "status" in item and "case" not in item} == {"3/", "3/more"}
    assert only.items() == records


@pytest.mark.parametrize(("setting", "lost_to"), [("wait", ""), ("web", "web")])
def test_a_missing_spider_is_named_and_its_pages_are_not_lost(tmp_path: Path, setting: str, lost_to: str) -> None:
    """They wait for it in the store, or go to ``web``; callbacks are stored by spider and name."""
    settings = {"JOBDIR": str(tmp_path / "job"), "CLOSESPIDER_PAGECOUNT": 2, "FRONTIER_MISSING_SPIDER": setting}
    with scripted_site(2) as site:
        site.script = {
            "1/list?c=all": page(*(f"/book/{number}" for number in range(8))),
            **{f"1/book/{number}": page() for number in range(8)},
            "1/search": Answer("x", headers={"Content-Type": "text/plain"}),
            **{f"2/{place}": page() for place in ("", "1", "2")},
        }
        first = several(site, "shop", settings)
        assert len(first.items("book")) < 8
        del settings["CLOSESPIDER_PAGECOUNT"]
        without = several(site, "links", settings, seeds=site.url("2/"), **{"links.domains": "127.4.0.9"})
        last = several(site, "shop", settings)
    told = "Spiders of this crawl that are not in this run: shop"
    assert without.crawl.log.count(told) == 1
    assert told not in last.crawl.log
    books = [item["number"] for run in (first, last) for item in run.items("book") if item["number"] >= 0]
    others = [item["url"] for item in without.items() if "/book/" in item["url"]]
    if lost_to == "web":
        assert len(books) + len(others) == 8
        assert others
    else:
        assert sorted(books) == list(range(8))
        assert not others
        assert without.stat("fates/queue/spider_missing") > 0


def test_several_spiders_over_redis(redis_server: RunningRedis) -> None:
    """Start URLs by spider; callbacks by spider and name; a spider that is missing later is named."""
    settings = {"FRONTIER_BACKEND": "redis", "FRONTIER_COMMIT_INTERVAL": 0.1, "REDIS_URL": redis_server.url}
    limit = {"CLOSESPIDER_PAGECOUNT": 3}
    with scripted_site(3) as site, redis_server.client() as client:
        site.script = {
            "1/list?c=all": page(*(f"/book/{number}" for number in range(8))),
            **{f"1/book/{number}": page() for number in range(8)},
            "1/search": Answer("x", headers={"Content-Type": "text/plain"}),
            "3/a": page(title="a"),
        }
        client.rpush("links:start_urls", site.url("3/a"))
        first = several(site, "shop,links", settings | limit, **{"links.domains": "127.4.0.3"})
        last = several(site, "shop,links", settings, **{"links.domains": "127.4.0.3"})
        without = several(site, "links", settings, seeds=site.url("3/"), **{"links.domains": "127.4.0.3"})
    books = [item["number"] for run in (first, last) for item in run.items("book") if item["number"] >= 0]
    assert sorted(books) == list(range(8))
    assert [item["url"] for run in (first, last) for item in run.items("parsed")].count("3/a") == 1
    assert "Spiders of this crawl that are not in this run: shop" in without.crawl.log


class Chain(dict[str, Any]):
    """Endless: each page leads to the next one of its server."""

    def get(self, place: str, default: Any = None) -> Answer:
        server, _, number = place.partition("/")
        return page(f"/{int(number or 0) + 1}", title=server) if len(server) == 1 else Answer(status=404)


SPIDER = """
from scrapy import Spider

class Mine(Spider):
    name = "mine"
    allowed_domains = ["127.4.0.1"]

    def parse(self, response):
        yield {{"case": {version!r}, "url": response.url}}
        yield from response.follow_all(css="a")
"""


def test_spiders_and_rules_are_reloaded_while_the_crawl_runs(tmp_path: Path) -> None:
    """By the console and by SIGHUP; a mistake leaves the old ones in force and is told."""
    package, rules, job, port = tmp_path / "mine_all", tmp_path / "rules", tmp_path / "job", free_port()
    log, rule = tmp_path / "crawl.log", RULES.replace("/list", "/0").replace("/book/", "/")
    package.mkdir()
    rules.mkdir()
    module = package / "__init__.py"
    module.write_text(SPIDER.format(version="old"))
    settings = {**QUICK, "SPIDER_MODULES": ["mine_all"], "TEST_PATH": [str(tmp_path)], "FRONTIER_CONSOLE_PORT": port}
    settings |= {"JOBDIR": str(job), "FRONTIER_GUARD_ENABLED": False, "LOG_FILE": str(log)}
    with scripted_site(2) as site:
        site.script = Chain()
        (rules / "a.toml").write_text(rule.format(origin=site.origins[1]))
        given = {"spiders": "all", "rules": str(rules), "seeds": site.url("1/0")}
        with crawling(WEB, tmp_path, settings=settings, **given) as process:
            console = open_console(process, job, port)
            site.wait_for(10)
            module.write_text(SPIDER.format(version="the new one"))
            assert console.post("spiders", change="reload")["done"] == "mine: reloaded"
            site.wait_for(len(site.asked) + 20)
            module.write_text("no Python")
            (rules / "a.toml").write_text("no = 'rules'")
            told = console.post("spiders", change="reload")["done"]
            assert "mine_all: not loaded, the old one stays: SyntaxError" in told
            assert "not loaded, the old rules stay" in told
            site.wait_for(len(site.asked) + 20)
            (rules / "a.toml").write_text(rule.format(origin=site.origins[1]).replace("book", "chapter"))
            os.kill(process.pid, signal.SIGHUP)
            until(lambda: "Reload: a: rules loaded" in log.read_text(), process)
            site.wait_for(len(site.asked) + 20)
            (row,) = console.get("spiders")
            found = {
                name: until(lambda name=name: console.get(f"urls?spider={name}&limit=50")["rows"])
                for name in ("mine", "web")
            }
            assert console.send("GET", "/api/urls?spider=other").status == 400
            console.post("stop")
            process.wait(TIMEOUT)
        done = read_results(tmp_path, process.returncode or 0, "")
    assert (row["spider"], row["errors"], row["waits_for"]) == ("mine", 0, row["waits_for"])
    assert row["pages"] == row["items"] >= 20
    for name, origin in zip(found, site.origins, strict=True):
        assert {url["url"].rpartition("/")[0] for url in found[name]} == {origin}
    cases = [item["case"] for item in done.items if "case" in item]
    assert set(cases) == {"old", "the new one"}
    assert cases == sorted(cases)
    assert {item["record"] for item in done.items if "record" in item} == {"book", "chapter"}
