"""Renders pages: a limited number at a time, each within its limits, with a second try after a crash."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urljoin

from crawlproject.clock import CLOCK
from crawlproject.crawl_frontier import frontier_of
from crawlproject.download.rendering import dom
from crawlproject.download.rendering.browser import Browser, first_line, is_gone
from crawlproject.download.rendering.job import PageJob, RenderError
from crawlproject.download.rendering.processes import watch
from crawlproject.download.rendering.proxy import REFUSED, Answer, Asked, GuardedProxy
from crawlproject.download.rendering.quiet import Quiet
from crawlproject.download.rendering.resources import Resources, document_answer
from crawlproject.download.rendering.slot import Slot
from crawlproject.engine import stats_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlproject.download.rendering.steps import Step
    from crawlproject.download.rendering.tab import Tab
    from crawlproject.options.rendering import RenderOptions

T = TypeVar("T")

logger = logging.getLogger(__name__)

#: How often a page is tried whose browser or process died.
TRIES = 2

#: Seconds, after the time-out, to read a DOM that is still changing.
LAST_READ = 2.0

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
        self._slots: asyncio.LifoQueue[Slot] = asyncio.LifoQueue()  # the last one used is warm
        for _ in range(options.pages):
            self._slots.put_nowait(Slot())
        self._users: dict[str, Slot] = {}  # slots with a page, by the user of their context
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
        entered = CLOCK()
        slot = await self._slots.get()
        started = CLOCK()
        jobs: list[PageJob] = []
        try:
            while True:
                if self._failed_launches >= MAX_LAUNCHES:
                    raise RenderError("browser", f"the browser did not start {MAX_LAUNCHES} times in a row")
                jobs.append(PageJob(request, document_answer(response), self._options))
                try:
                    rendered = await self._in_slot(slot, jobs[-1], steps)
                    self._check_outage(jobs[-1])
                    return rendered
                except RenderError as error:
                    is_recent = CLOCK() - self._memory_exceeded_at < 2.0
                    if is_recent and error.kind == "crashed" and jobs[-1].is_in_new_tab:
                        raise RenderError("memory", "the browser used more than FRONTIER_RENDER_MAX_MEMORY") from error
                    if error.kind not in _AGAIN or len(jobs) == TRIES:
                        raise
                    self._stats.inc_value("render/retries")
                    if self._browser is not None:
                        await self._browser.check()
        finally:
            self._slots.put_nowait(slot)
            now = CLOCK()
            self._time += now - started
            self._stats.set_value("render/time", round(self._time, 3))
            idle(max(0.0, now - entered - sum(job.network_time for job in jobs)))

    def _check_outage(self, job: PageJob) -> None:
        """Raise RenderError if the page may miss something because of this machine's network."""
        crawl = frontier_of(self._crawler)
        if job.has_missed and crawl is not None and crawl.cut_off_until > job.started:
            raise RenderError("outage", "this machine's network failed; it is tried again")

    async def _in_slot(self, slot: Slot, job: PageJob, steps: tuple[Step, ...]) -> Rendered:
        browser = await self._ready()
        if slot.tab is not None and (slot.is_broken or not slot.tab.is_open() or (steps and slot.tab.has_own_clock)):
            await browser.drop(slot)  # steps wait by the real clock
        job.is_in_new_tab = slot.tab is None
        user = slot.name
        slot.job = job
        self._users[user] = slot
        is_broken = True
        try:
            tab = await self._open(browser, slot, job)
            found = await self._read(tab, job, steps)
            is_broken = False
        except RenderError as error:
            if error.kind == "browser":
                self._failed_launches += 1
            raise
        finally:
            slot.job = None
            job.close()
            self._proxy.drop(user)
            await asyncio.shield(self._leave(browser, slot, is_broken=is_broken))
            for nuisance, count in job.nuisances.items():
                self._stats.inc_value(f"render/{nuisance}", count)
        return Rendered(_with_base(found, job.url), job.redirect)

    async def _leave(self, browser: Browser, slot: Slot, *, is_broken: bool) -> None:
        user = slot.name
        try:
            await browser.leave(slot, is_broken=is_broken)
        finally:
            del self._users[user]

    async def _open(self, browser: Browser, slot: Slot, job: PageJob) -> Tab:
        """A tab with the page, whose scripts have begun to run."""
        await browser.start()
        self._failed_launches = 0
        try:
            opening = browser.open(slot, job, self._resources.cookies(job))
            return await _unless_failed(job, opening, self._options.timeout + LAST_READ)
        except TimeoutError as error:  # scrapy-playwright reads the DOM once
            raise self._too_late() from error

    async def _read(self, tab: Tab, job: PageJob, steps: tuple[Step, ...]) -> dom.Dom:
        """The DOM after the page has settled and all steps were taken, or at the time-out."""
        try:
            try:
                await _unless_failed(job, self._work(tab, job, steps), self._options.timeout)
            except TimeoutError:
                self._stats.inc_value("render/unquiet")
            return await _unless_failed(job, dom.read(tab, self._options.max_size), LAST_READ)
        except TimeoutError as error:
            raise self._too_late() from error
        except RenderError:
            raise
        except Exception as error:  # of Playwright; one without a type if its driver is gone
            if job.failure.done():
                await job.failure
            raise RenderError("crashed" if is_gone(error) else "script", first_line(error)) from error

    def _too_late(self) -> RenderError:
        return RenderError(
            "timeout", f"its scripts did not end within FRONTIER_RENDER_TIMEOUT={self._options.timeout:g}"
        )

    async def _work(self, tab: Tab, job: PageJob, steps: tuple[Step, ...]) -> None:
        quiet = Quiet(tab, job, self._options.quiet, is_ahead=not steps)
        await quiet.wait()
        failed = await dom.take(steps, tab, quiet.wait) if job.redirect is None else None
        if failed is not None:
            self._stats.inc_value("render/failed_steps")
            logger.info("Step failed on %s: %s", job.url, failed)

    async def _ready(self) -> Browser:
        """The browser, which need not run yet."""
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
        slot = self._users.get(user)
        return slot.password if slot is not None else None

    async def _answer(self, asked: Asked) -> Answer:
        slot = self._users.get(asked.user)
        if slot is None:
            return REFUSED
        if slot.job is None:
            slot.is_broken = True  # a page that was left
            return REFUSED
        return await self._resources.answer(slot.job, asked)

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


def _with_base(found: dom.Dom, url: str) -> str:
    """The DOM as text, with a base element if a script has changed what its links are relative to."""
    base = (found.base or url).partition("#")[0]
    if base == url or not base.startswith("http") or urljoin(base, ".") == urljoin(url, "."):
        return found.html
    head, mark, rest = found.html.partition("<head>")
    element = f'<base href="{base.replace(chr(34), "%22").replace("<", "%3C")}">'
    return f"{head}{mark}{element}{rest}" if mark else f"{element}{found.html}"
