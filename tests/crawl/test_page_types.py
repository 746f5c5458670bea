"""Bodies of other types are not downloaded, and their connections do no harm."""

from __future__ import annotations

import pytest

from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.nasty_server import HANG, page, response, running

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
