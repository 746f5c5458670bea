"""Drives Chromium by scrapy-playwright: starts it, opens pages in recycled contexts, ends what hangs."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError
from scrapy import Request
from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler
from scrapy_playwright.provider import PlaywrightBrowserProvider

from crawlproject.download.rendering.job import RenderError
from crawlproject.download.rendering.processes import BrowserProcesses
from crawlproject.download.rendering.tab import Tab
from crawlproject.engine import stats_of

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from playwright.async_api import Page, Route
    from scrapy.crawler import Crawler

    from crawlproject.download.rendering.job import PageJob
    from crawlproject.download.rendering.proxy import GuardedProxy
    from crawlproject.options.rendering import RenderOptions

logger = logging.getLogger(__name__)

#: Seconds to start the browser, and to close something in it; then its processes are killed.
START_TIMEOUT = 60.0
CLOSE_TIMEOUT = 3.0

#: MB that the scripts of one page may allocate as objects.
HEAP = 512

#: Playwright's default switches that are left out: pop-ups are then blocked, floods of navigations slowed down, and
#: WebGL is off, which without a graphics card costs much.
_LEFT_OUT = ["--disable-popup-blocking", "--disable-ipc-flooding-protection", "--enable-unsafe-swiftshader"]


class Slot:
    """A place for one page at a time: a tab in a context of its own, whose name and user is ``name``."""

    def __init__(self) -> None:
        self.job: PageJob | None = None
        self.renew()

    def renew(self) -> None:
        """The next page gets a new context."""
        self.name = f"render-{token_hex(8)}"
        self.password = token_hex(16)
        self.pages = 0
        self.tab: Tab | None = None
        self.is_broken = False


class Browser:
    """Chromium, started when the first page needs it, and again after a crash.

    Its only way to the network is the proxy: also for addresses of this machine, for WebSockets and for WebRTC; names
    are not looked up at all.  Stats: ``playwright/...`` by scrapy-playwright, ``render/browser_restarts``.
    """

    def __init__(self, crawler: Crawler, options: RenderOptions, proxy: GuardedProxy) -> None:
        self._crawler = crawler
        self._stats = stats_of(crawler)
        self._options = options
        self._proxy = proxy
        self.processes = BrowserProcesses(f"--proxy-server={proxy.url}")
        self._handler: ScrapyPlaywrightDownloadHandler | None = None
        self._starting = asyncio.Lock()
        logger_of_library = logging.getLogger("scrapy-playwright")
        if logger_of_library.level == logging.NOTSET:  # it logs each page that fails with a traceback; we say it once
            logger_of_library.setLevel(logging.ERROR)

    def _launch_options(self) -> dict[str, Any]:
        chosen = dict(self._options.launch_options)
        own = [
            f"--ignore-certificate-errors-spki-list={self._proxy.key_hash}",
            "--proxy-bypass-list=<-loopback>",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--webrtc-ip-handling-policy=disable_non_proxied_udp",
            "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # its name in older versions
            "--disable-quic",
            "--dns-prefetch-disable",
            "--no-pings",
            "--disable-remote-fonts",
            "--disable-gpu",
            "--renderer-process-limit=1",  # none is started before it is needed; pages still do not share one
            "--disable-notifications",
            f"--js-flags=--max-old-space-size={HEAP}",
        ]
        return {
            "handle_sigint": False,  # Ctrl-C ends the crawl in order, the pages in progress first
            "handle_sigterm": False,
            "chromium_sandbox": os.geteuid() != 0,  # Chromium refuses to run as root with it
            "ignore_default_args": _LEFT_OUT,
            "timeout": START_TIMEOUT * 1000,
            **chosen,
            "executable_path": self._options.program(),
            "proxy": {"server": self._proxy.url, "bypass": "<-loopback>"},
            "args": [*chosen.get("args", ()), *own],  # of two equal switches the last one counts
        }

    async def _started(self) -> ScrapyPlaywrightDownloadHandler:
        async with self._starting:
            if self._handler is None:
                handler = ScrapyPlaywrightDownloadHandler(self._crawler)
                handler.browser_provider_cls = PlaywrightBrowserProvider  # others need not use the proxy
                config = handler.config
                config.browser_type_name = "chromium"
                config.cdp_url = config.connect_url = None  # another machine's browser would not use the proxy
                config.launch_options = self._launch_options()
                config.startup_context_kwargs = {}
                config.max_pages_per_context = self._options.pages
                config.navigation_timeout_ms = self._options.timeout * 1000
                config.restart_disconnected_browser = True
                config.target_closed_max_retries = 0  # Renderer tries again
                await handler._launch()  # it does so at the start of the engine, which is over
                self._handler = handler
            return self._handler

    async def start(self) -> None:
        """Start the driver and the browser, unless they run. Raises RenderError."""
        try:
            async with asyncio.timeout(START_TIMEOUT):
                handler = await self._started()
                await handler._maybe_launch_browser()
        except Exception as error:
            await self.restart()
            raise RenderError("browser", f"the browser did not start: {first_line(error)}") from error

    async def open(self, slot: Slot, job: PageJob) -> Tab:
        """A tab with the document of ``job``, whose scripts have begun to run. Raises RenderError.

        As soon as the tab exists it is ``slot.tab``.
        """
        slot.pages += 1
        try:
            tab = slot.tab or await self._new_tab(slot, job)
            await tab.go(job.request.url, self._options.timeout)
        except RenderError:
            raise
        except Exception as error:
            kind = "crashed" if is_gone(error) or not self._is_running() else "navigation"
            raise RenderError(kind, first_line(error)) from error
        return tab

    async def _new_tab(self, slot: Slot, job: PageJob) -> Tab:
        handler = await self._started()
        meta = {"playwright_context": slot.name, "playwright_context_kwargs": self._context(slot, job)}
        page = await handler._create_page(Request(job.request.url, meta=meta), self._crawler.spider)
        for event, listener in (
            ("request", handler._increment_request_stats),
            ("response", handler._increment_response_stats),
        ):
            page.remove_listener(event, listener)  # one message for each; the proxy counts them
        await _Watched(slot, self._options.blocked).begin(page)
        slot.tab = await Tab.of(page)
        return slot.tab

    def _context(self, slot: Slot, job: PageJob) -> dict[str, Any]:
        agent = job.request.headers.get(b"User-Agent")
        return {
            "proxy": {
                "server": self._proxy.url,
                "bypass": "<-loopback>",
                "username": slot.name,
                "password": slot.password,
            },
            "user_agent": agent.decode("latin-1") if agent else self._crawler.settings.get("USER_AGENT"),
            "service_workers": "block",
            "accept_downloads": False,
            "permissions": [],
        }

    def _is_running(self) -> bool:
        browser = getattr(self._handler, "browser", None)
        return browser is not None and browser.is_connected()

    async def leave(self, slot: Slot, *, is_broken: bool) -> None:
        """Empty the tab; close its context, if it is broken or has had its share of pages. Never raises.

        A new context costs 100 ms of CPU, a new tab 60 ms.
        """
        tab = slot.tab
        if tab is not None and not is_broken and slot.pages < self._options.pages_per_context:
            tab.wake()
            if await _succeeds(tab.go("about:blank", CLOSE_TIMEOUT)) and len(tab.page.context.pages) == 1:
                return
        await self.drop(slot)

    async def drop(self, slot: Slot) -> None:
        """Close the slot's context, if it has one. Never raises."""
        name = slot.name
        slot.renew()
        wrapper = self._handler.context_wrappers.get(name) if self._handler is not None else None
        if wrapper is not None and not await _done(wrapper.context.close()) and self._is_running():
            logger.debug("A context of the browser does not close")
            self.processes.end()

    async def check(self) -> None:
        """Restart the browser and its driver if they no longer answer."""
        browser = getattr(self._handler, "browser", None)
        if browser is None:
            return
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await (await browser.new_context()).close()
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it
            logger.debug("The browser does not answer: %s", error)
            await self.restart()

    async def restart(self) -> None:
        """End the browser and its driver; the next page starts new ones."""
        async with self._starting:
            handler, self._handler = self._handler, None
            if handler is not None:
                self._stats.inc_value("render/browser_restarts")
                await self._end(handler)

    async def _end(self, handler: ScrapyPlaywrightDownloadHandler) -> None:
        if not await _done(handler.close(), timeout=10.0):
            self.processes.end()
            await _done(handler.browser_provider.close())
        self.processes.end()

    async def close(self) -> None:
        """End the browser and its driver. Never raises."""
        async with self._starting:
            handler, self._handler = self._handler, None
            if handler is not None:
                await self._end(handler)


