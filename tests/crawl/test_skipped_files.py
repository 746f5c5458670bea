"""Links with file extensions: the server's answers decide whether they are followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.nasty_server import page, response, running

if TYPE_CHECKING:
    from pathlib import Path

WEB = "crawlproject.spiders.web.WebSpider"
IMAGE = (response(b"x" * 500, "Content-Type: image/png"),)

IMAGES = [f"/images/{number}.jpg" for number in range(40)]
PAGES = [
    *(f"/wiki/File:{number}.jpg" for number in range(20)),
    *("/wiki/Node.js", "/npm/chart.js", "/blob/main/logo.png", "/ws/eBayISAPI.dll?ViewItem", "/attachment/wiki/X.war"),
]


def site() -> dict[str, tuple[bytes, ...]]:
    """A server that has pages with such names, and images beside them."""
    pages = {path: (response(page(f"/from{number}")),) for number, path in enumerate(PAGES)}
    return {"/": (response(page(*IMAGES, *PAGES)),), **pages, **dict.fromkeys(IMAGES, IMAGE)}


def test_pages_that_end_like_files_are_read_and_files_are_not() -> None:
    """All pages and the pages linked only from them are fetched, and three of the images; no connection is lost."""
    with running({"site": site()}) as roots:
        result = crawl(WEB, settings={**IMPOLITE, "ROBOTSTXT_OBEY": False}, seeds=f"{roots['site']}/")
    paths = {item["url"].removeprefix(roots["site"]) for item in result.items}
    assert paths >= {"/", *PAGES, *(f"/from{number}" for number in range(len(PAGES)))}
    assert len(paths & set(IMAGES)) == 3
    assert result.stat("fates/queue/extension") == 37
    assert result.stat("fates/answer/wrong_type") == 3
    assert result.stat("frontier/urls") == 0


def test_files_are_skipped_by_name_if_set() -> None:
    """FRONTIER_LINKS_SKIP_AFTER=0: the extension alone decides."""
    with running({"site": site()}) as roots:
        settings = {**IMPOLITE, "ROBOTSTXT_OBEY": False, "FRONTIER_LINKS_SKIP_AFTER": 0}
        result = crawl(WEB, settings=settings, seeds=f"{roots['site']}/")
    assert [item["url"] for item in result.items] == [f"{roots['site']}/"]
    assert result.stat("fates/link/extension") == len(IMAGES) + len(PAGES)


def test_learned_file_types_survive_a_restart(tmp_path: Path) -> None:
    """The second run requests no image and drops the queued ones; every page is fetched once."""
    settings = {**IMPOLITE, "ROBOTSTXT_OBEY": False, "JOBDIR": str(tmp_path / "job")}
    with running({"site": site()}) as roots:
        runs = [crawl(WEB, settings=settings, seeds=f"{roots['site']}/", **more) for more in ({"max_pages": "40"}, {})]
    urls = [url for run in runs for url in run.urls()]
    assert len(urls) == len(set(urls)) == 1 + 2 * len(PAGES) + 3
    assert sum(run.stat("fates/queue/extension") for run in runs) == 37


def test_requests_of_a_spider_are_never_dropped() -> None:
    """Whatever the server answered to links with the same extension."""
    urls = [f"/images/{number}.jpg" for number in range(9)]
    with running({"site": dict.fromkeys(urls, IMAGE)}) as roots:
        given = [roots["site"] + url for url in urls]
        result = crawl(
            "tests.crawl.odd_spiders.FilesSpider",
            settings={**IMPOLITE, "ROBOTSTXT_OBEY": False},
            links=",".join(given[:3]),
            requests=",".join(given[3:]),
        )
    assert sorted(item["file"] for item in result.items if "file" in item) == given[3:]
    assert result.stat("fates/queue/extension") == 0
