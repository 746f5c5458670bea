"""``SeenDupeFilter`` alone, in an ordinary project with Scrapy's own scheduler, without the add-on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.crawl.differential import run_on
from tests.crawl.scripted_site import Script, page, scripted_site

DUPEFILTER = "crawlproject.dupefilter.SeenDupeFilter"
PAGES = 30
PLACES = {"1/", *(f"1/{number}" for number in range(PAGES))}


def linked() -> Script:
    """Pages that link to all others, each in a spelling of its own."""
    spellings = ("/{}", "/{}#top", "/{}?utm_source=x", "/./{}", "/{}?")
    script = {}
    for index, number in enumerate(("", *range(PAGES))):
        spelling = spellings[index % len(spellings)]
        script[f"1/{number}"] = page(*(spelling.format(other) for other in range(PAGES)))
    return script


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    """A project with our dupefilter and a JOBDIR."""
    return {"DUPEFILTER_CLASS": DUPEFILTER, "JOBDIR": str(folder / "job"), "CONCURRENT_REQUESTS": 2, **more}


def test_each_page_is_fetched_once_over_three_runs(tmp_path: Path) -> None:
    """With one JOBDIR: the start URL in each run, as Scrapy's start() does not filter it; other pages in one run."""
    with scripted_site() as site:
        site.script = linked()
        for stop in (8, 8, 0):
            done = run_on(
                site,
                "StartUrlsSpider",
                settings=settings(tmp_path, CLOSESPIDER_PAGECOUNT=stop),
                addon=False,
            )
            assert not done.has_errors()
        asked = _paths(site.places())
    assert sorted(place for place in asked if place != "1/") == sorted(PLACES - {"1/"})
    assert asked.count("1/") == 3
    assert done.stat("seen/urls") == PAGES
    assert done.reason == "finished"


def _paths(places: list[str]) -> list[str]:
    """Without what differs between spellings."""
    return [place.partition("?")[0] for place in places]
