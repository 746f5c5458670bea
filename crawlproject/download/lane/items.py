"""The way of an item: what Scrapy's scraper does with it, without a task if nothing has to be awaited."""

from __future__ import annotations

import logging
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import DropItem
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.log import logformatter_adapter
from scrapy.utils.python import global_object_name
from twisted.python.failure import Failure

from crawlproject.download.receivers import Receivers, log_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator
    from typing import TypeAlias

    from scrapy.core.scraper import Scraper
    from scrapy.http import Response

    from crawlproject.engine import RequestsUnderWay

    #: Tells receivers what became of an item; returns what has to be awaited.
    End: TypeAlias = Callable[[], Coroutine[Any, Any, None] | None]

logger = logging.getLogger("scrapy.core.scraper")

_SIGNALS = (signals.item_scraped, signals.item_dropped, signals.item_error)


class Items:
    """Sends items through the pipelines."""

    def __init__(self, scraper: Scraper, under_way: RequestsUnderWay) -> None:
        self._scraper = scraper
        self._crawler = scraper.crawler
        self._under_way = under_way
        self._receivers = {signal: Receivers(scraper.crawler, signal) for signal in _SIGNALS}
        pipelines = scraper.itemproc
        self._pipelines: list[Callable[[Any], Any]] | None = None
        if type(pipelines) is ItemPipelineManager:
            self._pipelines = [
                _with_spider(method, pipelines._spider) if method in pipelines._mw_methods_requiring_spider else method
                for method in pipelines.methods["process_item"]
                if method is not None
            ]

    def start(self, item: Any, response: Response | Failure, ends: list[End]) -> Coroutine[Any, Any, None] | None:
        """Process ``item`` as far as nothing has to be awaited; the rest of its way, None if it has passed the
        pipelines.  Then what is left is added to ``ends``: Scrapy tells receivers when its callback's other outputs
        have been processed, too."""
        if self._pipelines is None:  # an ITEM_PROCESSOR of the project
            return self._scraper.start_itemproc_async(item, response=response)
        self._under_way.item_begins()
        output, methods = item, iter(self._pipelines)
        try:
            try:
                for method in methods:
                    output = method(output)
                    if isawaitable(output):
                        return self._process(item, response, method, output, methods)
            except Exception as error:  # noqa: BLE001 - any pipeline
                told = self._failed(item, response, error)
            else:
                told = self._scraped(output, response)
        except BaseException:  # of a formatter of the log
            self._under_way.item_ends()
            raise
        ends.append(partial(self._end, *told))
        return None

    def _end(self, signal: object, values: dict[str, Any]) -> Coroutine[Any, Any, None] | None:
        """Tell the receivers; what has to be awaited."""
        if (rest := self._receivers[signal].start(**values)) is not None:
            return self._await(rest)
        self._under_way.item_ends()
        return None

    async def _await(self, rest: Coroutine[Any, Any, object]) -> None:
        try:
            await rest
        finally:
            self._under_way.item_ends()

    async def _process(
        self,
        item: Any,
        response: Any,
        method: Callable[[Any], Any],
        output: Awaitable[Any],
        methods: Iterator[Callable[[Any], Any]],
    ) -> None:
        """``method`` has returned ``output``, which must be awaited; ``methods``: those after it."""
        try:
            try:
                result = await ensure_awaitable(output, _warn=global_object_name(method))
                for each in methods:
                    result = await ensure_awaitable(each(result), _warn=global_object_name(each))
            except Exception as error:  # noqa: BLE001 - any pipeline
                signal, values = self._failed(item, response, error)
            else:
                signal, values = self._scraped(result, response)
            if (rest := self._receivers[signal].start(**values)) is not None:
                await rest
        finally:
            self._under_way.item_ends()

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


def _with_spider(method: Callable[[Any, Any], Any], spider: object) -> Callable[[Any], Any]:
    def process_item(item: Any) -> Any:
        return method(item, spider)

    return process_item
