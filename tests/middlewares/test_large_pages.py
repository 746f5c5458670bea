"""Large pages are parsed once, off the event loop, with everything that any component needs."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from crawlproject.discovery import page_reading
from crawlproject.discovery.page_reading import read_page
from crawlproject.download.body_budget import BodyBudget, Share
from crawlproject.download.off_loop import _THREAD, LARGE
from crawlproject.engine import Crawl
from crawlproject.middlewares import large_pages
from crawlproject.middlewares.large_pages import LargePageMiddleware
from crawlproject.requests.meta import BY_TYPE


@pytest.mark.parametrize("status", [200, 203])
@pytest.mark.parametrize(
    "settings",
    [{}, {"FRONTIER_DUPLICATES_NEAR": False}, {"FRONTIER_DUPLICATES_NEAR": False, "FRONTIER_GUARD_ENABLED": False}],
)
def test_large_page_is_parsed_once_off_the_loop(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], status: int
) -> None:
    """With its text where duplicates or the guard of traps want it; whatever status the spider is given."""
    threads: list[str] = []
    extract = page_reading.extract

    def noted(*args: Any, **kwargs: Any) -> Any:
        threads.append(threading.current_thread().name)
        return extract(*args, **kwargs)

    monkeypatch.setattr(page_reading, "extract", noted)
    request = Request("http://a.example/", meta={BY_TYPE: True})
    body = b"<p>" + b"word " * LARGE
    page = HtmlResponse(request.url, status, {"Content-Type": "text/html"}, body, request=request)
    middleware = LargePageMiddleware.from_crawler(get_crawler(settings_dict=settings))
    answer = asyncio.run(middleware.process_response(request, page))
    is_text_wanted = settings.get("FRONTIER_GUARD_ENABLED", True)
    assert (read_page(answer, with_text=is_text_wanted).text is None) is not is_text_wanted
    assert len(threads) == 1
    assert threads[0] != threading.main_thread().name


def large_page(body: bytes) -> tuple[Request, HtmlResponse]:
    """A page and what was asked for."""
    request = Request("http://a.example/", meta={BY_TYPE: True})
    headers = {"Content-Type": "text/html; charset=utf-8"}
    return request, HtmlResponse(request.url, 200, headers, body, request=request)


def test_large_page_counts_the_memory_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its body, its text and the extracted text, until the response is released; two more while it is decoded."""
    crawler = get_crawler()
    budget = Crawl.of(crawler).part(BodyBudget)
    middleware = LargePageMiddleware.from_crawler(crawler)
    totals: list[int] = []
    grow = Share.grow

    def growing(share: Share, size: int) -> bool:
        may_go_on = grow(share, size)
        totals.append(budget.total)
        return may_go_on

    monkeypatch.setattr(Share, "grow", growing)

    async def process() -> HtmlResponse:
        request, page = large_page(b"<p>" + "w\u00f6rd ".encode() * LARGE)
        share = budget.share()
        share.grow(len(page.body))
        budget.hold(page, share)
        answer = await middleware.process_response(request, page)
        assert isinstance(answer, HtmlResponse)
        return answer

    answer = asyncio.run(process())
    size = len(answer.body)
    taken = read_page(answer, with_text=True)
    parts = sys.getsizeof(answer.text), sys.getsizeof(taken.text)
    assert totals == [size, 3 * size, size + parts[0], size + sum(parts)]
    assert budget.total == totals[-1]
    del answer, taken
    _THREAD.submit(int).result()  # releases what its last task held
    gc.collect()
    assert budget.total == 0
    budget.close()


