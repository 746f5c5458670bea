"""Bodies of other types are not downloaded; links with file extensions are followed as the server's answers say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.nasty_server import HANG, page, response, running

if TYPE_CHECKING:
    from pathlib import Path


WEB = "crawlproject.spiders.web.WebSpider"
IMAGE = "Content-Type: image/png"
LONG = response(b"x" * 1000, IMAGE, "Content-Length: 100000000")

SITE = {
    "/": (response(page("/short", "/a", "/long", "/b", "/endless", "/c", "/json", "/untyped", "/moved")),),
    "/short": (response(b"x" * 2000, IMAGE),),
    "/long": (LONG, HANG),
    "/endless": (b"HTTP/1.1 200 OK\r\nContent-Type: VIDEO/mp4\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", HANG),
    "/json": (response(b"{}", "Content-Type: application/ld+json;charset=utf-8"),),
    "/untyped": (response(page("/d"), "Content-Type:"),),
    "/moved": (response("", IMAGE, "Location: /e", status="301 Moved"),),
}


def test_bodies_of_other_types_are_not_downloaded() -> None:
    """Every page after a stopped body is fetched, and the item of a stopped one has what the headers say."""
    with running({"site": SITE}) as roots:
        result = crawl(WEB, settings={**IMPOLITE, "DOWNLOAD_TIMEOUT": 20}, seeds=f"{roots['site']}/")
    items = {item["url"].removeprefix(roots["site"]): item for item in result.items}
    assert set(items) == {"/", "/short", "/a", "/long", "/b", "/endless", "/c", "/json", "/untyped", "/d", "/e"}
    assert result.stat("fates/answer/wrong_type") == 3  # a redirect is followed
    assert [items[path]["length"] for path in ("/short", "/long", "/endless", "/json")] == [2000, 100000000, 0, 2]
    assert result.stat("downloader/response_bytes") < 100_000
    assert not [name for name in result.stats if name.startswith("frontier/failures")]


def test_connection_is_kept_if_the_rest_of_the_body_is_short() -> None:
    """A small image costs no new connection, an endless one costs one."""
    links = [f"/{number}" for number in range(8)]
    small = {link: (response(b"x" * 2000, IMAGE),) for link in links}
    with running({"site": {"/": (response(page(*links)),), **small}}) as roots:
        result = crawl(WEB, settings={**IMPOLITE, "ROBOTSTXT_OBEY": False}, seeds=f"{roots['site']}/")
    assert result.stat("frontier/sessions") <= 2
    assert max(item["connection_requests"] for item in result.items) >= 8


@pytest.mark.parametrize(("types", "stopped"), [("image/*,text/html", 0), ("text/html", 1)])
def test_types_can_be_chosen(types: str, stopped: int) -> None:
    """Bodies of the given types are read."""
    with running({"site": {"/": (response(page("/short")),), "/short": (response(b"x" * 2000, IMAGE),)}}) as roots:
        settings = {**IMPOLITE, "FRONTIER_LINKS_TYPES": types, "ROBOTSTXT_OBEY": False}
        result = crawl(WEB, settings=settings, seeds=f"{roots['site']}/")
    assert len(result.items) == 2
    assert result.stat("fates/answer/wrong_type") == stopped
    assert (result.stat("downloader/response_bytes") > 2000) == (not stopped)


def test_endless_types_are_not_downloaded() -> None:
    """Whatever FRONTIER_LINKS_TYPES says: events, and pictures of a camera; nor as a seed."""
    endless = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\n\r\ndata: 1\n\n"
    kinds = {"/events": b"Text/Event-Stream;charset=utf-8", "/camera": b"multipart/x-mixed-replace;boundary=x"}
    site = {path: (endless % kind, HANG) for path, kind in kinds.items()}
    settings = {**IMPOLITE, "DOWNLOAD_TIMEOUT": 600, "FRONTIER_LINKS_TYPES": "*/*"}
    with running({"site": {"/": (response(page(*kinds, "/a")),), **site}, "seed": {"/": site["/events"]}}) as roots:
        result = crawl(WEB, settings=settings, seeds=",".join(f"{root}/" for root in roots.values()))
    assert len(result.items) == 5, result.log
    assert result.stat("fates/answer/wrong_type") == 3
    assert not [name for name in result.stats if name.startswith("frontier/failures")]


PICTURE = (response(b"x" * 500, "Content-Type: image/png"),)

IMAGES = [f"/images/{number}.jpg" for number in range(40)]
PAGES = [
    *(f"/wiki/File:{number}.jpg" for number in range(20)),
    *("/wiki/Node.js", "/npm/chart.js", "/blob/main/logo.png", "/ws/eBayISAPI.dll?ViewItem", "/attachment/wiki/X.war"),
]


def site() -> dict[str, tuple[bytes, ...]]:
    """A server that has pages with such names, and images beside them."""
    pages = {path: (response(page(f"/from{number}")),) for number, path in enumerate(PAGES)}
    return {"/": (response(page(*IMAGES, *PAGES)),), **pages, **dict.fromkeys(IMAGES, PICTURE)}


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
    with running({"site": dict.fromkeys(urls, PICTURE)}) as roots:
        given = [roots["site"] + url for url in urls]
        result = crawl(
            "tests.crawl.odd_spiders.FilesSpider",
            settings={**IMPOLITE, "ROBOTSTXT_OBEY": False},
            links=",".join(given[:3]),
            requests=",".join(given[3:]),
        )
    assert sorted(item["file"] for item in result.items if "file" in item) == given[3:]
    assert result.stat("fates/queue/extension") == 0
