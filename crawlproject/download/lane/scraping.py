"""The way of a response to items, links and requests: what Scrapy's scraper does, in one coroutine.

An item has no task of its own if nothing has to be awaited.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import CloseSpider, DropItem, IgnoreRequest, ScrapyDeprecationWarning, _InvalidOutput
from scrapy.http import Request, Response
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.asyncgen import as_async_generator
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.log import failure_to_exc_info, logformatter_adapter
from scrapy.utils.misc import warn_on_generator_with_return_value
from scrapy.utils.python import global_object_name
from scrapy.utils.spider import iterate_spider_output
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from crawlproject.clock import CLOCK
from crawlproject.download.lane.calls import calls_of, with_pauses
from crawlproject.download.lane.outputs import Outputs
from crawlproject.download.receivers import Receivers, log_line
from crawlproject.engine import Crawl, wake
from crawlproject.requests.owners import Owners, current

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
    from typing import TypeAlias

    from scrapy.core.engine import ExecutionEngine
    from scrapy.core.scraper import Scraper

    from crawlproject.engine import RequestsUnderWay
    from crawlproject.requests.owners import Owner

    #: Tells receivers what became of an item; returns what has to be awaited.
    End: TypeAlias = Callable[[], Coroutine[Any, Any, None] | None]

logger = logging.getLogger("scrapy.core.scraper")

_OF_ITEMS = (signals.item_scraped, signals.item_dropped, signals.item_error)

#: Outputs, and seconds, after which the event loop has its turn.
STEP = 100
STEP_SECONDS = 0.01


def _name_of(call: Callable[..., Any]) -> str:
    return global_object_name(getattr(call, "func", call))  # one that still takes the spider is a partial


class Items:
    """Sends items through the pipelines."""

    def __init__(self, scraper: Scraper, under_way: RequestsUnderWay) -> None:
        self._scraper = scraper
        self._crawler = scraper.crawler
        self._under_way = under_way
        self._receivers = {signal: Receivers(scraper.crawler, signal) for signal in _OF_ITEMS}
        pipelines = scraper.itemproc
        self._pipelines: list[Callable[[Any], Any]] | None = None
        #: Of several spiders: the manager of each, and the calls of those that had items.
        self._manager_of: Callable[[Owner | None], ItemPipelineManager] | None = getattr(pipelines, "of", None)
        self._by_owner: dict[Owner, list[Callable[[Any], Any]]] = {}
        if type(pipelines) is ItemPipelineManager or self._manager_of is not None:
            self._pipelines = calls_of(pipelines, "process_item")

    def start(self, item: Any, response: Response | Failure, ends: list[End]) -> Coroutine[Any, Any, None] | None:
        """Process ``item`` as far as nothing has to be awaited; the rest of its way, None if it has passed the
        pipelines.  Then what is left is added to ``ends``: Scrapy tells receivers when its callback's other outputs
        have been processed, too."""
        if self._pipelines is None:  # an ITEM_PROCESSOR of the project
            return self._scraper.start_itemproc_async(item, response=response)
        self._under_way.item_begins()
        output, methods = item, iter(self._pipelines if self._manager_of is None else self._calls(self._manager_of))
        try:
            try:
                for method in methods:
                    output = method(output)
                    if isawaitable(output):
                        return self._ended_by(self._process(item, response, (method, output), methods))
            except Exception as error:  # noqa: BLE001 - any pipeline
                told = self._failed(item, response, error)
            else:
                told = self._scraped(output, response)
        except BaseException:  # of a formatter of the log
            self._under_way.item_ends()
            raise
        ends.append(partial(self._end, *told))
        return None

    def _calls(self, manager_of: Callable[[Owner | None], ItemPipelineManager]) -> list[Callable[[Any], Any]]:
        """The pipelines of the spider whose page is in progress."""
        owner = current.get()
        if owner is None or self._pipelines is None:
            return self._pipelines or []
        if owner not in self._by_owner:
            self._by_owner[owner] = calls_of(manager_of(owner), "process_item")
        return self._by_owner[owner]

    def _end(self, signal: object, values: dict[str, Any]) -> Coroutine[Any, Any, None] | None:
        if (rest := self._receivers[signal].start(**values)) is not None:
            return self._ended_by(rest)
        self._under_way.item_ends()
        return None

    async def _ended_by(self, rest: Awaitable[object]) -> None:
        try:
            await rest
        finally:
            self._under_way.item_ends()

    async def _process(
        self, item: Any, response: Any, waits: tuple[Callable[..., Any], Any], methods: Iterator[Callable[..., Any]]
    ) -> None:
        """``waits``: a pipeline, and its output, which must be awaited; ``methods``: those after it."""
        method, output = waits
        try:
            result = await ensure_awaitable(output, _warn=_name_of(method))
            for each in methods:
                result = await ensure_awaitable(each(result), _warn=_name_of(each))
        except Exception as error:  # noqa: BLE001 - any pipeline
            signal, values = self._failed(item, response, error)
        else:
            signal, values = self._scraped(result, response)
        if (rest := self._receivers[signal].start(**values)) is not None:
            await rest

    def _scraped(self, item: Any, response: Any) -> tuple[object, dict[str, Any]]:
        log_line(self._crawler, logger, "scraped", item, response, item=item)
        return signals.item_scraped, {"item": item, "response": response}

    def _failed(self, item: Any, response: Any, error: Exception) -> tuple[object, dict[str, Any]]:
        formatter, spider = self._crawler.logformatter, self._crawler.spider
        assert spider is not None
        values = {"item": item, "response": response}
        if isinstance(error, DropItem):
            if (line := formatter.dropped(item, error, response, spider)) is not None:
                logger.log(*logformatter_adapter(line), extra={"spider": spider, "item": item})
            return signals.item_dropped, values | {"exception": error}
        line = formatter.item_error(item, error, response, spider)
        logger.log(*logformatter_adapter(line), extra={"spider": spider, "item": item}, exc_info=error)
        return signals.item_error, values | {"failure": Failure(error)}  # type: ignore[no-untyped-call]


class Scraping:
    """Calls the spider middlewares, the callback or errback, and the pipelines as Scrapy's scraper does."""

    def __init__(self, engine: ExecutionEngine, under_way: RequestsUnderWay) -> None:
        crawler = engine.crawler
        assert engine._slot is not None
        self._crawler = crawler
        self._slot = engine._slot
        self._scraper = engine.scraper
        self._items = Items(engine.scraper, under_way)
        self._outputs = Outputs(engine.scraper.spidermw)
        self._inputs = calls_of(engine.scraper.spidermw, "process_spider_input")
        self._scheduled = Receivers(crawler, signals.request_scheduled, IgnoreRequest)
        self._dropped = Receivers(crawler, signals.request_dropped)
        self._owners = Crawl.of(crawler).part(Owners)

    def follow(self, request: Request) -> None:
        """Schedule ``request`` as by ``ExecutionEngine.crawl``; a receiver may drop it by ``IgnoreRequest``."""
        if self._scheduled.send(request=request) is None and not self._slot.scheduler.enqueue_request(request):
            self._dropped.send(request=request)
        wake(self._slot)

    async def scrape(self, result: Response | Failure, request: Request) -> None:
        """Process what became of ``request`` to the end."""
        owner = self._owners.of_request(request)
        if self._owners:
            if not isinstance(result, Response):
                owner = self._owners.of_call(request.errback) or owner
            current.set(owner)
        try:
            if isinstance(result, Response):
                outputs = await self._parse(result, request)
            else:
                outputs = as_async_generator(await self._scraper.call_spider_async(result, request))
        except Exception as error:  # noqa: BLE001 - any callback or middleware
            if owner is not None and isinstance(error, CloseSpider):
                self._owners.end(owner, error.reason or "cancelled")
                return
            if isinstance(result, Failure):
                self._log_failed(result, request)
            if isinstance(result, Response) or error is not result.value:
                self._scraper.handle_spider_error(Failure(), request, result)  # type: ignore[no-untyped-call]
            return
        await self._consume(outputs, result, request)

    def _log_failed(self, failure: Failure, request: Request) -> None:
        if failure.check(IgnoreRequest):  # type: ignore[no-untyped-call]
            return
        spider = self._crawler.spider
        assert spider is not None
        line = self._crawler.logformatter.download_error(failure, request, spider)
        logger.log(*logformatter_adapter(line), extra={"spider": spider}, exc_info=failure_to_exc_info(failure))

    async def _parse(self, response: Response, request: Request) -> AsyncIterator[Any]:
        """The outputs of the callback, or of the errback if a middleware raises; errors of middlewares' making."""
        try:
            try:
                for call in self._inputs:
                    if (found := call(response=response)) is not None:
                        name = _name_of(call)
                        raise _InvalidOutput(f"{name} must return None or raise an exception, got {type(found)}")
            except _InvalidOutput:
                raise
            except Exception:  # noqa: BLE001 - any middleware
                failure = Failure()  # type: ignore[no-untyped-call]
                result = await self._scraper.call_spider_async(failure, request)
            else:
                result = await self._call(response)
            return self._outputs.of(result, response)
        except Exception as error:  # noqa: BLE001 - any callback
            return self._outputs.recovered(error, response)

    async def _call(self, response: Response) -> Any:
        """The callback's outputs, as of ``call_spider_async``, which gives the event loop a turn before: the session
        would choose its next URL without those of this page."""
        assert response.request is not None
        spider = self._crawler.spider
        assert spider is not None
        callback = response.request.callback or spider._parse
        warn_on_generator_with_return_value(spider, callback)
        output = callback(response, **response.request.cb_kwargs)
        if isinstance(output, Deferred):
            text = f"{callback} returned a Deferred. Returning Deferreds from spider callbacks is deprecated."
            warnings.warn(text, ScrapyDeprecationWarning, stacklevel=2)
        return await ensure_awaitable(iterate_spider_output(output))

    async def _consume(self, outputs: AsyncIterator[Any], result: Response | Failure, request: Request) -> None:
        """Process ``outputs``, as Scrapy does: twice CONCURRENT_ITEMS at a time, or as many as there are when their
        iterator waits; of these CONCURRENT_ITEMS items at once."""
        most, loop = self._scraper.concurrent_items, asyncio.get_running_loop()
        batch: list[Any] = []
        steps: set[asyncio.Task[None]] = set()
        items: set[asyncio.Task[None]] = set()

        def paused() -> None:
            if batch:
                steps.add(loop.create_task(self._process(batch.copy(), result, items)))
                batch.clear()

        is_more = True
        while is_more:
            try:
                is_more = await with_pauses(_fill(batch, outputs, 2 * most), paused)
            except Exception:  # noqa: BLE001 - any callback or middleware
                self._scraper.handle_spider_error(Failure(), request, result)  # type: ignore[no-untyped-call]
                is_more = False
            await self._process(batch, result, items)
            batch.clear()
        while left := steps | items:
            done, _ = await asyncio.wait(left)
            steps -= done
            items -= done

    async def _process(self, outputs: list[Any], result: Response | Failure, items: set[asyncio.Task[None]]) -> None:
        most, until = self._scraper.concurrent_items, CLOCK() + STEP_SECONDS
        ends: list[End] = []
        for number, output in enumerate(outputs, 1):
            if number % STEP == 0 or CLOCK() > until:
                await asyncio.sleep(0)
                until = CLOCK() + STEP_SECONDS
            try:
                if isinstance(output, Request):
                    self.follow(output)
                    continue
                if output is not None and (rest := self._items.start(output, result, ends)) is not None:
                    items.add(asyncio.get_running_loop().create_task(rest))
            except Exception:
                logger.exception("Scraper bug processing %s", output, extra={"spider": self._crawler.spider})
            if len(items) + len(ends) >= most:
                await self._finish(ends, items)
        await self._finish(ends, items)

    async def _finish(self, ends: list[End], items: set[asyncio.Task[None]]) -> None:
        """Tell receivers of items that have passed the pipelines; wait until fewer are under way than may be."""
        for end in ends:
            if (rest := end()) is not None:
                items.add(asyncio.get_running_loop().create_task(rest))
        ends.clear()
        while len(items) >= self._scraper.concurrent_items:
            done, _ = await asyncio.wait(items, return_when=asyncio.FIRST_COMPLETED)
            items -= done


async def _fill(batch: list[Any], outputs: AsyncIterator[Any], most: int) -> bool:
    """Append up to ``most`` of ``outputs``; whether there may be more."""
    async for output in outputs:
        batch.append(output)
        if len(batch) >= most:
            return True
    return False
