"""What pages may ask for: kept answers, limits, guesses of the browser."""

import asyncio
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import TextResponse
from scrapy.utils.test import get_crawler

from crawlproject.download.rendering import resources as module
from crawlproject.download.rendering.job import AT_ONCE, PageJob
from crawlproject.download.rendering.proxy import REFUSED, Answer, Asked
from crawlproject.download.rendering.resources import Resources
from crawlproject.options.rendering import RenderOptions

HEADERS = {b"Content-Type": b"text/javascript", b"Strict-Transport-Security": b"max-age=9", b"NEL": b"{}"}


class Engine:
    """Answers each request; counts them and those at once."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.running = self.most = 0

    async def download_async(self, request: Request) -> TextResponse:
        """A script of 100 bytes."""
        self.requests.append(request)
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        return TextResponse(request.url, headers=HEADERS, body=b"x" * 100)


def asked_by_a_page(
    monkeypatch: pytest.MonkeyPatch, asked: list[Asked], headers: dict[str, str] | None = None, **settings: Any
) -> tuple[list[Answer], Engine, list[tuple[str, str]]]:
    """What a page, requested with ``headers``, gets that asks for one after the other; its cookies."""
    engine = Engine()
    monkeypatch.setattr(module, "engine_of", lambda _: engine)

    async def run() -> tuple[list[Answer], list[tuple[str, str]]]:
        crawler = get_crawler(settings_dict=settings)
        options = RenderOptions.of(crawler)
        resources = Resources(crawler, options)
        job = PageJob(Request("http://page.test/", headers=headers), Answer(200), options)
        found = [await resources.answer(job, one) for one in asked]
        job.close()
        return found, resources.cookies(job)

    found, cookies = asyncio.run(run())
    return found, engine, cookies


@pytest.mark.parametrize("enabled", [True, False])
def test_cookies_need_the_setting(monkeypatch: pytest.MonkeyPatch, enabled: bool) -> None:
    """Neither servers nor the browser get any without it."""
    monkeypatch.setitem(HEADERS, b"Set-Cookie", b"a=1")
    cookie = {"Cookie": "b=2; c==3; d"}
    found, engine, cookies = asked_by_a_page(
        monkeypatch, [ask("http://a.test/", Cookie="script=1")], cookie, COOKIES_ENABLED=enabled
    )
    assert engine.requests[0].headers.get("Cookie") == (b"script=1" if enabled else None)
    assert [b"Set-Cookie" in dict(answer.headers) for answer in found] == [enabled]
    assert cookies == ([("b", "2"), ("c", "=3")] if enabled else [])


@pytest.mark.parametrize("header", ["Set-Cookie", "Cache-Control"])
def test_what_is_meant_for_one_page_is_given_to_no_other(monkeypatch: pytest.MonkeyPatch, header: str) -> None:
    """It is not kept."""
    monkeypatch.setitem(HEADERS, header.encode(), b"private")
    url = "http://cdn.test/a.js"
    _, engine, _ = asked_by_a_page(monkeypatch, [ask(url)] * 3, COOKIES_ENABLED=True)
    assert len(engine.requests) == 3


def ask(url: str, **headers: str) -> Asked:
    pairs = tuple((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())
    return Asked("me", "GET", url, pairs, b"")


def test_no_page_prepares_the_script_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that headers chosen by a script may have changed is not given to those with other headers."""
    url = "http://cdn.test/app.js"
    plain = ask(url, accept="*/*", referer="http://a.test/")
    others = [
        ask(url, accept="text/evil", referer="http://a.test/"),
        ask(url, accept="*/*", accept_language="evil", referer="http://a.test/"),
        ask(url, accept="*/*", content_language="evil", referer="http://a.test/"),
        ask(url, accept="*/*", content_type="text/plain;evil", referer="http://a.test/"),
        ask(url, accept="*/*", referer="http://cdn.test/"),
        ask(url, accept="*/*", origin="http://a.test", referer="http://a.test/"),
    ]
    same = ask(url, accept="*/*", referer="http://b.test/")
    _, engine, _ = asked_by_a_page(monkeypatch, [plain, *others, same, plain])
    assert len(engine.requests) == 7


def test_headers_that_lead_elsewhere_are_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser would report about the page, or ask for what follows by https."""
    (answer,), _, _ = asked_by_a_page(monkeypatch, [ask("http://a.test/x.js")])
    assert {name.lower() for name, _ in answer.headers} == {b"content-type"}


def test_guesses_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages that the browser would fetch in advance: the crawl decides which pages are fetched."""
    guesses = [ask("http://a.test/next", sec_purpose="prefetch;prerender"), ask("http://a.test/", purpose="prefetch")]
    found, engine, _ = asked_by_a_page(monkeypatch, guesses)
    assert found == [REFUSED, REFUSED]
    assert engine.requests == []


def test_a_page_has_few_requests_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And each may have what remains of the page's bytes: so all are bounded together."""
    monkeypatch.setattr(RenderOptions, "max_loaded", 2000)
    engine = Engine()
    monkeypatch.setattr(module, "engine_of", lambda _: engine)

    async def run() -> list[Answer]:
        crawler = get_crawler()
        options = RenderOptions.of(crawler)
        job, resources = PageJob(Request("http://a.test/"), Answer(200), options), Resources(crawler, options)
        found = await asyncio.gather(*(resources.answer(job, ask(f"http://a{number}.test/")) for number in range(50)))
        job.close()
        return found

    found = asyncio.run(run())
    assert engine.most == AT_ONCE
    assert len([answer for answer in found if answer.status == 200]) <= 20 + AT_ONCE
    sizes = [request.meta["download_maxsize"] for request in engine.requests]
    assert sizes[0] == 2000
    assert min(sizes) < 1000
