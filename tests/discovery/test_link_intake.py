"""How the links of a page enter the frontier."""

from __future__ import annotations

import gzip
import os
import re
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from crawlproject.discovery.link_intake import STEP, Found, LinkChecks, LinkIntake, in_steps
from crawlproject.discovery.link_rules import link_filter
from crawlproject.discovery.skipped_files import SkippedFiles
from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.frontier import BestPrefix, Frontier, Politeness
from crawlproject.frontier.quality import QUALITIES
from crawlproject.links import Links
from crawlproject.options.following import LinkOptions
from crawlproject.urls import LinkFilter, UrlPatterns
from crawlproject.urls.fates import Fates
from tests.backends.worker import ListExchange
from tests.storage.full_disk import full_disk

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

PAGE = "http://a.example/page"


def _rest(crawler: Crawler) -> tuple[StatsCollector, LinkOptions, Fates]:
    assert crawler.stats is not None
    return crawler.stats, LinkOptions.of(crawler), Fates(crawler.stats.inc_value)


def intake(quality: str = "in-links", exchange: ListExchange | None = None, **settings: Any) -> LinkIntake:
    crawler = get_crawler(settings_dict=settings)
    seen = SeenDupeFilter.from_crawler(crawler)
    checks = LinkChecks(LinkFilter(), exchange=exchange)
    return LinkIntake(seen, checks, QUALITIES[quality](), *_rest(crawler))


def find(sut: LinkIntake, links: Links, payload: Any = None) -> Found:
    """The results of all steps in one."""
    parts = [part for part in sut.find_in_steps(links, payload) if part is not None]
    entries = [entry for part in parts for entry in part.entries]
    sent = [entry for part in parts for entry in part.sent]
    return Found(entries, [item for part in parts for item in part.raised], parts[-1].found_on, sent)


def links(*hrefs: str, page: str = PAGE, **kwargs: Any) -> Links:
    meta = {"depth": 2, "quality": kwargs.pop("page_quality", 1.0)}
    return Links(HtmlResponse(page, request=Request(page, meta=meta)), hrefs, **kwargs)


def test_new_links_get_their_estimated_quality() -> None:
    """1, plus 1 for this page's link, or 2 if it leads to another server; the depth is one more than the page's."""
    found = find(intake(), links("/near", "http://b.example/far"))
    assert [(e.url, e.quality, e.depth) for e in found.entries] == [
        ("http://a.example/near", 2.0, 3),
        ("http://b.example/far", 3.0, 3),
    ]
    assert (found.raised, found.found_on) == ([], "http://a.example")


def test_known_links_are_raised_once_per_page() -> None:
    """However often the page has them; not the links that are new, and not the page itself."""
    sut = intake()
    find(sut, links("/old", page="http://a.example/other"))
    found = find(sut, links("/old", "/new", "/old#part", "/new", PAGE))
    assert [e.url for e in found.entries] == ["http://a.example/new", PAGE]
    assert found.raised == [("http://a.example/old", 1.0)]


def test_page_divides_its_worth_among_distinct_links() -> None:
    """There are three: repeated links count once, the page itself does not: .15 + .85·6/3."""
    found = find(intake("partial-pagerank"), links("/1", "/2", "/3", "/1#x", PAGE, page_quality=6.0))
    assert {e.url[-1]: e.quality for e in found.entries if e.url != PAGE} == pytest.approx(
        {"1": 1.85, "2": 1.85, "3": 1.85}
    )


