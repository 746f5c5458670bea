"""Wrong settings ``FRONTIER_REPOSITORY_*`` are refused at start, by name; without ``FRONTIER_REPOSITORY_DIR`` nothing
is written.
"""

from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.test import get_crawler

from crawlproject.middlewares.repository import RepositoryMiddleware, repository_options


def crawler_of(spider: str, settings: dict[str, Any]) -> Crawler:
    crawler = get_crawler(settings_dict=settings)
    crawler.spider = Spider(spider)
    return crawler


def test_it_is_off_without_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a file nor a middleware."""
    monkeypatch.chdir(tmp_path)
    assert repository_options(get_crawler()) is None
    with pytest.raises(NotConfigured):
        RepositoryMiddleware.from_crawler(get_crawler())
    assert list(tmp_path.iterdir()) == []


def test_settings_are_read_as_text_too(tmp_path: Path) -> None:
    """The command line gives every value as text; a relative directory lies in JOBDIR, an absolute one not."""
    job = str(tmp_path / "job")
    given = {"FRONTIER_REPOSITORY_DIR": "pages", "JOBDIR": job}
    options = repository_options(crawler_of("my spider/1", given))
    assert options is not None
    assert options.directory == tmp_path / "job" / "pages"
    assert options.prefix == "my_spider_1"
    options = repository_options(crawler_of("web", {**given, "FRONTIER_REPOSITORY_DIR": str(tmp_path / "own")}))
    assert options is not None
    assert options.directory == tmp_path / "own"


def test_each_file_says_who_crawled_and_how() -> None:
    """What goes into the warcinfo record."""
    settings = {
        "FRONTIER_REPOSITORY_DIR": "x",
        "FRONTIER_REPOSITORY_OPERATOR": "Ann <ann@a.example>",
        "USER_AGENT": "bot/1",
    }
    options = repository_options(crawler_of("web", {**settings, "ROBOTSTXT_OBEY": True}))
    assert options is not None
    assert options.info["operator"] == "Ann <ann@a.example>"
    assert options.info["http-header-user-agent"] == "bot/1"
    assert options.info["robots"] == "classic"
    assert options.info["isPartOf"] == "web"
    assert "crawlproject/" in (options.info["software"] or "")
