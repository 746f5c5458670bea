"""Which sitemaps are fetched, and which of their URLs count."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from crawlproject.discovery import sitemaps as sitemap_intake
from crawlproject.discovery.sitemaps import SitemapIntake
from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.links import Links
from crawlproject.middlewares.robots import CappedRobotParser
from crawlproject.options.following import LinkOptions
from crawlproject.requests.owners import Owners
from crawlproject.urls import LinkFilter
from crawlproject.urls.fates import Fates

PAGE = Request("http://a.example/page", meta={"depth": 3})


class SitemapReading(Spider):
    name = "reading"

    def parse_sitemap(self, response: Response) -> None:
        """Never called here."""


def intake(spider: type[Spider] = SitemapReading, *, wanted: bool = True, **rules: Any) -> SitemapIntake:
    crawler = get_crawler(spider, {"FRONTIER_LINKS_SITEMAPS": wanted})
    seen = SeenDupeFilter.from_crawler(crawler)
    fates = Fates(crawler.stats.inc_value)
    sut = SitemapIntake(seen, LinkFilter(**rules), crawler.stats, LinkOptions.of(crawler), spider(), fates, Owners())
    sut.stats = crawler.stats
    return sut


def from_sitemap(*hrefs: str, url: str = "http://a.example/sitemap.xml", **kwargs: Any) -> Links:
    request = Request(url, meta={"depth": 3})
    return Links(Response(request.url, request=request), hrefs, **kwargs)


def test_robots_txt_names_sitemaps() -> None:
    """Relative ones as well, each once; .gz is not skipped; the depth is that of the server's first page."""
    robots = b"User-agent: *\nSitemap: /1.xml.gz\nsitemap: http://a.example/2.xml\nSitemap: /1.xml.gz"
    parser = CappedRobotParser.from_crawler(get_crawler(), robots)
    entries = intake().of_robots(parser.sitemaps, PAGE)
    assert [(e.url, e.depth) for e in entries] == [("http://a.example/1.xml.gz", 3), ("http://a.example/2.xml", 3)]
    assert entries[0].payload.__name__ == "parse_sitemap"


def test_bad_line_costs_no_other_line() -> None:
    """Whatever a ``Sitemap`` line or an index contains, the other lines are read."""
    bad = ["http://[", "http://a b/", "http://%FF/", "http://[::1%25eth0]/s.xml", "//", "x" * 1_000_000, "\0", "\ud800"]
    sut = intake()
    assert [entry.url for entry in sut.of_robots([*bad, "/1.xml"], PAGE)][-1] == "http://a.example/1.xml"
    of_index = sut.of_index(from_sitemap(*bad, "http://a.example/2.xml", kind="sitemap index"))
    assert [entry.url for entry in of_index][-1] == "http://a.example/2.xml"
    own = sut.own(from_sitemap(*bad, "http://a.example/3", kind="sitemap"))
    assert own.hrefs[-1] == "http://a.example/3"
    assert all(url.startswith("http://a.example/") for url in own.hrefs)


def test_list_of_sitemaps_is_bounded() -> None:
    """Further ones are counted, and cost nothing."""
    sut = intake()
    assert len(sut.of_robots([f"/{n}.xml" for n in range(20_000)], PAGE)) == sitemap_intake.MAX_PER_SERVER
    assert sut.stats.get_value("fates/link/sitemap_limit") == 20_000 - sitemap_intake.MAX_PER_SERVER


def test_urls_in_sitemaps_have_at_least_depth_one() -> None:
    """Otherwise estimators would take them for seeds."""
    assert intake().of_robots(["/1.xml"], Request("http://a.example/"))[0].depth == 1


def test_sitemaps_of_other_servers_are_skipped() -> None:
    """Also those of other schemes, and of domains that are not allowed."""
    sut = intake(allowed=frozenset({"b.example"}))
    assert sut.of_robots(["http://b.example/s.xml", "ftp://a.example/s.xml", "/s.xml"], PAGE) == []
    names = ("foreign", "scheme", "offsite")
    assert [sut.stats.get_value(f"fates/link/{name}") for name in names] == [1, 1, 1]


def test_number_of_sitemaps_per_server_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index may name another index, endlessly."""
    monkeypatch.setattr(sitemap_intake, "MAX_PER_SERVER", 2)
    sut = intake()
    found = [sut.of_index(from_sitemap(f"http://a.example/{n}.xml", kind="sitemap index")) for n in range(4)]
    assert [len(entries) for entries in found] == [1, 1, 0, 0]


def test_sitemap_lists_urls_of_its_own_server_only() -> None:
    """The same scheme, host and port; other URLs are counted."""
    sut = intake()
    listed = (
        "http://A.example/1",
        "https://a.example/2",
        "http://b.example/3",
        "http://a.example:80/4",
        "//b.example/",
        "x:",
    )
    assert sut.own(from_sitemap(*listed)).hrefs == ["http://a.example/1", "http://a.example/4"]
    assert sut.stats.get_value("frontier/sitemaps/urls") == 2
    assert [sut.stats.get_value(f"fates/link/{name}") for name in ("foreign", "scheme")] == [3, 1]


def test_relative_urls_in_sitemaps_are_resolved() -> None:
    """Exporters of static sites write them, against the protocol: 17 sitemaps of 93 had no other."""
    own = intake().own(from_sitemap("/1", "2/index.html", "?3", url="http://a.example/s/sitemap.xml"))
    assert own.hrefs == ["http://a.example/1", "http://a.example/s/2/index.html", "http://a.example/s/sitemap.xml?3"]
