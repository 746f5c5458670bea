"""Measures requests: their times, for spiders and the server's estimates; their sizes, for Scrapy's stats."""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.stats import DownloaderStats, get_status_size
from scrapy.utils.request import request_httprepr

from crawlproject.clock import CLOCK
from crawlproject.crawl_frontier import frontier_of
from crawlproject.frontier.measurement import Measurement
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.requests.answers import header, retry_after
from crawlproject.requests.failures import failure_kind, in_words, is_disconnection, is_of_proxy, name_failure
from crawlproject.requests.meta import BY_TYPE, LAST_OF_SESSION, TIMING, UNSENT
from crawlproject.urls.fates import Reason
from crawlproject.urls.server_key import host_of, server_key

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Response

    from crawlproject.download.timing import Timing

logger = logging.getLogger(__name__)

#: URLs whose host and path stand in the request as they are here; an empty query, which does not, is left out below.
_PLAIN = re.compile(r"https?://([^/?#@:;\[\]\x00-\x20]+)(?::[0-9]*)?(/(?!/)[^;#\x00-\x20]*)?", re.ASCII)
_SEPARATOR, _LINE_END = len(": "), len("\r\n")
#: What a request has besides method, path, host, headers and body.
_REQUEST_FRAME = len("  HTTP/1.1\r\nHost: \r\n\r\n")

_status_size = lru_cache(maxsize=1000)(get_status_size)


