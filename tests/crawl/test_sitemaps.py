"""A real crawl with sitemaps: named by robots.txt or an index, compressed, broken."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from tests.crawl.differential import QUICK, Run, run_on
from tests.crawl.scripted_site import Answer, Script, Site, page, scripted_site

WEB = "crawlproject.spiders.web.WebSpider"
SETTINGS = {**QUICK, "ROBOTSTXT_OBEY": True, "FRONTIER_LINKS_SITEMAPS": True}
FINE = page(title="fine")


def xml(root: str, entry: str, *urls: str) -> bytes:
    listed = "".join(f"<{entry}><loc>{url}</loc></{entry}>" for url in urls)
    return f"<{root} xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{listed}</{root}>".encode()


def script(site: Site) -> Script:
    """Server 1: a seed without links, an index of three sitemaps; server 2 has a page that no link leads to."""
    url = site.url
    good = xml("urlset", "url", *(url(f"1/hidden{n}") for n in range(5)), url("1/"), url("2/foreign"))
    index = xml("sitemapindex", "sitemap", *(url(f"1/{name}") for name in ("good.xml.gz", "bad.xml", "gone.xml")))
    return {
        "1/robots.txt": Answer("User-agent: *\nDisallow: /hidden4\nSitemap: /index.xml\n"),
        "1/index.xml": Answer(index, headers={"Content-Type": "application/xml"}),
        "1/good.xml.gz": Answer(gzip.compress(good), headers={"Content-Type": "application/x-gzip"}),
        "1/bad.xml": Answer(b"<html>sorry</html>", headers={"Content-Type": "text/html"}),
        "1/": FINE,
        **{f"1/hidden{n}": FINE for n in range(5)},
        "2/foreign": FINE,
    }


def crawl(**settings: Any) -> Run:
    with scripted_site(2) as site:
        site.script = script(site)
        return run_on(
            site, WEB, settings={**SETTINGS, "FRONTIER_GUARD_PROBES": False, **settings}, seeds=site.url("1/")
        )


@pytest.fixture(scope="module")
def done() -> Run:
    return crawl()


def test_pages_of_sitemaps_are_fetched_once(done: Run) -> None:
    """Those on the sitemap's server that robots.txt allows; each sitemap is also fetched once."""
    pages = {"1/": 1, **{f"1/hidden{n}": 1 for n in range(4)}}
    assert done.asked() == {**pages, "1/index.xml": 1, "1/good.xml.gz": 1, "1/bad.xml": 1, "1/gone.xml": 1}
    assert sorted(item["url"] for item in done.items()) == sorted(pages)
    assert done.reason == "finished"


def test_sitemaps_are_counted(done: Run) -> None:
    """Fetched, listed and broken ones; they count neither as pages nor as links to other servers."""
    assert done.stat("frontier/sitemaps/found") == 4
    assert done.stat("frontier/sitemaps/fetched") == 3
    assert done.stat("frontier/sitemaps/malformed") == 1
    assert done.stat("frontier/sitemaps/urls") == 6
    assert done.stat("fates/link/foreign") == 1
    assert done.stat("web/pages") == 5


def test_broken_sitemaps_cause_no_error(done: Run) -> None:
    """No error, no traceback."""
    assert done.crawl.log.count("Sitemap ignored") == 1
    assert not done.has_errors()


def test_pages_of_sitemaps_are_one_link_from_the_seeds(done: Run) -> None:
    """Since the server's first page is a seed."""
    assert {item["depth"] for item in done.items() if "hidden" in item["url"]} == {1}


def test_sitemaps_are_ignored_by_default() -> None:
    """They are fetched only with FRONTIER_LINKS_SITEMAPS."""
    done = crawl(FRONTIER_LINKS_SITEMAPS=False)
    assert done.site.places() == ["1/"]
    assert done.stat("frontier/sitemaps/found") == 0
