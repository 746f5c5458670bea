"""What a page in the browser waits for, and what it may still do while it is closed."""

import asyncio
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from crawlproject.download.rendering import renderer as module
from crawlproject.download.rendering.job import POLLS, PageJob
from crawlproject.download.rendering.processes import BrowserProcesses
from crawlproject.download.rendering.proxy import Answer
from crawlproject.download.rendering.renderer import Rendered, Renderer
from crawlproject.download.rendering.tab import Dom
from crawlproject.options.rendering import RenderOptions
from tests.download.direct_fetch import in_loop

URL = "http://a.test/"


@in_loop
async def test_polls_are_not_waited_for() -> None:
    """A request that was made some times before neither counts as a change nor keeps the page busy; others do."""
    job = PageJob(Request(URL), Answer(200), RenderOptions.of(get_crawler()))
    for _ in range(POLLS):
        with job.asking(("GET", URL, b"")):
            assert not await is_idle(job)
    before = job.changes
    with job.asking(("GET", URL, b"")):
        assert await is_idle(job)
        assert job.in_flight == 1  # its server is busy all the same
        assert job.changes == before
        with job.asking(("POST", URL, b"")):
            assert not await is_idle(job)
            assert job.changes > before
    assert await is_idle(job)
    assert job.network_time > 0
    job.close()


async def is_idle(job: PageJob) -> bool:
    """Whether nothing is waited for."""
    waiting = asyncio.ensure_future(job.idle())
    await asyncio.sleep(0)
    is_done = waiting.done()
    waiting.cancel()
    return is_done


class Browser:
    """One page, whose scripts want to leave it when it is closed."""

    processes = BrowserProcesses("no such process")

    def __init__(self, *parts: Any) -> None:
        self.job: PageJob

    async def start(self) -> None: ...

    async def open(self, job: PageJob, cookies: object) -> "Browser":
        """Its tab is the browser itself."""
        return self

    async def settle(self) -> None: ...

    async def take(self, steps: object) -> None: ...

    async def read(self) -> Dom:
        return Dom("<p>read</p>", None)

    async def close_page(self, job: PageJob) -> None:
        job.leave("http://b.test/", "GET")

    async def close(self) -> None: ...


@in_loop
async def test_a_page_that_is_closed_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its scripts hear of it (``pagehide``) and may set ``location``: that is no redirect."""
    monkeypatch.setattr(module, "Browser", Browser)
    crawler = get_crawler()
    renderer = Renderer(crawler, RenderOptions.of(crawler))
    rendered = await renderer.render(Request(URL), HtmlResponse(URL, body=b"<p>x</p>"))
    await renderer.close()
    assert rendered == Rendered("<p>read</p>", None)
