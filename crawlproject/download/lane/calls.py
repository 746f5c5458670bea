"""How the lane calls the methods of middlewares and pipelines.

One of Scrapy's own has a quicker equivalent here: it writes the referrer of each link of a page again, 20 us each.
``tests/download/lane/test_calls.py`` compares it with the original.
"""

from __future__ import annotations

from functools import lru_cache, partial
from types import MethodType, coroutine
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import _InvalidOutput
from scrapy.spidermiddlewares.referer import DefaultReferrerPolicy, NoReferrerWhenDowngradePolicy, RefererMiddleware
from scrapy.utils.decorators import _warn_spider_arg
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.python import global_object_name

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from scrapy.http import Request, Response
    from scrapy.middleware import MiddlewareManager
    from scrapy.spidermiddlewares.referer import ReferrerPolicy

#: The encoding of headers in which a referrer is kept ready.
_ENCODING = "utf-8"
_SCHEMES = frozenset(("http", "https"))
#: Policies that look at no more of a request than its scheme.
_BY_SCHEME = frozenset((DefaultReferrerPolicy, NoReferrerWhenDowngradePolicy))


def calls_of(manager: MiddlewareManager, name: str) -> list[Callable[..., Any]]:
    """The methods ``name`` of the middlewares of ``manager``, in its order, without Scrapy's checks of each call."""
    return [call_of(manager, method) for method in manager.methods[name] if method is not None]


def call_of(manager: MiddlewareManager, method: Callable[..., Any]) -> Callable[..., Any]:
    """``method`` of a middleware; it gets the spider if it still requires that."""
    if method in manager._mw_methods_requiring_spider:
        return partial(method, spider=manager._spider)
    return _unchecked(method)


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


def quick_process(middleware: Any) -> Callable[[Request, Response], Request | None] | None:
    """A faster equivalent of ``get_processed_request`` of a known spider middleware; None if there is none.

    All requests of a page get the same referrer, unless its policy looks at more of them than their scheme.
    """
    if type(middleware) is not RefererMiddleware:
        return None

    @lru_cache(maxsize=16)
    def referrer(policy: type[ReferrerPolicy], url: str, scheme: str) -> bytes | None:
        found = policy().referrer(url, f"{scheme}://a.example/")
        return None if found is None else found.encode(_ENCODING)

    def process(request: Request, response: Response) -> Request | None:
        scheme, policy = request.url.partition(":")[0], middleware.default_policy
        if (
            scheme not in _SCHEMES
            or policy not in _BY_SCHEME
            or dict.__contains__(response.headers, b"Referrer-Policy")
            or request.meta.get("referrer_policy") is not None
            or request.headers.encoding != _ENCODING
        ):
            return middleware.get_processed_request(request, response)
        found = referrer(policy, response.url, scheme)
        if found is not None:
            dict.setdefault(request.headers, b"Referer", [found])
        return request

    return process
