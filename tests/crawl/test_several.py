"""Several spiders in one crawl (``web -a spiders=...``): the items of each are those of the spider alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crawl.differential import QUICK, Run, run_on
from tests.crawl.scripted_site import Answer, Asked, Script, Site, page, scripted_site

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


NAMES = {"shop": "ShopSpider", "news": "NewsSpider", "map": "MapSpider"}


@pytest.mark.parametrize("lane", ["auto", "off"])
def test_items_are_those_of_each_spider_alone(lane: str) -> None:
    """Callbacks, errbacks, forms, ``meta``, rules, sitemaps, headers, pipelines; pages of other servers are web's."""
    with scripted_site(4) as site:
        site.script = shops(site)
        expected = [item for spider in NAMES.values() for item in alone(site, spider).items()]
        site.asked.clear()
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