def test_share_of_an_unreadable_page_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoding failed."""

    def fail(response: HtmlResponse) -> bool:
        raise MemoryError

    crawler = get_crawler()
    monkeypatch.setattr(large_pages, "_decode", fail)
    middleware = LargePageMiddleware.from_crawler(crawler)
    with pytest.raises(MemoryError):
        asyncio.run(middleware.process_response(*large_page(b"x" * 2 * LARGE)))
    assert Crawl.of(crawler).part(BodyBudget).total == 0


@pytest.mark.parametrize(
    ("limit", "body", "characters"),
    [
        ("MAX_CHARACTERS", "x" * 3 * LARGE, 2 * LARGE),
        ("MAX_DECODED", "x" * 3 * LARGE, 2 * LARGE),
        ("MAX_DECODED", "\u4e00" * 2 * LARGE, LARGE),
        ("MAX_UNDECODED", "", 2 * LARGE),
    ],
)
def test_text_beyond_the_bounds_is_cut(monkeypatch: pytest.MonkeyPatch, limit: str, body: str, characters: int) -> None:
    """Between two pieces, each of 64 kB; once counted.  Below the bound nothing is."""
    data = body.encode() or b"\xff" * 3 * LARGE
    for bound, is_cut in ((2 * LARGE, True), (4 * LARGE, False)):
        crawler = get_crawler()
        assert crawler.stats is not None
        monkeypatch.setattr(large_pages, limit, bound)
        middleware = LargePageMiddleware.from_crawler(crawler)
        answer = asyncio.run(middleware.process_response(*large_page(data)))
        assert isinstance(answer, HtmlResponse)
        whole = data.decode("utf-8", "replace")
        assert whole.startswith(answer.text)
        assert len(answer.text) == (pytest.approx(characters, abs=1) if is_cut else len(whole))
        assert crawler.stats.get_value("charset/garbage", 0) == is_cut


@pytest.mark.parametrize("size", [0, LARGE + 1])
@pytest.mark.parametrize(
    "body",
    [
        *(b"<p>caf\xe9", b"\xef\xbb\xbf<p>caf\xc3\xa9", b"\xff\xfe<\x00p\x00>\x00", b"", b"<meta charset=us-ascii>"),
        *(b"<meta charset=koi8-r>", "caf\xe9".encode(), b"\xff\xfe\x81"),
    ],
)
@pytest.mark.parametrize(
    "content_type",
    ["text/html", "text/html; charset=iso-8859-1", "text/html; charset=us-ascii", "text/html; charset=x"],
)
def test_encoding_is_as_scrapy_finds_it(content_type: str, body: bytes, size: int) -> None:
    """By a byte order mark, the header, the body, in this order; also after the middleware has looked."""
    body += b"x" * size
    expected, page = (HtmlResponse("http://a.example/", 200, {"Content-Type": content_type}, body) for _ in range(2))
    passed = _passed(page)
    assert (passed.encoding, passed.text) == (expected.encoding, expected.text)


@pytest.mark.parametrize("size", [0, LARGE])
@pytest.mark.parametrize(
    "markup",
    [
        "<html><head><META http-equiv='Content-Type' content='text/html; charset=utf-16'>",
        "<meta charset=UTF-16LE>",
        "<?xml version='1.0' encoding='utf-16'?><!DOCTYPE html>",
        "<meta charset=utf-32>",
    ],
)
def test_page_that_declares_utf_16_in_ascii_has_links(markup: str, size: int) -> None:
    """XSLT writes it: as UTF-16 all of it would be Chinese. It is UTF-8, as in browsers."""
    body = f"{markup}<title>caf\u00e9</title><a href=/a>a</a>{'x' * size}".encode()
    page = _passed(HtmlResponse("http://a.example/", 200, {"Content-Type": "text/html"}, body))
    assert (page.encoding, read_page(page).hrefs, read_page(page).title) == ("utf-8", ["/a"], "caf\u00e9")


def _passed(page: HtmlResponse) -> HtmlResponse:
    passed = LargePageMiddleware.from_crawler(get_crawler()).process_response(Request(page.url), page)
    answer = passed if isinstance(passed, HtmlResponse) else asyncio.run(passed)
    assert isinstance(answer, HtmlResponse)
    return answer