def test_each_link_can_have_its_own_quality() -> None:
    """Of several links to one page the best counts; links that are not followed have none."""
    hrefs = ("/a", "mailto:x@example.org", "/b", "/a#top")
    found = find(intake(), links(*hrefs, quality=[1.0, 9.0, 0.5, 3.0]))
    assert [(e.url[-1], e.quality) for e in found.entries] == [("a", 3.0), ("b", 0.5)]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_each_link_keeps_its_quality_in_steps(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr("crawlproject.discovery.link_intake.STEP", size)
    found = find(intake(), links("/a", "/b", "/c", "/d", quality=[4.0, 3.0, 2.0, 1.0]))
    assert [e.quality for e in found.entries] == [4.0, 3.0, 2.0, 1.0]


def test_long_links_are_processed_in_short_steps() -> None:
    """50,000 links of a page may have 4 million characters, and escaping takes up to 0.4 µs for each."""
    hrefs = [f"/{number}{'%61%ff' * 330}" for number in range(400)]
    sut = intake()
    found = [part for part in sut.find_in_steps(links(*hrefs), None) if part is not None]
    assert [entry.url for part in found for entry in part.entries] == [
        f"http://a.example/{number}{'a%FF' * 330}" for number in range(400)
    ]
    assert max(len(part.entries) for part in found) <= 130  # of 1,984 characters each


@pytest.mark.parametrize("count", [0, 1, STEP, STEP + 1, 50_000])
def test_steps_cover_all_links(count: int) -> None:
    """Each once; a page without links is one step, too, so that it is counted."""
    hrefs = [f"/{number}" for number in range(count)]
    steps = in_steps(hrefs)
    assert [href for some in steps for href in hrefs[some]] == hrefs
    assert len(steps) == max(1, -(-count // STEP))


@pytest.mark.parametrize(
    ("quality", "kind"),
    [(-1.0, "page"), (float("nan"), "page"), (float("inf"), "page"), ([1.0], "page"), ([1.0, 2.0], "sitemap")],
)
def test_wrong_quality_is_refused(quality: Any, kind: Any) -> None:
    with pytest.raises(ValueError, match="quality"):
        links("/a", "/b", quality=quality, kind=kind)


def test_quality_given_by_the_spider_wins() -> None:
    """Then no link is raised."""
    sut = intake()
    find(sut, links("/old"))
    found = find(sut, links("/old", "/new", quality=0.25))
    assert [e.quality for e in found.entries] == [0.25]
    assert found.raised == []


@pytest.mark.parametrize("name", ["links.tsv", "links.tsv.gz"])
def test_links_are_recorded(tmp_path: Path, name: str) -> None:
    """One line per page with its distinct canonical links; a second crawl appends."""
    for page in ("http://a.example/1", "http://a.example/2"):
        sut = intake(FRONTIER_LINKS_FILE=name, JOBDIR=str(tmp_path))
        find(sut, links("/x", "HTTP://B.example:80/y", "/x#z", "mailto:a@b", page, page=page))
        sut.close()
    raw = (tmp_path / name).read_bytes()
    text = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode()
    assert text == (
        "http://a.example/1\thttp://a.example/x\thttp://b.example/y\n"
        "http://a.example/2\thttp://a.example/x\thttp://b.example/y\n"
    )


@pytest.mark.parametrize("lost", [1, 9, 30])
def test_links_of_a_killed_crawl_stay_readable(tmp_path: Path, lost: int) -> None:
    """A part of a line is removed before the next run appends."""
    path = tmp_path / "links.tsv"
    for run in range(3):
        sut = intake(FRONTIER_LINKS_FILE=path.name, JOBDIR=str(tmp_path))
        for number in range(250):
            find(sut, links("/x", page=f"http://a.example/{run}/{number}"))
        sut.close()
        if run < 2:
            os.truncate(path, path.stat().st_size - lost)
    lines = path.read_text().splitlines()
    assert all(re.fullmatch(r"http://a\.example/\d/\d+\thttp://a\.example/x", line) for line in lines)
    assert 750 - 2 * 100 <= len(lines) <= 750


def test_links_file_that_cannot_be_written_is_refused_at_start(tmp_path: Path) -> None:
    """The error names the setting."""
    with pytest.raises(ValueError, match=r"^FRONTIER_LINKS_FILE="):
        intake(FRONTIER_LINKS_FILE=str(tmp_path / "no" / "links.tsv"))


def test_full_disk_leaves_whole_members(tmp_path: Path) -> None:
    """What a later run appends is read after them."""
    sut = intake(FRONTIER_LINKS_FILE="links.tsv.gz", JOBDIR=str(tmp_path))
    with full_disk(2_000):
        for number in range(1000):
            find(sut, links(f"/{number}-{hash(str(number))}", page=f"http://a.example/{number}"))
    sut.close()
    lines = gzip.decompress((tmp_path / "links.tsv.gz").read_bytes()).splitlines()
    assert 0 < len(lines) < 1000
    assert sut._stats.get_value("frontier/links/record_failed") == 1


def test_patterns_do_not_apply_to_seeds() -> None:
    """Not even if it ends like a file; links are filtered."""
    crawler = get_crawler()
    patterns = LinkFilter(include=UrlPatterns(["/docs/"]))
    seen = SeenDupeFilter.from_crawler(crawler)
    files = SkippedFiles(Frontier(BestPrefix(), Politeness()), *_rest(crawler)[:2])
    sut = LinkIntake(seen, LinkChecks(patterns, files=files), QUALITIES["in-links"](), *_rest(crawler))
    assert [entry.url for entry in find(sut, Links(None, ["http://a.example/a.pdf"])).entries] == [
        "http://a.example/a.pdf"
    ]
    assert [entry.url for entry in find(sut, links("/b.pdf", "/docs/c.pdf")).entries] == ["http://a.example/docs/c.pdf"]


@pytest.mark.parametrize(("links_to", "said"), [("/docs/a", ["exclude"]), ("/x?print=1", ["include"])])
def test_patterns_that_match_no_link_are_named(links_to: str, said: list[str], caplog: Any) -> None:
    """At the end of a crawl, once each."""
    crawler = get_crawler()
    patterns = LinkFilter(include=UrlPatterns(["/docs/"]), exclude=UrlPatterns(["*?print="]))
    seen = SeenDupeFilter.from_crawler(crawler)
    sut = LinkIntake(seen, LinkChecks(patterns), QUALITIES["in-links"](), *_rest(crawler))
    find(sut, links(links_to))
    sut.close()
    warnings = [record.getMessage() for record in caplog.records if record.name == "crawlproject.discovery.link_intake"]
    assert [warning.split()[3] for warning in warnings] == said


def test_links_to_servers_of_other_workers_are_sent_once() -> None:
    """With the quality of new ones, the page's share included; what was sent counts as seen."""
    sut = intake(exchange=ListExchange(own="a.example"))
    found = find(sut, links("/near", "http://b.example/far", "http://b.example/far#x", "http://b.example/pic.png"))
    assert [(e.url, e.quality) for e in found.entries] == [("http://a.example/near", 2.0)]
    assert [(e.url, e.quality, e.depth) for e in found.sent] == [("http://b.example/far", 3.0, 3)]
    again = find(sut, links("/near", "http://b.example/far"), b"payload")
    assert (again.entries, again.sent, again.raised) == ([], [], [("http://a.example/near", 1.0)])
    counts = {name: sut._stats.get_value(f"frontier/links/{name}") for name in ("found", "new", "sent", "seen")}
    assert counts == {"found": 6, "new": 1, "sent": 1, "seen": 3}


@pytest.mark.parametrize(
    ("domains", "followed"),
    [
        (["a.example/", "b.example", "https://c.example"], ["http://b.example/"]),
        (["a.example/"], []),
        ([None, "a.example"], ["http://a.example/"]),
        ([], ["http://a.example/", "http://b.example/", "http://c.example/"]),
        (None, ["http://a.example/", "http://b.example/", "http://c.example/"]),
    ],
)
def test_wrong_domains_of_a_projects_spider_match_nothing(
    domains: list[str | None] | None, followed: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """As in Scrapy, where the crawl starts, too; ``allowed`` is an attribute of this package's spiders only."""
    crawler = get_crawler()
    crawler.spider = Spider("own", allowed_domains=domains, allowed="/path")
    rules = link_filter(crawler)
    assert [url for url in (f"http://{one}.example/" for one in "abc") if rules.reason(url) is None] == followed
    assert ("no URL belongs to 'a.example/'" in caplog.text) is ("a.example/" in (domains or ()))
