"""A tab of the browser, used for one page after another: navigation, scripts evaluated in it, and its clock."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError

from crawlproject.download.rendering.job import RenderError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from playwright.async_api import CDPSession, Page

#: Tasks without a delay that a page may run before its clock advances: messages to itself, for example.
MAX_TASKS = 1000

#: Whether an animation runs that will end; asked once a frame is complete and idle callbacks have run.
_MOVES = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestIdleCallback(
    () => done(document.getAnimations().some(each => each.playState === 'running' && each.effect &&
        each.effect.getComputedTiming().endTime < 60000))))))"""

#: Seconds in which a frame is drawn, and for which the clock runs if none was.
FRAME, FRAME_CLOCK = 0.05, 0.1

#: Documents that a script may put in place of each other while one question is asked.
MAX_DOCUMENTS = 3

#: Seconds between two checks whether a tab belongs to its new page, and the maximum number of checks.
HANDOVER, MAX_HANDOVERS = 0.01, 50


class Tab:
    """One tab. Questions are evaluated in an isolated world, which the page's scripts cannot change.

    Its clock: from the first ``run`` on, time passes for the page's scripts only while it runs.  It stands still while
    the page loads something, and runs ahead while the page has nothing to do until its next timer (Chromium's virtual
    time).
    """

    def __init__(self, page: Page, session: CDPSession, frame: str) -> None:
        self.page = page
        self.has_own_clock = False
        self._session = session
        self._frame = frame
        self._world: int | None = None
        self._woken = asyncio.Event()
        session.on("Emulation.virtualTimeBudgetExpired", lambda _: self._woken.set())

    @classmethod
    async def of(cls, page: Page) -> Tab:
        """The tab with this page."""
        session = await page.context.new_cdp_session(page)
        await session.send("Performance.enable")
        tree = await session.send("Page.getFrameTree")
        return cls(page, session, tree["frameTree"]["frame"]["id"])

    def is_open(self) -> bool:
        """Whether it still exists."""
        browser = self.page.context.browser
        return not self.page.is_closed() and browser is not None and browser.is_connected()

    async def go(self, url: str, timeout: float) -> None:
        """Begin to load a page, within a number of seconds."""
        self._world = None
        await self.page.goto(url, wait_until="commit", timeout=timeout * 1000)

    async def empty(self, timeout: float) -> None:
        """Leave the page, within a number of seconds: the next one finds no trace of it.

        Neither cookies and storage, of whatever server, nor its history and ``window.name``.
        """
        await self.go("about:blank", timeout)
        await self._session.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
        await self._forget_history()
        await self._session.send("Runtime.evaluate", {"expression": "window.name = ''"})

    async def _forget_history(self) -> None:
        """Once Chromium has handed the session on to the new page, which may be a moment after it has begun (156)."""
        for _ in range(MAX_HANDOVERS):
            try:
                await self._session.send("Page.resetNavigationHistory")
                return
            except PlaywrightError as error:
                if "active page" not in error.message:
                    raise
                await asyncio.sleep(HANDOVER)
        raise RenderError("script", "the session is still that of the page that was left")

    async def set_cookies(self, url: str, cookies: Iterable[tuple[str, str]]) -> None:
        """Give cookies, as names and values, to the server of ``url``; those that are invalid are left out."""
        given = {"domain": urlsplit(url).hostname, "path": "/", "secure": url.startswith("https:")}
        for name, value in cookies:
            with suppress(PlaywrightError):
                await self._session.send("Network.setCookie", {"name": name, "value": value, "url": url, **given})

    async def ask(self, function: str, argument: str) -> Any:
        """The result of a JavaScript function, as JSON; ``argument`` is JavaScript, too. Raises RenderError."""
        for _ in range(MAX_DOCUMENTS):
            try:
                return await self._ask(f"({function})({argument})")
            except PlaywrightError as error:
                if "context" not in error.message or "closed" in error.message:
                    raise
                self._world = None  # a script has replaced the document
        raise RenderError("script", "its scripts replace its document repeatedly")

    async def moves(self, longest: float) -> bool:
        """Whether the page, once it has been drawn as it is now, has an animation that will end, or was drawn late.

        Some scripts wait for either.  The clock runs a little as long as no frame comes: Chromium often draws none
        while it stands still.
        """
        asked = asyncio.ensure_future(self.ask(_MOVES, ""))
        is_late = False
        try:
            async with asyncio.timeout(longest):
                while not (await asyncio.wait((asked,), timeout=FRAME))[0]:
                    is_late = True
                    await self.run(FRAME_CLOCK)
                return bool(asked.result()) or is_late
        except TimeoutError:
            return True
        finally:
            asked.cancel()

    async def _ask(self, expression: str) -> Any:
        if self._world is None:
            made = await self._session.send("Page.createIsolatedWorld", {"frameId": self._frame, "worldName": "crawl"})
            self._world = made["executionContextId"]
        question = {
            "expression": expression,
            "contextId": self._world,
            "returnByValue": True,
            "awaitPromise": True,
        }
        found = await self._session.send("Runtime.evaluate", question)
        if "exceptionDetails" in found:
            raise RenderError("script", str(found["result"].get("description", ""))[:200].partition("\n")[0])
        return found["result"].get("value")

    async def run(self, seconds: float) -> None:
        """Let the page's clock run so far, or until ``wake``."""
        self.has_own_clock = True
        self._woken.clear()
        policy = {
            "policy": "pauseIfNetworkFetchesPending",
            "budget": seconds * 1000,
            "maxVirtualTimeTaskStarvationCount": MAX_TASKS,
        }
        await self._session.send("Emulation.setVirtualTimePolicy", policy)
        await self._woken.wait()

    def wake(self) -> None:
        """Whoever waits for the clock need not wait longer."""
        self._woken.set()

    async def script_time(self) -> float:
        """Seconds that the page's scripts have run."""
        metrics = (await self._session.send("Performance.getMetrics"))["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "ScriptDuration"))

    def has_others(self) -> bool:
        """Whether other processes and threads work for the page, whose time is the real one."""
        here = _site(self.page.url)
        return bool(self.page.workers) or any(_site(frame.url) not in ("", here) for frame in self.page.frames[1:])


def _site(url: str) -> str:
    """Scheme and host; "" of what has none."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if mark else ""
