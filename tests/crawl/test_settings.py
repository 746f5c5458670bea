"""Settings in a whole crawl are parsed once, however many components read them."""

from __future__ import annotations

from pathlib import Path

from crawlproject.options.all_settings import FAMILIES
from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.scripted_site import page, scripted_site


def test_settings_are_parsed_once_per_crawl(tmp_path: Path) -> None:
    """With all features on; also if spider and add-on change settings at the start."""
    deny, scores = tmp_path / "deny.txt", tmp_path / "scores.tsv"
    with scripted_site(1) as site:
        deny.write_text("denied.example\n")
        scores.write_text(f"{site.url('1/')}\t1\n")
        site.script = {"1/": page("/a"), "1/a": page()}
        settings = {
            **IMPOLITE,
            "JOBDIR": str(tmp_path / "job"),
            "REPOSITORY_DIR": "pages",
            "FRONTIER_QUALITY_FILE": str(scores),
            "FRONTIER_PRESET": "gentle",
            "DOWNLOAD_DELAY": 0.01,
            "ROBOTSTXT_OBEY": True,
        }
        spider = "tests.crawl.settings_spiders.CountingSpider"
        result = crawl(spider, settings=settings, seeds=site.url("1/"), deny=str(deny))
    assert len(result.items) == 2, result.log
    assert {family.__name__: result.stat(f"parsed/{family.__name__}") for family in FAMILIES} == {
        family.__name__: 1 for family in FAMILIES
    }
    assert (result.stat("opened/scores.tsv"), result.stat("opened/deny.txt")) == (1, 1)
    assert result.stat("max_batch") == 7
