"""The way of a response to items, links and requests: what Scrapy's scraper does, in one coroutine."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Request, Response
from scrapy.spidermiddlewares.depth import DepthMiddleware
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.misc import warn_on_generator_with_return_value
from twisted.python.failure import Failure

from crawlproject.download.receivers import Connections, Receivers, log_line
from crawlproject.links import Links
from crawlproject.middlewares.lane.neutral import (
    ITEM_RECEIVERS,
    direct,
    is_known_errback,
    on_site,
    process_of_requests,
    push_of_links,
    unknown_receiver,
    why_not_scrape,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler

logger = logging.getLogger("scrapy.core.scraper")

_REQUESTS = (signals.request_scheduled, signals.request_dropped)

#: Outputs of a callback between two turns of the event loop.
STEP = 100


class Scraping:
    """Calls the spider middlewares, the callback and the receivers of items as Scrapy's scraper does."""

    def __init__(self, crawler: Crawler, engine: ExecutionEngine) -> None:
        self._crawler = crawler
        assert engine._slot is not None
        self._slot = engine._slot
        self._scraper = engine.scraper
        self._why_not = why_not_scrape(engine.scraper)
        self._scraped = Receivers(crawler, signals.item_scraped)
        self._why_not_heard: str | None = None
        self._scheduled = Receivers(crawler, signals.request_scheduled, IgnoreRequest)
        self._dropped = Receivers(crawler, signals.request_dropped)
        self._connections = Connections(crawler, _REQUESTS)
        self._plain: dict[Any, bool] = {}  # callback -> whether it is a generator function
        middlewares = engine.scraper.spidermw.middlewares if self._why_not is None else ()
        inputs = engine.scraper.spidermw.methods["process_spider_input"] if self._why_not is None else ()
        self._inputs = [direct(method) for method in inputs]
        exceptions = engine.scraper.spidermw.methods["process_spider_exception"] if self._why_not is None else ()
        self._exceptions = [direct(method) for method in exceptions if method is not None]
        self._push = push_of_links(middlewares)
        self._init_depth = next((each._init_depth for each in middlewares if isinstance(each, DepthMiddleware)), None)
        #: Each (request, response) -> the request, changed or another one; None: it is dropped.
        self._processes: list[Callable[[Request, Response], Request | None]] = [
            process for each in reversed(middlewares) if (process := process_of_requests(each)) is not None
        ]

    def why_not(self) -> str | None:
        """The reason why responses cannot take this way now; None if they can. O(1)."""
        if self._why_not is None and self._scraped.look(("item", "response")):
            self._why_not_heard = unknown_receiver(self._scraped, ITEM_RECEIVERS, signals.item_scraped)
        return self._why_not or self._why_not_heard

    def takes(self, response: Response) -> bool:
        """Whether nothing about ``response`` needs Scrapy's own way: a callback that awaits nothing. O(1).

        Errors are the business of errbacks.
        """
        assert response.request is not None
        if self._push is None or not self._is_plain(self._callback(response)):
            return False
        return 200 <= response.status < 300 or is_known_errback(response.request.errback)

    def fail(self, failure: Failure, request: Request) -> bool:
        """Tell the errback that a middleware refused ``request``, as by robots.txt; False: only Scrapy can."""
        if not isinstance(failure.value, IgnoreRequest) or not is_known_errback(request.errback):
            return False
        if request.errback is not None:
            failure.request = request  # type: ignore[attr-defined]
            request.errback(failure)
        return True

    def follow(self, request: Request) -> None:
        """Schedule ``request`` as by ``ExecutionEngine.crawl``; a receiver may drop it by ``IgnoreRequest``."""
        if self._connections.have_changed():
            self._scheduled.read(("request",), on_site)
            self._dropped.read(("request",))
        if self._scheduled.send(request=request) is None and not self._slot.scheduler.enqueue_request(request):
            self._dropped.send(request=request)
        self._slot.nextcall.schedule()

    async def scrape(self, response: Response, request: Request) -> None:
        """Process the response to the end. Errors of the callback are reported as by Scrapy."""
        assert response.request is not None
        try:
            try:
                for method in self._inputs:
                    method(response=response)
            except HttpError as error:
                self._refuse(response, error)
                return
            outputs = self._callback(response)(response, **response.request.cb_kwargs)
            if self._init_depth is not None:  # not if the callback does not take its arguments
                self._init_depth(response)
            for number, output in enumerate(outputs, 1):
                if number % STEP == 0:
                    await asyncio.sleep(0)
                if isinstance(output, Links):
                    assert self._push is not None
                    await self._push(output)
                elif isinstance(output, Request):
                    self._process_request(output, response)
                elif output is not None:
                    await self._process_item(output, response)
        except Exception:  # noqa: BLE001 - any callback
            self._scraper.handle_spider_error(Failure(), request, response)  # type: ignore[no-untyped-call]

    def _refuse(self, response: Response, error: HttpError) -> None:
        """Count and log an error status. Raises ``error`` if no middleware does."""
        if all(method(response=response, exception=error) is None for method in self._exceptions):
            raise error

    def _callback(self, response: Response) -> Callable[..., Any]:
        assert response.request is not None
        assert self._crawler.spider is not None
        return response.request.callback or self._crawler.spider._parse

    def _is_plain(self, callback: Callable[..., Any]) -> bool:
        """Whether ``callback`` is a generator function."""
        method = getattr(callback, "__func__", None)  # of a class, so there are few; a function may be a new one
        known = self._plain.get(method) if method is not None else None
        if known is not None:
            return known
        spider = self._crawler.spider
        assert spider is not None
        if method is Spider._parse:
            callback = spider.parse
        is_plain = inspect.isgeneratorfunction(callback)
        if is_plain:
            warn_on_generator_with_return_value(spider, callback)
        if method is not None:
            self._plain[method] = is_plain
        return is_plain

    def _process_request(self, request: Request, response: Response) -> None:
        for process in self._processes:
            followed = process(request, response)
            if followed is None:
                return
            request = followed
        self.follow(request)

    async def _process_item(self, item: Any, response: Response) -> None:
        """Send ``item`` to those that receive items; there is no pipeline."""
        if self.why_not() is not None:  # a receiver came while the callback ran: Scrapy awaits it
            await self._scraper.start_itemproc_async(item, response=response)
            return
        log_line(self._crawler, logger, "scraped", item, response)
        self._scraped.send(item=item, response=response)
