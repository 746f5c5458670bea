"""Renders pages: a limited number at a time, each within its limits, with a second try after a crash."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urljoin

from crawlproject.clock import CLOCK
from crawlproject.crawl_frontier import frontier_of
from crawlproject.download.rendering.browser import Browser
from crawlproject.download.rendering.job import PageJob, RenderError
from crawlproject.download.rendering.processes import watch
from crawlproject.download.rendering.proxy import REFUSED, Answer, Asked, GuardedProxy
from crawlproject.download.rendering.resources import Resources, document_answer
from crawlproject.download.rendering.tab import Dom, Tab, first_line, is_gone
from crawlproject.engine import stats_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlproject.download.rendering.steps import Step
    from crawlproject.options.rendering import RenderOptions

T = TypeVar("T")

logger = logging.getLogger(__name__)

#: How often a page is tried whose browser or process died.
TRIES = 2

#: Seconds to read the DOM after the time-out: the requests of a page that has asked for many come first.
LAST_READ = 5.0

#: Failures after which another try may help.
_AGAIN = frozenset(("crashed", "browser"))

#: Launches that failed in a row after which no further page is tried.
MAX_LAUNCHES = 3


class Rendered(NamedTuple):
    """The result of rendering a page: its DOM, or the URL to which its scripts lead."""

    html: str
    redirect: str | None


class Renderer:
    """Renders pages of one crawl; started by the first.

    Stats: ``render/pages``, ``render/time`` (seconds in all), ``render/unquiet`` (read at the time-out),
    ``render/failed_steps``, ``render/retries``, ``render/dialogs|popups|downloads|navigations`` as they come,
    ``render/memory_exceeded``, ``render/failed/<kind>``.
    """

    def __init__(self, crawler: Crawler, options: RenderOptions) -> None:
        self._stats = stats_of(crawler)
        self._options = options
        self._resources = Resources(crawler, options)
        self._proxy = GuardedProxy(self._answer, self._password)
        self._places = asyncio.Semaphore(options.pages)
        self._jobs: dict[str, PageJob] = {}  # pages in the browser, by the user of their context
        self._crawler = crawler
        self._browser: Browser | None = None
        self._start = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None
        self._failed_launches = 0
        self._memory_exceeded_at = 0.0
        self._time = 0.0

    async def render(
        self,
        request: Request,
        response: Response,
        steps: tuple[Step, ...] = (),
        idle: Callable[[float], None] = lambda _: None,
    ) -> Rendered:
        """The page ``response`` as its scripts leave it. Raises RenderError.

        ``idle`` is called at the end with the seconds in which no request of the page was in flight, the wait for a
        place in the browser included.
        """
        entered, jobs = CLOCK(), list[PageJob]()
        async with self._places:
            started = CLOCK()
            try:
                while True:
                    if self._failed_launches >= MAX_LAUNCHES:
                        raise RenderError("browser", f"the browser did not start {MAX_LAUNCHES} times in a row")
                    jobs.append(PageJob(request, document_answer(response), self._options))
                    try:
                        rendered = await self._try(jobs[-1], steps)
                        self._check_outage(jobs[-1])
                        return rendered
                    except RenderError as error:
                        if error.kind == "crashed" and CLOCK() - self._memory_exceeded_at < 2.0:
                            message = "the browser used more than FRONTIER_RENDER_MAX_MEMORY"
                            raise RenderError("memory", message) from error
                        if error.kind not in _AGAIN or len(jobs) == TRIES:
                            raise
                        self._stats.inc_value("render/retries")
                        if self._browser is not None:
                            await self._browser.check()
            finally:
                now = CLOCK()
                self._time += now - started
                self._stats.set_value("render/time", round(self._time, 3))
                idle(max(0.0, now - entered - sum(job.network_time for job in jobs)))

    def _check_outage(self, job: PageJob) -> None:
        """Raise RenderError if the page may miss something because of this machine's network."""
        crawl = frontier_of(self._crawler)
        if job.has_missed and crawl is not None and crawl.cut_off_until > job.started:
            raise RenderError("outage", "this machine's network failed; it is tried again")

    async def _try(self, job: PageJob, steps: tuple[Step, ...]) -> Rendered:
        browser = await self._ready()
        self._jobs[job.user] = job
        try:
            await browser.start()
            self._failed_launches = 0
            opening = browser.open(job, self._resources.cookies(job))
            try:
                tab = await _unless_failed(job, opening, self._options.timeout + LAST_READ)
            except TimeoutError as error:  # scrapy-playwright reads the DOM once
                raise self._too_late() from error
            found = await self._read(tab, job, steps)
            return Rendered(_with_base(found, job.url), job.redirect)  # scripts may leave it while it is closed
        except RenderError as error:
            if error.kind == "browser":
                self._failed_launches += 1
            raise
        finally:
            job.close()
            del self._jobs[job.user]  # what its scripts ask for when they are left is refused
            self._proxy.drop(job.user)
            await asyncio.shield(browser.close_page(job))
            for nuisance, count in job.nuisances.items():
                self._stats.inc_value(f"render/{nuisance}", count)

    async def _read(self, tab: Tab, job: PageJob, steps: tuple[Step, ...]) -> Dom:
        """The DOM after the page has settled and all steps were taken, or at the time-out."""
        end = CLOCK() + self._options.timeout
        try:
            try:
                await _unless_failed(job, self._work(tab, job, steps), self._options.timeout)
            except TimeoutError:
                self._stats.inc_value("render/unquiet")
                tab.stop()
            return await _unless_failed(job, tab.read(), max(LAST_READ, end - CLOCK()))
        except TimeoutError as error:
            raise self._too_late() from error
        except RenderError:
            raise
        except Exception as error:  # of Playwright; one without a type if its driver is gone
            if job.failure.done():
                await job.failure
            raise RenderError("crashed" if is_gone(error) else "script", first_line(error)) from error

    def _too_late(self) -> RenderError:
        limit = f"FRONTIER_RENDER_TIMEOUT={self._options.timeout:g}"
        return RenderError("timeout", f"Chromium did not load or read it within {limit}")

    async def _work(self, tab: Tab, job: PageJob, steps: tuple[Step, ...]) -> None:
        await tab.settle()
        failed = await tab.take(steps) if job.redirect is None else None
        if failed is not None:
            self._stats.inc_value("render/failed_steps")
            logger.info("Step failed on %s: %s", job.url, failed)

    async def _ready(self) -> Browser:
        async with self._start:
            if self._browser is None:
                await self._proxy.start()
                self._browser = Browser(self._crawler, self._options, self._proxy)
                self._watch = asyncio.ensure_future(
                    watch(self._browser.processes, self._options.max_memory, self._memory_exceeded)
                )
            return self._browser

    def _memory_exceeded(self) -> None:
        self._memory_exceeded_at = CLOCK()
        self._stats.inc_value("render/memory_exceeded")

    def _password(self, user: str) -> str | None:
        job = self._jobs.get(user)
        return None if job is None else job.password

    async def _answer(self, asked: Asked) -> Answer:
        job = self._jobs.get(asked.user)
        return REFUSED if job is None else await self._resources.answer(job, asked)

    async def close(self) -> None:
        """End the browser and the proxy. Never raises."""
        if self._watch is not None:
            self._watch.cancel()
        if self._browser is not None:
            await self._browser.close()
            await self._proxy.close()


async def _unless_failed(job: PageJob, work: Coroutine[Any, Any, T], timeout: float) -> T:
    """The result of ``work``. Raises TimeoutError, and RenderError as soon as the page is given up."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait((task, job.failure), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if job.failure.done():
            await job.failure
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        if not task.done():
            task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task


def _with_base(found: Dom, url: str) -> str:
    """The DOM as text, with a base element if a script has changed what its links are relative to."""
    base = (found.base or url).partition("#")[0]
    if base == url or not base.startswith("http") or urljoin(base, ".") == urljoin(url, "."):
        return found.html
    head, mark, rest = found.html.partition("<head>")
    element = f'<base href="{base.replace(chr(34), "%22").replace("<", "%3C")}">'
    return f"{head}{mark}{element}{rest}" if mark else f"{element}{found.html}"
