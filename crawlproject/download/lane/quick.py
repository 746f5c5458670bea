"""Methods of Scrapy's own middlewares with the same results in a fraction of their time.

They build a message only to measure it, and write the same headers in the same spelling again for each request.
Quicker ones of other middlewares would save 0.1 to 0.3 us.
``tests/download/lane/test_quick.py`` compares them with the originals.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.defaultheaders import DefaultHeadersMiddleware
from scrapy.downloadermiddlewares.httpcompression import ACCEPTED_ENCODINGS, HttpCompressionMiddleware
from scrapy.downloadermiddlewares.stats import DownloaderStats, get_status_size
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware
from scrapy.http import Headers
from scrapy.spidermiddlewares.referer import (
    DefaultReferrerPolicy,
    NoReferrerWhenDowngradePolicy,
    RefererMiddleware,
    ReferrerPolicy,
)
from scrapy.utils.request import request_httprepr

from crawlproject.download.request_head import plain_destination

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Request, Response

#: The encoding of headers in which defaults are kept ready.
_ENCODING = "utf-8"

_status_size = lru_cache(maxsize=64)(get_status_size)


def quick(method: Any) -> Callable[..., Any] | None:
    """A faster equivalent of ``method`` of a middleware; None if there is none.

    Of exactly one of the classes in ``_QUICK``, or of one that inherits a method in ``_INHERITED``.
    """
    middleware = method.__self__
    made = _QUICK.get((type(middleware), method.__name__)) or _INHERITED.get(getattr(method, "__func__", None))
    return None if made is None else made(middleware)


def size_of_request(request: Request) -> int:
    """``len(request_httprepr(request))``. O(length)."""
    to = plain_destination(request.url)
    if to is None or ";" in to.target or to.target.startswith("//"):
        return len(request_httprepr(request))
    size = len(request.method) + len(to.target) + len(to.host) + len("  HTTP/1.1\r\nHost: \r\n\r\n")
    size += len(request.body)
    return size + sum(len(name) + len(value) + 4 for name, values in dict.items(request.headers) for value in values)


def size_of_response(response: Response) -> int:
    """Size of ``response`` as Scrapy counts it. O(headers)."""
    headers = response.headers
    size = sum(len(name) + len(value) + 2 for name, values in dict.items(headers) for value in values)
    return len(response.body) + size + 2 * (len(headers) - 1) + _status_size(response.status) + 4


def _counts_requests(middleware: DownloaderStats) -> Callable[..., None]:
    def process_request(*, request: Request) -> None:
        count = middleware.stats.inc_value
        count("downloader/request_count")
        count(f"downloader/request_method_count/{request.method}")
        count("downloader/request_bytes", size_of_request(request))

    return process_request


def _counts_responses(middleware: DownloaderStats) -> Callable[..., Response]:
    def process_response(*, request: Request, response: Response) -> Response:  # noqa: ARG001 - as Scrapy calls it
        count = middleware.stats.inc_value
        count("downloader/response_count")
        count(f"downloader/response_status_count/{response.status}")
        count("downloader/response_bytes", size_of_response(response))
        return response

    return process_response


def _sets_headers(middleware: DefaultHeadersMiddleware) -> Callable[..., None]:
    headers = Headers(encoding=_ENCODING)
    for name, value in middleware._headers:
        headers.setdefault(name, value)  # of two spellings of a name the first one counts
    ready = list(dict.items(headers))

    def process_request(*, request: Request) -> None:
        headers = request.headers
        if headers.encoding != _ENCODING:
            middleware.process_request(request)
            return
        for name, values in ready:
            dict.setdefault(headers, name, values.copy())

    return process_request


def _accepts_encodings(middleware: Any) -> Callable[..., None]:
    accepted = b", ".join(ACCEPTED_ENCODINGS)

    def process_request(*, request: Request) -> None:
        headers = request.headers
        if headers.encoding == _ENCODING:
            dict.setdefault(headers, b"Accept-Encoding", [accepted])
        else:
            middleware.process_request(request)

    return process_request


def _sets_agent(middleware: UserAgentMiddleware) -> Callable[..., None]:
    def process_request(*, request: Request) -> None:
        headers, agent = request.headers, middleware.user_agent
        if dict.__contains__(headers, b"User-Agent") or not agent:
            return
        if headers.encoding == _ENCODING and isinstance(agent, str):
            dict.__setitem__(headers, b"User-Agent", [agent.encode(_ENCODING)])
        else:
            headers[b"User-Agent"] = agent

    return process_request


def quick_process(middleware: Any) -> Callable[[Request, Response], Request | None] | None:
    """A faster equivalent of ``get_processed_request`` of a known spider middleware; None if there is none."""
    return _refers(middleware) if type(middleware) is RefererMiddleware else None


def _refers(middleware: RefererMiddleware) -> Callable[[Request, Response], Request | None]:
    """All requests of a page get the same referrer, unless its policy looks at more of them than their scheme."""

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


_SCHEMES = frozenset(("http", "https"))
_BY_SCHEME = frozenset((DefaultReferrerPolicy, NoReferrerWhenDowngradePolicy))

_QUICK: dict[tuple[type, str], Callable[[Any], Callable[..., Any]]] = {
    (DownloaderStats, "process_request"): _counts_requests,
    (DownloaderStats, "process_response"): _counts_responses,
    (DefaultHeadersMiddleware, "process_request"): _sets_headers,
    (UserAgentMiddleware, "process_request"): _sets_agent,
}
_INHERITED: dict[Any, Callable[[Any], Callable[..., Any]]] = {
    HttpCompressionMiddleware.process_request: _accepts_encodings,
}
