"""The way of a callback's outputs through the spider middlewares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from scrapy.http import Request
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.spidermiddlewares.depth import DepthMiddleware
from scrapy.utils.asyncgen import as_async_generator
from scrapy.utils.python import MutableAsyncChain

from crawlproject.download.lane.calls import call_of, quick_process
from crawlproject.links import Links, TakesLinks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

    from scrapy.core.spidermw import SpiderMiddlewareManager
    from scrapy.http import Response

#: Place of the middleware after it, and (output, response) -> the output, changed or another one; None: it is dropped.
_Function: TypeAlias = "tuple[int, Callable[[Any, Any], Any]]"

_BASE = (BaseSpiderMiddleware.process_spider_output_async, BaseSpiderMiddleware._get_processed)

_DROPPED: list[_Function] = [(0, lambda _, __: None)]


@dataclass
class _Functions:
    """Neighbouring middlewares that look at one output at a time."""

    of_requests: list[_Function] = field(default_factory=list)
    of_items: list[_Function] = field(default_factory=list)
    at_start: list[Callable[[Response], None]] = field(default_factory=list)
    #: Whether the first of them is asked what becomes of None; if it is not, it drops None.
    sees_none: bool | None = None


class Outputs:
    """Calls ``process_spider_output`` and ``process_spider_exception`` as Scrapy's manager does.

    Scrapy chains three asynchronous generators for each middleware.  Most middlewares, all of Scrapy's among them, only
    say what becomes of one request or item (``BaseSpiderMiddleware``): of these only that method is called.
    """

    def __init__(self, manager: SpiderMiddlewareManager) -> None:
        self._manager = manager
        self._push: tuple[int, Callable[[Links], Awaitable[None]]] | None = None
        self._first = _Functions()
        self._stages: list[_Functions | tuple[int, Callable[..., AsyncIterator[Any]]]] = [self._first]
        for place, method in enumerate(manager.methods["process_spider_output"], 1):
            if method is not None:
                self._add(place, method)

    def _add(self, place: int, method: Any) -> None:
        middleware = getattr(method, "__self__", None)
        if isinstance(middleware, TakesLinks) and len(self._stages) == 1 and not self._first.of_items:
            self._push = place, middleware.push
        elif _looks_at_one(middleware, method):
            if not isinstance(stage := self._stages[-1], _Functions):
                self._stages.append(stage := _Functions())
            if (function := quick_process(middleware) or _own(middleware, "get_processed_request")) is not None:
                stage.of_requests.append((place, function))
            if (function := _own(middleware, "get_processed_item")) is not None:
                stage.of_items.append((place, function))
            if stage.sees_none is None:
                stage.sees_none = function is not None
            if isinstance(middleware, DepthMiddleware):
                stage.at_start.append(middleware._init_depth)
        else:
            self._stages.append((place, call_of(self._manager, method)))

    def of(self, result: Iterable[Any] | AsyncIterator[Any], response: Response) -> AsyncIterator[Any]:
        """What the middlewares leave of the outputs of a callback, or of an errback that they have called."""
        if len(self._stages) == 1:
            return self._applied(self._first, result, response, None)
        recovered: MutableAsyncChain[Any] = MutableAsyncChain()
        outputs = self._applied(self._first, result, response, recovered)
        for stage in self._stages[1:]:
            if isinstance(stage, _Functions):
                outputs = self._applied(stage, outputs, response, recovered)
            else:
                place, method = stage
                made = method(response=response, result=outputs)
                outputs = self._manager._evaluate_iterable(response, made, place, recovered)
        return MutableAsyncChain(outputs, recovered)

    def recovered(self, error: Exception, response: Response) -> AsyncIterator[Any]:
        """The outputs that a middleware gives instead of ``error`` of a callback. Raises ``error`` if none does."""
        return self._manager._process_spider_exception(response, error)

    async def _applied(
        self, functions: _Functions, outputs: Any, response: Response, recovered: MutableAsyncChain[Any] | None
    ) -> AsyncIterator[Any]:
        """``recovered``: where outputs go that a middleware gives instead of an error; None: here, as the last ones."""
        place = 0
        of_requests, of_items, push = functions.of_requests, functions.of_items, self._push
        try:
            for start in functions.at_start:
                start(response)
            async for output in outputs if hasattr(outputs, "__aiter__") else as_async_generator(outputs):
                if isinstance(output, Request):
                    applied = of_requests
                elif push is not None and isinstance(output, Links):
                    place, push_links = push
                    await push_links(output)
                    place = 0
                    continue
                else:
                    applied = of_items if output is not None or functions.sees_none else _DROPPED
                for place, function in applied:  # noqa: B007 - read when it raises
                    if (output := function(output, response)) is None:
                        break
                else:
                    yield output
                place = 0
        except Exception as error:
            if getattr(error, "_spidermw_unhandled", False):
                raise
            outputs = self._manager._process_spider_exception(response, error, place)
            if recovered is not None:
                recovered.extend(outputs)
                return
        else:
            return
        async for output in outputs:
            yield output


def _looks_at_one(middleware: object, method: Any) -> bool:
    """Whether a middleware has only said what becomes of one output."""
    if not isinstance(middleware, BaseSpiderMiddleware):
        return False
    kind = type(middleware)
    is_plain = kind.process_spider_output_async is _BASE[0] or kind is DepthMiddleware
    return is_plain and kind._get_processed is _BASE[1] and method.__name__ == "process_spider_output_async"


def _own(middleware: Any, name: str) -> Callable[[Any, Any], Any] | None:
    """The method ``name``; None if it is the one of the base class, which does nothing."""
    method: Any = getattr(middleware, name)
    return None if getattr(method, "__func__", None) is getattr(BaseSpiderMiddleware, name) else method
