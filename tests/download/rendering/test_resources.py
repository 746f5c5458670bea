"""What pages may ask for: kept answers, limits, guesses of the browser."""

from __future__ import annotations

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


def ask(url: str, **headers: str) -> Asked:
    """A request of the browser."""
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
    found, engine = answers(monkeypatch, *asked, RENDER_MAX_LOADED=2000)
    assert engine.most == AT_ONCE
    assert len([answer for answer in found if answer.status == 200]) <= 20 + AT_ONCE
    sizes = [request.meta["download_maxsize"] for request in engine.requests]
    assert sizes[0] == 2000
    assert min(sizes) < 1000