class ServerTimingMiddleware(CrawlerMiddleware):
    """Writes measurements into ``response.meta`` and the server's estimates (downloader, innermost).

    Keys of ``meta``: ``dns_time``, ``connect_time``, ``tls_time``, ``response_time`` (seconds; None if not measured,
    for example on a reused connection), ``connection_reused``, ``connection_requests``.
    Stats: ``frontier/failures/<kind>``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._proxies: set[str] = set()  # used so far: at most two, more need not be known

    def process_request(self, request: Request) -> None:
        """Remove the measurement of the request that this one was copied from."""
        request.meta.pop(TIMING, None)
        if "proxy" in request.meta and len(self._proxies) < 2:
            self._proxies.add(request.meta["proxy"])

    def process_response(self, request: Request, response: Response) -> Response:
        """Record a response; one from a middleware (such as a cache) was not measured."""
        timing: Timing | None = request.meta.pop(TIMING, None)
        if timing is not None:
            _write_meta(request.meta, timing)
            if "dataloss" in response.flags:
                self._stats.inc_value(f"frontier/failures/{Reason.TRUNCATED}")
                request.meta["dont_cache"] = True  # a cache would ask whether the page has changed
            self._record(_measure(request, timing, response))
        return response

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        """Record a failure, or return the request to the frontier: see ``_is_repeated``."""
        timing: Timing | None = request.meta.pop(TIMING, None)
        if timing is None:
            return None
        _write_meta(request.meta, timing)
        label, failed = failure_kind(exception)
        is_repeated = timing.reused and self._is_repeated(request, exception.__cause__)
        if is_repeated or (timing.reused and is_disconnection(exception.__cause__)):
            failed = False  # the server closed an idle connection as we used it: not a fault
        # while all requests take one proxy, servers rest after its failures: no URL can be fetched without it
        if len(self._proxies) > 1 and request.meta.get("proxy") and is_of_proxy(exception):
            label, failed = Reason.PROXY, False
        if not is_repeated:
            self._stats.inc_value(f"frontier/failures/{label}")
        words = in_words(exception)
        if is_repeated:
            request.meta[UNSENT] = True
        elif request.meta.get(BY_TYPE) and not request.meta.get("depth"):  # a link; RobotsMiddleware logs robots.txt
            logger.info("Seed failed, may be retried: %s: %s", request, words)
        self._record(
            Measurement(
                server_key=server_key(request.url),
                now=CLOCK(),
                failed=failed,
                connect_time=timing.connect_time,
                response_time=timing.response_time,
                fetch_time=timing.fetch_time,
                connection_requests=max(1, timing.connection_requests),
                server_closed=False,
                error=words,
                url=request.url,
            )
        )
        error, key, frontier = name_failure(exception), server_key(request.url), frontier_of(self._crawler)
        if error is not None and error.is_final and error.name == host_of(key) and frontier is not None:
            frontier.name_missing(key, error.in_words)  # of another name, the proxy's is missing
        return request if is_repeated else None

    def _is_repeated(self, request: Request, cause: BaseException | None) -> bool:
        """Whether ``request``, sent on a reused connection that ended before an answer came, is sent again.

        RFC 9112, section 9.3.1, allows that if its method is idempotent.  The frontier hands it out again after the
        server's polite wait, then on a new connection: if that ends as well, it is a failure.
        """
        frontier = frontier_of(self._crawler)
        is_lost = is_disconnection(cause) or isinstance(cause, ConnectionError)
        return is_lost and request.method in ("GET", "HEAD") and frontier is not None and frontier.handed_out(request)

    def _record(self, measurement: Measurement) -> None:
        frontier = frontier_of(self._crawler)
        if frontier is not None:
            frontier.record(measurement)


def _write_meta(meta: dict[str, Any], timing: Timing) -> None:
    for name in ("dns_time", "connect_time", "tls_time", "response_time", "connection_requests"):
        meta[name] = getattr(timing, name)
    meta["connection_reused"] = timing.reused


def _measure(request: Request, timing: Timing, response: Response) -> Measurement:
    headers = response.headers
    words = (header(headers, b"Connection") or b"").lower()
    keep_alive = _keep_alive(header(headers, b"Keep-Alive") or b"")
    old = response.protocol == "HTTP/1.0"
    closes = b"close" in words or (old and b"keep-alive" not in words)
    asked = bool(request.meta.get(LAST_OF_SESSION))
    setup = timing.connect_time
    return Measurement(
        server_key=server_key(request.url),
        now=CLOCK(),
        status=response.status,
        connect_time=setup + (timing.tls_time or 0.0) if setup is not None else None,
        response_time=timing.response_time,
        fetch_time=timing.fetch_time,
        size=len(response.body),
        connection_requests=timing.connection_requests,
        server_closed=closes and not asked,
        requests_left=keep_alive.get("max"),
        keep_alive_time=keep_alive.get("timeout"),
        persistent=not (closes and not asked and timing.connection_requests == 1),
        retry_after=retry_after(headers),
        url=request.url,
    )


def _keep_alive(value: bytes) -> dict[str, int]:
    """The numbers of a ``Keep-Alive`` header: timeout (seconds), max (further requests)."""
    numbers = {}
    for part in value.split(b","):
        name, _, number = part.strip().partition(b"=")
        if number.isdigit() and len(number) < 10:
            numbers[name.decode("latin-1").lower()] = int(number)
    return numbers


class QuickDownloaderStats(DownloaderStats):
    """The same stats as its base class for less CPU: 4% of that of a page."""

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        self.stats.inc_value("downloader/request_count")
        self.stats.inc_value(f"downloader/request_method_count/{request.method}")
        self.stats.inc_value("downloader/request_bytes", request_size(request))

    def process_response(self, request: Request, response: Response, spider: Spider | None = None) -> Response:
        self.stats.inc_value("downloader/response_count")
        self.stats.inc_value(f"downloader/response_status_count/{response.status}")
        headers = _size_of(response.headers) + _LINE_END * (len(response.headers) - 1)
        size = len(response.body) + headers + _status_size(response.status) + 2 * _LINE_END
        self.stats.inc_value("downloader/response_bytes", size)
        return response


def request_size(request: Request) -> int:
    """Length of ``scrapy.utils.request.request_httprepr`` of a request, bytes. O(URL + headers)."""
    url = request.url
    if (plain := _PLAIN.fullmatch(url)) is None or not url.isascii() or url.endswith("?"):
        return len(request_httprepr(request))
    host, path = plain.groups("/")
    values = sum(map(len, dict.values(request.headers)))
    headers = _size_of(request.headers) + _LINE_END * (values or bool(request.headers))
    return _REQUEST_FRAME + len(request.method.encode()) + len(host) + len(path) + headers + len(request.body)


def _size_of(headers: Headers) -> int:
    return sum((len(name) + _SEPARATOR) * len(values) + sum(map(len, values)) for name, values in dict.items(headers))
