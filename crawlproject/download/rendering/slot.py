"""A slot of the browser, and the supervision of its tab."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from playwright.async_api import Page, Route
    from playwright.async_api import Request as AskedByPage

    from crawlproject.download.rendering.job import PageJob
    from crawlproject.download.rendering.tab import Tab

logger = logging.getLogger(__name__)

#: Seconds to close something in the browser.
CLOSE_TIMEOUT = 3.0


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


class Watch:
    """Watches one tab: what its pages load, where they go, and the nuisances that they cause.

    Types of resources in ``blocked`` are not loaded.
    """

    def __init__(self, page: Page, slot: Slot, blocked: frozenset[str]) -> None:
        self._page = page
        self._slot = slot
        self._name = slot.name
        self._blocked = blocked
        self._tasks: set[asyncio.Future[Any]] = set()

    async def begin(self) -> None:
        """Before the tab goes anywhere."""
        page = self._page
        page.on("dialog", lambda dialog: self._bothered("dialogs", dialog.dismiss()))
        page.on("download", lambda download: self._bothered("downloads", download.cancel()))
        page.on("crash", lambda _: self._failed("the page crashed"))
        page.on("close", lambda _: self._failed("the page was closed"))
        page.context.on("page", self._other_page)
        await page.context.route("**/*", self._route)

    def _failed(self, what: str) -> None:
        if self._slot.name != self._name:
            return  # this tab was closed by us
        self._slot.is_broken = True
        if self._slot.job is not None:
            self._slot.job.fail("crashed", what)

    def _other_page(self, popup: Page) -> None:
        self._bothered("popups", popup.close())

    def _bothered(self, nuisance: str, answer: Awaitable[object]) -> None:
        if self._slot.job is not None:
            self._slot.job.count_nuisance(nuisance)
        task = asyncio.ensure_future(failure(answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _route(self, route: Route) -> None:
        job, request = self._slot.job, route.request
        with suppress(PlaywrightError):  # the page is gone
            if job is None:
                self._slot.is_broken = True  # a page that was left
            if job is None or request.resource_type in self._blocked or not self._is_of_page(request):
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
        """Whether the tab asks, not a pop-up, which would fetch its page before it is closed."""
        try:
            return request.frame.page is self._page
        except PlaywrightError:  # its window does not exist yet
            return False


async def failure(awaitable: Awaitable[object], timeout: float = CLOSE_TIMEOUT) -> Exception | None:
    """The error by which ``awaitable`` ends; TimeoutError if it does not end in time."""
    try:
        async with asyncio.timeout(timeout):
            await awaitable
    except Exception as error:  # noqa: BLE001 - whatever the page does; or it is closed already, or its browser is gone
        logger.debug("Leaving a page: %s", error)
        return error
    return None
