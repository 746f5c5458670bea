"""The links of a level: in order, on disk, bounded."""

import os
import resource
import signal
from pathlib import Path
from typing import Any

import pytest
from scrapy.crawler import Crawler
from scrapy.http import Request, TextResponse
from scrapy.statscollectors import MemoryStatsCollector

from crawlproject.spiders import keyword_pages as keyword_links
from crawlproject.spiders.keyword import KeywordSpider
from crawlproject.spiders.keyword_pages import LevelLinks, SavedPages, file_name


@pytest.fixture
def stats() -> Any:
    return MemoryStatsCollector(Crawler(KeywordSpider))


def test_links_come_back_in_order_and_most_of_them_once(stats: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that no longer fit into memory, and while more are added."""
    monkeypatch.setattr(keyword_links, "IN_MEMORY", 100)
    monkeypatch.setattr(keyword_links, "REMEMBERED", 10)
    links = LevelLinks(stats)
    urls = [f"http://a/{number}/\udc80" for number in range(100)]
    links.add([*urls[:50], *urls[45:50]])
    assert len(links) == 50
    assert links.take(20) == urls[:20]
    links.add(urls[50:])
    assert [*links.take(30), *links.take(1_000)] == urls[20:]
    assert len(links) == 0
    assert links.take(1) == []
    links.close()


def test_what_is_beyond_the_limit_is_counted(stats: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyword_links, "MAX_BYTES", 30)
    links = LevelLinks(stats)
    links.add(f"http://a/{number}" for number in range(10))
    assert links.take(10) == ["http://a/0", "http://a/1"]
    assert stats.get_value("keyword/links_lost") == 8
    links.close()


def test_full_disk_costs_links_and_one_line(
    stats: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    links = LevelLinks(stats)
    links.close()
    monkeypatch.setattr(links, "_file", Path("/dev/full").open("w+b", buffering=0))  # noqa: SIM115
    links.add(["http://a/1", "http://a/2"])
    assert stats.get_value("keyword/links_lost") == 2
    assert len(caplog.records) == 1
    links.close()


def test_links_of_before_can_be_read_on_a_full_disk(stats: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the disk has refused is not tried again when links are read, or at the end."""
    monkeypatch.setattr(keyword_links, "IN_MEMORY", 100)
    links, urls = LevelLinks(stats), [f"http://a/{number:02}" for number in range(30)]
    links.add(urls[:20])
    size = os.fstat(links._file.fileno()).st_size + 30
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        links.add(urls[20:])
        assert links.take(25) == urls[:22]
        assert links.take(5) == []
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert stats.get_value("keyword/links_lost") == 8
    links.close()


def test_anothers_file_is_not_deleted(stats: Any, tmp_path: Path) -> None:
    """A file that appeared in the folder after the start."""
    url = "http://a/b.html"
    pages = SavedPages(tmp_path, stats)
    other = tmp_path / file_name(1, url)
    other.write_text("mine")
    pages.save(TextResponse(url, request=Request(url), body=b"page"), 1, 0)
    assert other.read_text() == "mine"
    assert stats.get_value("keyword/not_saved") == 1
