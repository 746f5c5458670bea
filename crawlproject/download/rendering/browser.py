"""Drives Chromium by scrapy-playwright: starts it, opens each page in a context of its own, ends what hangs."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler
from scrapy_playwright.provider import PlaywrightBrowserProvider

from crawlproject.download.rendering.job import RenderError
from crawlproject.download.rendering.processes import BrowserProcesses
from crawlproject.download.rendering.tab import CLOSE_TIMEOUT, Tab, failure, first_line, is_gone
from crawlproject.engine import stats_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler

    from crawlproject.download.rendering.job import PageJob
    from crawlproject.download.rendering.proxy import GuardedProxy
    from crawlproject.options.rendering import RenderOptions

logger = logging.getLogger(__name__)

#: Seconds to start the browser; then its processes are killed.
START_TIMEOUT = 60.0

#: MB that the scripts of one page may allocate as objects.
HEAP = 512

#: Playwright's default switches that are left out: pop-ups are then blocked, floods of navigations slowed down, and
#: WebGL is off, which without a graphics card costs much.
_LEFT_OUT = ["--disable-popup-blocking", "--disable-ipc-flooding-protection", "--enable-unsafe-swiftshader"]


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

    async def open(self, job: PageJob, cookies: Iterable[tuple[str, str]]) -> Tab:
        """A tab, in a new context, with the document of ``job``, whose scripts have begun to run. Raises RenderError.

        ``close_page`` must follow, also after an error.
        """
        try:
            handler = await self._started()
            meta = {"playwright_context": job.user, "playwright_context_kwargs": self._context(job)}
            page = await handler._create_page(Request(job.request.url, meta=meta), self._crawler.spider)
            for event, listener in (
                ("request", handler._increment_request_stats),
                ("response", handler._increment_response_stats),
            ):
                page.remove_listener(event, listener)  # one message for each; the proxy counts them
            tab = Tab(page, job, self._options)
            await tab.begin(cookies)
        except RenderError:
            raise
        except Exception as error:
            kind = "crashed" if is_gone(error) or not self._is_running() else "navigation"
            raise RenderError(kind, first_line(error)) from error
        return tab

    def _context(self, job: PageJob) -> dict[str, Any]:
        agent = job.request.headers.get(b"User-Agent")
        return {
            "proxy": {
                "server": self._proxy.url,
                "bypass": "<-loopback>",
                "username": job.user,
                "password": job.password,
            },
            "user_agent": agent.decode("latin-1") if agent else self._crawler.settings.get("USER_AGENT"),
            "service_workers": "block",
            "accept_downloads": False,
            "permissions": [],
        }

    def _is_running(self) -> bool:
        browser = getattr(self._handler, "browser", None)
        return browser is not None and browser.is_connected()

    async def close_page(self, job: PageJob) -> None:
        """Close the context of ``job``, if it has one. Never raises."""
        wrapper = self._handler.context_wrappers.get(job.user) if self._handler is not None else None
        error = await failure(wrapper.context.close()) if wrapper is not None else None
        if isinstance(error, TimeoutError) and self._is_running():
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
        if isinstance(await failure(handler.close(), timeout=10.0), TimeoutError):
            self.processes.end()
            await failure(handler.browser_provider.close())
        self.processes.end()

    async def close(self) -> None:
        """End the browser and its driver. Never raises."""
        async with self._starting:
            handler, self._handler = self._handler, None
            if handler is not None:
                await self._end(handler)