class _Watched:
    """Watches one tab: what its pages load, where they go, whom they bother."""

    def __init__(self, slot: Slot, blocked: frozenset[str]) -> None:
        self._slot = slot
        self._blocked = blocked
        self._tasks: set[asyncio.Future[Any]] = set()

    async def begin(self, page: Page) -> None:
        """Before the tab goes anywhere."""
        page.on("dialog", lambda dialog: self._bothered("dialogs", dialog.dismiss()))
        page.on("download", lambda download: self._bothered("downloads", download.cancel()))
        page.on("crash", lambda _: self._failed("the page crashed"))
        page.on("close", lambda _: self._failed("the page was closed"))
        page.context.on("page", self._other_page)
        await page.route("**/*", self._route)

    def _failed(self, what: str) -> None:
        self._slot.is_broken = True
        if self._slot.job is not None:
            self._slot.job.fail("crashed", what)

    def _other_page(self, popup: Page) -> None:
        self._bothered("popups", popup.close())

    def _bothered(self, nuisance: str, answer: Awaitable[object]) -> None:
        if self._slot.job is not None:
            self._slot.job.suffer(nuisance)
        task = asyncio.ensure_future(_done(answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _route(self, route: Route) -> None:
        job, request = self._slot.job, route.request
        with suppress(PlaywrightError):  # the page is gone
            if job is None or request.resource_type in self._blocked:
                await route.abort("blockedbyclient")
                return
            if request.is_navigation_request() and request.frame.parent_frame is None:
                if job.has_begun:
                    job.leave(request.url, request.method)
                    await route.fulfill(status=204)  # the page stays
                    return
                job.begin(request.url)
            await route.continue_()


async def _succeeds(awaitable: Awaitable[object]) -> bool:
    """Whether ``awaitable`` ends in time and without an error."""
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT):
            await awaitable
    except Exception as error:  # noqa: BLE001 - whatever the page does
        logger.debug("Leaving a page: %s", error)
        return False
    return True


async def _done(awaitable: Awaitable[object], timeout: float = CLOSE_TIMEOUT) -> bool:
    """Whether ``awaitable`` ends in time; its errors are ignored."""
    try:
        async with asyncio.timeout(timeout):
            await awaitable
    except TimeoutError:
        return False
    except Exception as error:  # noqa: BLE001 - it is closed already, or its browser is gone
        logger.debug("Closing: %s", error)
    return True


def first_line(error: Exception) -> str:
    """What went wrong, without Playwright's log of the call."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def is_gone(error: Exception) -> bool:
    """Whether the page, its context, the browser or its driver no longer exists."""
    words = ("closed", "crash", "disconnected", "connection")
    return any(word in f"{type(error).__name__} {error}".lower() for word in words)
