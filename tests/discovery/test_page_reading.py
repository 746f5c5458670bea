"""A page is parsed once for all readers."""

import pytest
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Request
from scrapy.statscollectors import MemoryStatsCollector

from crawlproject.discovery.page_reading import read_page, saved_text
from crawlproject.spiders.web import WebSpider

URL = "http://127.0.0.1/"


@pytest.mark.parametrize(
    ("settings", "is_taken"),
    [
        ({}, True),
        ({"FRONTIER_DUPLICATES_NEAR": False}, True),  # the trap guard needs the text
        ({"FRONTIER_GUARD_ENABLED": False}, True),
        ({"FRONTIER_DUPLICATES_NEAR": False, "FRONTIER_GUARD_ENABLED": False}, False),
    ],
)
def test_text_is_extracted_in_the_first_parse_if_needed(settings: dict[str, bool], is_taken: bool) -> None:
    crawler = Crawler(WebSpider, {"ADDONS": {"crawlproject.addon.FrontierAddon": 300}, **settings})
    crawler.stats = MemoryStatsCollector(crawler)
    spider = WebSpider.from_crawler(crawler, seeds=URL)
    response = HtmlResponse(URL, body=b"<p>word <a href=x>x</a>", headers={"Content-Type": "text/html"})
    response.request = Request(URL)
    list(spider.parse(response))
    page = read_page(response)
    assert (page.text is not None) == is_taken
    assert (read_page(response, with_text=True) is page) == is_taken


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [("windows-1251", "cp1251"), ("x-cp1251", "cp1251"), ("utf-16", "utf-8"), ("", "utf-8"), ("", "utf-16")],
)
def test_a_saved_page_is_read_in_its_encoding(declared: str, encoding: str) -> None:
    """As it is declared in the page, which a browser saves without the header."""
    text = f"<meta charset={declared}><title>Потоки</title>" if declared else "<title>Потоки</title>"
    assert saved_text(text.encode(encoding)) == text


def test_a_saved_page_in_japanese() -> None:
    """With a character of NEC."""
    assert saved_text(b"<meta charset=euc-jp>\xad\xa1\xb4\xc1\xbb\xfa") == "<meta charset=euc-jp>①漢字"
