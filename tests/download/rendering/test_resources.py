"""What pages may ask for: kept answers, limits, guesses of the browser."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

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


def answers(monkeypatch: pytest.MonkeyPatch, *asked: Asked, **settings: Any) -> tuple[list[Answer], Engine]:
    """What one page gets that asks for all of them at once."""
    engine = Engine()
    monkeypatch.setattr(module, "engine_of", lambda _: engine)

    async def run() -> list[Answer]:
        crawler = get_crawler(settings_dict=settings)
        crawler.stats = cast("Any", crawler.stats or SimpleNamespace(inc_value=lambda *_: None))
        options = RenderOptions.of(crawler)
        resources = Resources(crawler, options)
        job = PageJob(Request("http://a.test/"), Answer(200), options)
        found = await asyncio.gather(*(resources.answer(job, one) for one in asked))
        job.close()
        return found

    return asyncio.run(run()), engine


class Scripts:
    """Answers each request by a script of ``size`` bytes, if the asker may load that much, once ``release`` is set."""

    def __init__(self, size: int, **headers: str) -> None:
        self.requests: list[Request] = []
        self.size = size
        self.headers = {b"Content-Type": b"text/javascript", **{k.encode(): v.encode() for k, v in headers.items()}}
        self.release = asyncio.Event()

    async def download_async(self, request: Request) -> TextResponse:
        """Raises ValueError, as the downloader does for what is too long."""
        self.requests.append(request)
        await self.release.wait()
        if self.size > request.meta["download_maxsize"]:
            raise ValueError("too long")
        return TextResponse(request.url, headers=self.headers, body=b"x" * self.size)


def answers_of_pages(
    monkeypatch: pytest.MonkeyPatch, scripts: Scripts, *loaded: int, then: int | None = None, **settings: Any
) -> list[Answer]:
    """What pages get that ask for the same script at once, after they have loaded so much; and a later one."""
    monkeypatch.setattr(module, "engine_of", lambda _: scripts)

    async def run() -> list[Answer]:
        monkeypatch.setattr(RenderOptions, "max_loaded", 1000)
        crawler = get_crawler(settings_dict=settings)
        crawler.stats = cast("Any", crawler.stats or SimpleNamespace(inc_value=lambda *_: None))
        options = RenderOptions.of(crawler)
        resources = Resources(crawler, options)
        jobs = [PageJob(Request(f"http://a{number}.test/"), Answer(200), options) for number in range(len(loaded) + 1)]
        for job, size in zip(jobs, (*loaded, then or 0), strict=True):
            job.loaded = size
        asking = [asyncio.ensure_future(resources.answer(job, ask("http://cdn.test/a.js"))) for job in jobs[:-1]]
        for _ in range(5):
            await asyncio.sleep(0)
        scripts.release.set()
        found = [await one for one in asking]
        if then is not None:
            found.append(await resources.answer(jobs[-1], ask("http://cdn.test/a.js")))
        for job in jobs:
            job.close()
        return found

    return asyncio.run(run())


def test_limits_of_one_page_are_not_those_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one to ask has too little left: it gets nothing, the others the script; also from what was kept."""
    scripts = Scripts(500)
    found = answers_of_pages(monkeypatch, scripts, 900, 0, 0, then=400)
    assert [len(answer.body) for answer in found] == [0, 500, 500, 500]
    scripts = Scripts(500)
    found = answers_of_pages(monkeypatch, scripts, 0, 900, 0, then=501)
    assert [len(answer.body) for answer in found] == [500, 0, 500, 0]
    assert found[1] == found[3] == REFUSED
    assert len(scripts.requests) == 1  # the others have waited for it


@pytest.mark.parametrize("header", ["Set-Cookie", "Cache-Control"])
def test_what_is_meant_for_one_page_is_given_to_no_other(monkeypatch: pytest.MonkeyPatch, header: str) -> None:
    """Even to those that ask meanwhile."""
    scripts = Scripts(10, **{header: "private"})
    answers_of_pages(monkeypatch, scripts, 0, 0, 0, COOKIES_ENABLED=True)
    assert len(scripts.requests) == 3


@pytest.mark.parametrize("enabled", [True, False])
def test_cookies_need_the_setting(monkeypatch: pytest.MonkeyPatch, enabled: bool) -> None:
    """Neither servers nor the browser get any without it."""
    scripts = Scripts(10, **{"Set-Cookie": "a=1"})
    monkeypatch.setattr(module, "engine_of", lambda _: scripts)

    async def run() -> tuple[list[Answer], list[tuple[str, str]]]:
        crawler = get_crawler(settings_dict={"COOKIES_ENABLED": enabled})
        crawler.stats = cast("Any", crawler.stats or SimpleNamespace(inc_value=lambda *_: None))
        options = RenderOptions.of(crawler)
        resources = Resources(crawler, options)
        request = Request("http://a.test/", headers={"Cookie": "b=2; c==3; d"})
        job = PageJob(request, Answer(200, ((b"Set-Cookie", b"b=2"),)), options)
        scripts.release.set()
        asked = [ask("http://a.test/"), ask("http://a.test/x", Cookie="script=1")]
        found = [await resources.answer(job, one) for one in asked]
        job.close()
        return found, resources.cookies(job)

    found, cookies = asyncio.run(run())
    (request,) = scripts.requests
    assert request.headers.get("Cookie") == (b"script=1" if enabled else None)
    assert [b"Set-Cookie" in dict(answer.headers) for answer in found] == [enabled] * 2
    assert cookies == ([("b", "2"), ("c", "=3")] if enabled else [])


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
    _, engine = answers(monkeypatch, plain, *others, same, plain)
    assert len(engine.requests) == 7


def test_headers_that_lead_elsewhere_are_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would outlive the page: in its context the next one would be asked for by https, or reported about."""
    (answer,), _ = answers(monkeypatch, ask("http://a.test/x.js"))
    assert {name.lower() for name, _ in answer.headers} == {b"content-type"}


def test_guesses_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages that the browser would fetch in advance: the crawl decides which pages are fetched."""
    found, engine = answers(
        monkeypatch,
        ask("http://a.test/next", sec_purpose="prefetch;prerender"),
        ask("http://a.test/next", purpose="prefetch"),
    )
    assert found == [REFUSED, REFUSED]
    assert engine.requests == []


def test_a_page_has_few_requests_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And each may have what remains of the page's bytes: so all are bounded together."""
    asked = [ask(f"http://a{number}.test/") for number in range(50)]
    monkeypatch.setattr(RenderOptions, "max_loaded", 2000)
    found, engine = answers(monkeypatch, *asked)
    assert engine.most == AT_ONCE
    assert len([answer for answer in found if answer.status == 200]) <= 20 + AT_ONCE
    sizes = [request.meta["download_maxsize"] for request in engine.requests]
    assert sizes[0] == 2000
    assert min(sizes) < 1000
