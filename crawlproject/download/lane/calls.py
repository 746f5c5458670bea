"""How the lane calls the methods of middlewares and pipelines."""

from __future__ import annotations

from functools import partial
from types import MethodType, coroutine
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import _InvalidOutput
from scrapy.utils.decorators import _warn_spider_arg
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.python import global_object_name

from crawlproject.download.lane.quick import quick

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from scrapy.middleware import MiddlewareManager


def calls_of(manager: MiddlewareManager, name: str) -> list[Callable[..., Any]]:
    """The methods ``name`` of the middlewares of ``manager``, in its order, without Scrapy's checks of each call."""
    return [call_of(manager, method) for method in manager.methods[name] if method is not None]


def call_of(manager: MiddlewareManager, method: Callable[..., Any]) -> Callable[..., Any]:
    """``method`` of a middleware; it gets the spider if it still requires that."""
    if method in manager._mw_methods_requiring_spider:
        return partial(method, spider=manager._spider)
    return quick(method) or _unchecked(method)


async def awaited(result: Any, call: Callable[..., Any], kinds: tuple[type, ...], wanted: str) -> Any:
    """What ``result`` of ``call`` comes to. Raises TypeError if that is neither of ``kinds`` nor ``wanted``."""
    method = getattr(call, "func", call)
    result = await ensure_awaitable(result, _warn=global_object_name(method))
    if isinstance(result, kinds) or (result is None and "None" in wanted):
        return result
    raise _InvalidOutput(f"Middleware {method.__qualname__} must return {wanted}, got {type(result)}")


@_warn_spider_arg
def _checked(spider: object = None) -> None:
    """Stands for all functions that Scrapy wraps to warn of a deprecated argument."""


def _unchecked(method: Callable[..., Any]) -> Callable[..., Any]:
    """``method`` without the check for the argument ``spider``, which the lane never passes."""
    function = getattr(method, "__func__", None)
    if getattr(function, "__code__", None) is not _checked.__code__:
        return method
    return MethodType(function.__wrapped__, method.__self__)  # type: ignore[attr-defined,union-attr]


@coroutine
def with_pauses(steps: Coroutine[Any, Any, Any], paused: Callable[[], None]) -> Generator[Any, Any, Any]:
    """Await ``steps``; call ``paused`` whenever they wait for something."""
    try:
        waits_for = steps.send(None)
        while True:
            paused()
            try:
                value = yield waits_for
            except BaseException as error:  # noqa: BLE001 - theirs
                waits_for = steps.throw(error)
            else:
                waits_for = steps.send(value)
    except StopIteration as end:
        return end.value
