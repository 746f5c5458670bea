"""The table by spider: in the panel, and in the report."""

from scrapy import Spider
from scrapy.utils.test import get_crawler

from crawlproject.engine import Crawl
from crawlproject.monitor.figures import Figures
from crawlproject.monitor.progress.words import topics
from crawlproject.monitor.report.facts import spider_rows
from crawlproject.monitor.server_state import spiders_in_words
from crawlproject.requests.owners import Owner, Owners


def test_panel_names_spiders_with_most_pages_first() -> None:
    """And why one has ended."""
    crawler = get_crawler()
    owners = Crawl.of(crawler).part(Owners)
    for name, pages in (("few", 1), ("many", 20)):
        owners.put(Owner(name, Spider(name), frozenset((f"{name}.example",)), pages=pages, items=pages))
    owners.end(next(iter(owners)), "closespider_pagecount")
    found = topics(Figures(at=0.0, elapsed=1.0, spiders=spiders_in_words(crawler)))
    assert found["Spiders"] == ("many: 20 pages, 20 items", "few: 1 page, 1 item, ended: closespider_pagecount")


def test_report_has_a_row_for_each_spider() -> None:
    """Of the stats; a name may have any character but a line break."""
    stats = {"spiders/a/b/pages": 3, "spiders/a/b/seconds": 1.5, "spiders/c/finish_reason": "x", "spiders": 1}
    first, second = spider_rows(stats)
    assert (first["Spider"], first["Pages"], first["Seconds of connections"], first["Ended"]) == ("a/b", 3, 1.5, "–")
    assert (second["Spider"], second["Pages"], second["Ended"]) == ("c", "–", "x")
