"""Applications of five frameworks: rendered, all of their pages and records are found; fetched, none."""

from pathlib import Path
from typing import Any

import pytest

from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.scripted_site import scripted_site
from tests.download.rendering.spas import RECORDS, SHELLS, Application, installed

WEB = "crawlproject.spiders.web.WebSpider"


def crawled(application: Application, **settings: Any) -> Crawl:
    with scripted_site(1) as site:
        site.script = application
        result = crawl(WEB, settings={**IMPOLITE, **settings}, seeds=site.url("1/"), body="1")
        assert result.exit_code == 0, result.log
        for item in result.items:
            item["path"] = site.short(item["url"]).removeprefix("1")
        return result


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("npm"))


@pytest.mark.long
@pytest.mark.parametrize("name", [*SHELLS])
def test_all_pages_and_records_are_found(chromium: str, packages: Path, name: str) -> None:
    """By FRONTIER_RENDER=auto, which sees that each page needs its scripts."""
    result = crawled(Application(name, packages), FRONTIER_RENDER="auto")
    assert {item["path"] for item in result.items} == set(RECORDS)
    for item in result.items:
        record = RECORDS[item["path"]]
        assert str(record["title"]) in item["body"]
        assert str(record["price"]) in item["body"]
        assert item["links"] == len(record["links"])
    assert result.stat("render/pages") == len(RECORDS)


@pytest.mark.long
@pytest.mark.parametrize("name", [*SHELLS])
def test_without_rendering_nothing_is_found(packages: Path, name: str) -> None:
    """The same applications."""
    result = crawled(Application(name, packages))
    assert [item["path"] for item in result.items] == ["/"]
    assert not any(str(record["title"]) in item["body"] for item in result.items for record in RECORDS.values())


def test_a_page_that_fetches_its_text(chromium: str, tmp_path: Path) -> None:
    """The one without a framework: with FRONTIER_RENDER=auto all is found."""
    result = crawled(Application("fetch", tmp_path), FRONTIER_RENDER="auto", FRONTIER_RENDER_QUIET=0.3)
    assert {item["path"] for item in result.items} == set(RECORDS)
    assert all(str(RECORDS[item["path"]]["price"]) in item["body"] for item in result.items)
    assert result.stat("render/auto/noscript") == result.stat("render/pages") == len(RECORDS)
    assert result.stat("log_count/ERROR") == 0, result.log
