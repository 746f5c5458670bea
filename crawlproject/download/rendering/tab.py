"""A page in the browser: its navigation, what bothers, when it is complete, the steps, and its DOM."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from crawlproject.download.rendering.job import RenderError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from playwright.async_api import CDPSession, Page, Route
    from playwright.async_api import Request as AskedByPage

    from crawlproject.download.rendering.job import PageJob
    from crawlproject.download.rendering.steps import Step
    from crawlproject.options.rendering import RenderOptions

logger = logging.getLogger(__name__)

#: Seconds to close something in the browser.
CLOSE_TIMEOUT = 3.0

#: Longest wait for the element of a step, seconds.
STEP_TIMEOUT = 5.0

#: Seconds between two looks whether a page has changed.
LOOK = 0.1

#: Seconds without a request in flight after which a page that never stops changing, or asking its server, is read.
MAX_IDLE = 5.0

#: Documents that a script may put in place of each other while one question is asked.
MAX_DOCUMENTS = 3

#: How often the DOM has changed, or null while the page is being parsed; the first call begins to watch.
_CHANGES = """() => {
    if (!globalThis.crawlChanges) {
        const seen = globalThis.crawlChanges = {count: 1};
        new MutationObserver(() => { seen.count++; })
            .observe(document, {subtree: true, childList: true, characterData: true});
    }
    return document.readyState === 'loading' ? null : globalThis.crawlChanges.count;
}"""

#: The document as text, with what shadow roots contain at the end of its body, its URL, and the base of its links; null
#: if it is too long.
_READ = """limit => {
    const root = document.documentElement;
    const url = location.href.slice(0, 100);
    if (!root) return {html: '', url, base: document.baseURI.slice(0, 4096), hasBase: true};
    const html = root.outerHTML;
    const parts = [];
    let length = html.length;
    const look = parent => {
        for (const element of parent.querySelectorAll('*')) {
            if (element.shadowRoot && length <= limit) {
                parts.push('<section data-shadow-root="', element.localName, '">', element.shadowRoot.innerHTML,
                           '</section>');
                length += element.shadowRoot.innerHTML.length;
                look(element.shadowRoot);
            }
        }
    };
    look(document);
    if (length > limit) return null;
    const end = parts.length ? html.lastIndexOf('</body>') : -1;
    const whole = end < 0 ? html + parts.join('') : html.slice(0, end) + parts.join('') + html.slice(end);
    return {
        html: (document.doctype ? '<!DOCTYPE html>' : '') + whole,
        url,
        base: document.baseURI.slice(0, 4096),
        hasBase: !!document.querySelector('base[href]'),
    };
}"""

_SCROLL = """() => {
    const height = document.documentElement.scrollHeight;
    window.scrollTo(0, height);
    return height;
}"""


class Dom(NamedTuple):
    """A document as text; ``base``: what its links are relative to, if it does not say so itself."""

    html: str
    base: str | None


class Tab:
    """One page. Questions are evaluated in an isolated world, which the page's scripts cannot change."""

    def __init__(self, page: Page, job: PageJob, options: RenderOptions) -> None:
        self._page = page
        self._job = job
        self._options = options
        self._session: CDPSession
        self._frame = ""
        self._world: int | None = None
        self._tasks: set[asyncio.Future[Any]] = set()

    async def begin(self, cookies: Iterable[tuple[str, str]]) -> None:
        """Load the page, with these cookies, names and values, until its scripts begin to run. Those that are invalid
        are left out."""
        page, url = self._page, self._job.request.url
        page.on("dialog", lambda dialog: self._bothered("dialogs", dialog.dismiss()))
        page.on("download", lambda download: self._bothered("downloads", download.cancel()))
        page.on("crash", lambda _: self._job.fail("crashed", "the page crashed"))
        page.on("close", lambda _: self._job.fail("crashed", "the page was closed"))
        page.context.on("page", lambda popup: self._bothered("popups", popup.close()))
        await page.context.route("**/*", self._route)
        self._session = await page.context.new_cdp_session(page)
        self._frame = (await self._session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        given = {"domain": urlsplit(url).hostname, "path": "/", "secure": url.startswith("https:")}
        for name, value in cookies:
            with suppress(PlaywrightError):
                await self._session.send("Network.setCookie", {"name": name, "value": value, "url": url, **given})
        await page.goto(url, wait_until="commit", timeout=self._options.timeout * 1000)

    def _bothered(self, nuisance: str, answer: Awaitable[object]) -> None:
        self._job.count_nuisance(nuisance)
        self._begin(answer)

    def _begin(self, answer: Awaitable[object]) -> None:
        task = asyncio.ensure_future(failure(answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _route(self, route: Route) -> None:
        job, request = self._job, route.request
        with suppress(PlaywrightError):  # the page is gone
            if request.resource_type in self._options.blocked or not self._is_of_page(request):
                await route.abort("blockedbyclient")
                return
            if request.is_navigation_request() and request.frame.parent_frame is None:
                if job.has_begun:
                    job.leave(request.url, request.method)
                    await route.fulfill(status=204)  # the page stays
                    return
                job.begin(request.url)
            await route.continue_()

    def _is_of_page(self, request: AskedByPage) -> bool:
        """Whether the page asks, not a pop-up, which would fetch its page before it is closed."""
        try:
            return request.frame.page is self._page
        except PlaywrightError:  # its window does not exist yet
            return False

    async def settle(self) -> None:
        """Return when the page is complete: no request of it is in flight, polls apart, no worker computes, and its
        DOM has not changed for ``FRONTIER_RENDER_QUIET`` seconds; or when a script wants to leave it.

        Only pauses between two looks count: while scripts run a look takes longer.
        """
        quiet = idle = 0.0
        seen: tuple[int, int | None] = (0, None)  # changes of the network and of the DOM
        look = min(LOOK, self._options.quiet)
        while self._job.redirect is None and quiet < self._options.quiet and idle < MAX_IDLE:
            await asyncio.sleep(look)
            await self._job.idle()
            answers = [worker.evaluate("0") for worker in self._page.workers]  # later than what they compute
            if isinstance(await failure(asyncio.gather(*answers, return_exceptions=True), MAX_IDLE), TimeoutError):
                return
            before, seen = seen, (self._job.changes, await self._ask(_CHANGES))
            idle += look
            quiet = quiet + look if seen == before and seen[1] is not None else 0.0

    async def take(self, steps: Iterable[Step]) -> str | None:
        """Take the steps; settle after each. Returns why one failed: then the others are not taken."""
        for step in steps:
            try:
                if step.verb == "scroll":
                    await self._scroll(step.times)
                elif step.verb == "click":
                    await self._page.click(step.selector, timeout=STEP_TIMEOUT * 1000)
                else:
                    await self._page.wait_for_selector(step.selector, state="attached", timeout=STEP_TIMEOUT * 1000)
            except PlaywrightTimeout:
                return f"{step.verb} {step.selector}: no such element within {STEP_TIMEOUT:.0f} s"
            except PlaywrightError as error:
                return f"{step.verb} {step.selector}: {first_line(error)}"
            await self.settle()
        return None

    async def _scroll(self, times: int) -> None:
        height = -1
        for _ in range(times):
            before, height = height, await self._ask(_SCROLL)
            if height == before:
                return
            await self.settle()

    def stop(self) -> None:
        """End the page's scripts, also those that never end. What is asked after this is answered after it."""
        self._begin(self._session.send("Emulation.setScriptExecutionDisabled", {"value": True}))
        self._begin(self._session.send("Runtime.terminateExecution"))
        self._begin(self._session.send("Runtime.evaluate", {"expression": "0"}))  # is ended if no script runs

    async def read(self) -> Dom:
        """The DOM. Raises RenderError if it is too long, or that of no page of a server."""
        limit = self._options.max_size
        found: dict[str, Any] | None = await self._ask(_READ, str(limit))
        if found is None:
            raise RenderError("too_large", f"its DOM is longer than {limit} characters")
        if not found["url"].startswith(("http:", "https:")):
            raise RenderError("left", f"a script has put {found['url']} in its place")
        return Dom(found["html"], None if found["hasBase"] else found["base"])

    async def _ask(self, function: str, argument: str = "") -> Any:
        """The result of a JavaScript function, as JSON; ``argument`` is JavaScript, too. Raises RenderError."""
        for _ in range(MAX_DOCUMENTS):
            try:
                return await self._evaluate(f"({function})({argument})")
            except PlaywrightError as error:
                if "context" not in error.message or "closed" in error.message:
                    raise
                self._world = None  # a script has replaced the document
        raise RenderError("script", "its scripts replace its document repeatedly")

    async def _evaluate(self, expression: str) -> Any:
        if self._world is None:
            made = await self._session.send("Page.createIsolatedWorld", {"frameId": self._frame, "worldName": "crawl"})
            self._world = made["executionContextId"]
        question = {"expression": expression, "contextId": self._world, "returnByValue": True, "awaitPromise": True}
        found = await self._session.send("Runtime.evaluate", question)
        if "exceptionDetails" in found:
            raise RenderError("script", str(found["result"].get("description", ""))[:200].partition("\n")[0])
        return found["result"].get("value")


async def failure(awaitable: Awaitable[object], timeout: float = CLOSE_TIMEOUT) -> Exception | None:
    """The error by which ``awaitable`` ends; TimeoutError if it does not end in time."""
    try:
        async with asyncio.timeout(timeout):
            await awaitable
    except Exception as error:  # noqa: BLE001 - whatever the page does; or it is closed already, or its browser is gone
        logger.debug("Leaving a page: %s", error)
        return error
    return None


def first_line(error: Exception) -> str:
    """The message of an error, without Playwright's log of the call."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def is_gone(error: Exception) -> bool:
    """Whether the page, its context, the browser or its driver no longer exists."""
    words = ("closed", "crash", "disconnected", "connection")
    return any(word in f"{type(error).__name__} {error}".lower() for word in words)
