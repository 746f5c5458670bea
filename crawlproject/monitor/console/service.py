"""Runs the console's web server in the crawl's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from aiohttp import web

from crawlproject.monitor.console.access import Access, Ticket
from crawlproject.monitor.console.api import TICK, Hub, application
from crawlproject.monitor.console.past import Past
from crawlproject.monitor.console.room import CrawlRoom
from crawlproject.monitor.quantities import crawl_folder
from crawlproject.options.monitor import ConsoleOptions, ReportOptions

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.monitor.console.api import Actions
    from crawlproject.monitor.console.order_book import OrderBook

logger = logging.getLogger(__name__)

#: Figures that other workers' consoles show of this one.
TOLD = ("held_back", "pages_per_second")

#: Seconds that open requests may take when the crawl has ended: streams tell their pages so, on a busy machine as well.
SHUTDOWN = 5.0


class ConsoleService:
    """From ``start`` to ``stop``; if the port is in use, the crawl continues without a console."""

    def __init__(self, crawler: Crawler, crawl: CrawlFrontier, book: OrderBook, actions: Actions) -> None:
        self._options = options = ConsoleOptions.of(crawler)
        self._crawl = crawl
        own = ReportOptions.of(crawler).report_directory
        past = Past(own if options.job is None else crawl_folder(options.job))
        self._room = CrawlRoom(crawler, crawl, book)
        self._hub = Hub(self._room.event)
        self._access = Access(options)
        self._ticket = Ticket(options)
        app = application({**self._room.views(), **past.views()}, actions, self._access, self._hub)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN)
        self._ticking: asyncio.Task[None] | None = None

    async def start(self) -> bool:
        """Listen; on failure log an error and return False."""
        options = self._options
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, options.host, options.port, reuse_address=True).start()
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            logger.error(
                "No console: FRONTIER_CONSOLE_HOST=%r, FRONTIER_CONSOLE_PORT=%d: %s", options.host, options.port, reason
            )
            await self._runner.cleanup()
            return False
        self._announce()
        self._crawl.observers.append(self._room.answers.observe)
        logging.root.addHandler(self._room.log)
        self._ticking = asyncio.ensure_future(self._tick())
        return True

    async def stop(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._ticking
        logging.root.removeHandler(self._room.log)
        self._crawl.observers.remove(self._room.answers.observe)
        self._hub.close()
        await self._runner.cleanup()
        self._ticket.remove()

    def _announce(self) -> None:
        options = self._options
        host = f"[{options.host}]" if ":" in options.host else options.host
        url = f"http://{host}:{options.port}/"
        is_written = self._ticket.write(url, self._access.token)
        secret = "" if options.token else f"#token={self._access.token}"  # one set by hand is not repeated
        logger.info("Console: %s%s", url, secret)
        if is_written:
            logger.info("Address and token are in %s, for: scrapy console %s status", self._ticket.path, url)
        if not options.is_local:
            logger.warning(
                "FRONTIER_CONSOLE_HOST=%r: anyone who reaches it with the FRONTIER_CONSOLE_TOKEN can control this "
                "crawl, and the token is sent unencrypted: use an SSH tunnel, or a proxy with HTTPS",
                options.host,
            )

    async def _tick(self) -> None:
        task = asyncio.current_task()
        # ``asyncio.wait_for`` of Python 3.11, by which redis-py sends, loses a cancel that comes as it ends.
        while task is None or not task.cancelling():
            try:
                self._room.charts.add(figures := self._room.figures())
                self._crawl.told.update((name, figures[name]) for name in TOLD)
                if self._crawl.store.orders is not None:
                    await self._room.whole.look()
                self._hub.publish()
            except Exception:
                logger.exception("The console's figures failed")
                return
            await asyncio.sleep(TICK)
