"""The middlewares between Scrapy's downloader, the spider and the frontier."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from aiohttp import ServerDisconnectedError
from scrapy import Request
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    NotConfigured,
    ResponseDataLossError,
)

from crawlproject.discovery.links import STEP
from crawlproject.download.handler import LAST_OF_SESSION, TIMING
from crawlproject.download.timing import CLOCK
from crawlproject.engine import engine_of
from crawlproject.frontier import Measurement, retry_after_seconds
from crawlproject.links import SKIP_LINKS, Links
from crawlproject.middlewares.page_types import BY_TYPE
from crawlproject.options.frontier import FrontierOptions
from crawlproject.options.network import NetworkOptions
from crawlproject.requests.codec import ORIGIN
from crawlproject.requests.entries import UNSENT
from crawlproject.requests.failure_words import in_words
from crawlproject.scheduler import FrontierScheduler
from crawlproject.urls import server_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlproject.download.timing import Timing

logger = logging.getLogger(__name__)

#: Stat labels of failures: exception -> (label, whether the server could not be reached or did not answer).
FAILURES: dict[type[Exception], tuple[str, bool]] = {
    DownloadTimeoutError: ("timeout", True),
    DownloadConnectionRefusedError: ("refused", True),
    CannotResolveHostError: ("dns", True),
    DownloadFailedError: ("broken_response", True),
    ResponseDataLossError: ("truncated_body", False),
    DownloadCancelledError: ("too_large", False),
}


def frontier_scheduler(crawler: Crawler) -> FrontierScheduler | None:
    """The scheduler in use, if it is ours."""
    scheduler = getattr(engine_of(crawler), "scheduler", None)
    # not isinstance: by BaseScheduler's metaclass every scheduler is an instance of every other
    return cast("FrontierScheduler", scheduler) if FrontierScheduler in type(scheduler).__mro__ else None


class CrawlerMiddleware:
    """Keeps the crawler; the scheduler is there only once the spider has been opened."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Built by Scrapy."""
        return cls(crawler)


class PolitenessMiddleware(CrawlerMiddleware):
    """Sends a request back whose server was contacted since it was handed out (downloader, after RobotsMiddleware).

    That is what fetching robots.txt does: then the page has to wait for its turn, and it does so in the
    frontier, not in a place of the downloader.
    """

    def process_request(self, request: Request) -> Request | None:
        """None: go on. The request itself: back to the frontier."""
        scheduler = frontier_scheduler(self._crawler)
        if scheduler is None or scheduler.may_start(request):
            return None
        request.meta[UNSENT] = True
        return request


class ServerTimingMiddleware(CrawlerMiddleware):
    """Puts what was measured into ``response.meta`` and into the server's estimates (downloader, innermost).

    Keys of ``meta``: ``dns_time``, ``connect_time``, ``tls_time``, ``response_time`` (seconds, None where not
    measured, as on a reused connection), ``connection_reused``, ``connection_requests``.
    Stats: ``frontier/failures/<kind>``.  Setting: ``SERVER_TIMING_ENABLED``.
    """

    def __init__(self, crawler: Crawler) -> None:
        if not NetworkOptions.of(crawler).measures_servers:
            raise NotConfigured
        super().__init__(crawler)

    def process_request(self, request: Request) -> None:
        """Forget what was measured for the request that this one was copied from."""
        request.meta.pop(TIMING, None)

    def process_response(self, request: Request, response: Response) -> Response:
        """Record an answer; those that middlewares gave (a cache) were not measured."""
        timing: Timing | None = request.meta.pop(TIMING, None)
        if timing is not None:
            _write_meta(request.meta, timing)
            if "dataloss" in response.flags:
                self._count_failure("truncated_body")
            self._record(_measure(request, timing, response))
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Record a failure."""
        timing: Timing | None = request.meta.pop(TIMING, None)
        if timing is None:
            return
        _write_meta(request.meta, timing)
        label, failed = _failure(exception)
        if timing.reused and isinstance(exception.__cause__, ServerDisconnectedError):
            failed = False  # the server closed its idle connection at that very moment: nothing is wrong with it
        self._count_failure(label)
        words = in_words(exception)
        if request.meta.get(BY_TYPE) and not request.meta.get("depth"):  # a link; of robots.txt says RobotsMiddleware
            logger.info("Seed not fetched yet: %s: %s", request, words)
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
            )
        )

    def _count_failure(self, label: str) -> None:
        assert self._crawler.stats is not None
        self._crawler.stats.inc_value(f"frontier/failures/{label}")

    def _record(self, measurement: Measurement) -> None:
        scheduler = frontier_scheduler(self._crawler)
        if scheduler is not None:
            scheduler.record(measurement)


def _failure(exception: Exception) -> tuple[str, bool]:
    for kind, failure in FAILURES.items():
        if isinstance(exception, kind):
            return failure
    return "other", False


def _write_meta(meta: dict[str, Any], timing: Timing) -> None:
    meta["dns_time"] = timing.dns_time
    meta["connect_time"] = timing.connect_time
    meta["tls_time"] = timing.tls_time
    meta["response_time"] = timing.response_time
    meta["connection_reused"] = timing.reused
    meta["connection_requests"] = timing.connection_requests


def _measure(request: Request, timing: Timing, response: Response) -> Measurement:
    """What an answer told of its server."""
    headers = response.headers
    words = (headers.get(b"Connection") or b"").lower()
    keep_alive = _keep_alive(headers.get(b"Keep-Alive") or b"")
    old = response.protocol == "HTTP/1.0"
    closes = b"close" in words or (old and b"keep-alive" not in words)
    asked = bool(request.meta.get(LAST_OF_SESSION))
    retry_after = headers.get(b"Retry-After")
    setup = timing.connect_time
    return Measurement(
        server_key=server_key(request.url),
        now=CLOCK(),
        status=response.status,
        connect_time=setup + (timing.tls_time or 0.0) if setup is not None else None,
        response_time=timing.response_time,
        fetch_time=timing.fetch_time,
        connection_requests=timing.connection_requests,
        server_closed=closes and not asked,
        requests_left=keep_alive.get("max"),
        keep_alive_time=keep_alive.get("timeout"),
        persistent=not (closes and not asked and timing.connection_requests == 1),
        retry_after=retry_after_seconds(retry_after.decode("latin-1"), time.time()) if retry_after else None,
    )


def _keep_alive(value: bytes) -> dict[str, int]:
    """The numbers of a ``Keep-Alive`` header: timeout (seconds), max (further requests)."""
    numbers = {}
    for part in value.split(b","):
        name, _, number = part.strip().partition(b"=")
        if number.isdigit() and len(number) < 10:
            numbers[name.decode("latin-1").lower()] = int(number)
    return numbers


class OriginMiddleware(CrawlerMiddleware):
    """Notes in each request what page it comes from (spider middleware, last of all): see ``unstored``."""

    def __init__(self, crawler: Crawler) -> None:
        if FrontierOptions.of(crawler).backend != "disk":
            raise NotConfigured
        super().__init__(crawler)

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterator[Any]:
        """Pass on everything."""
        for output in result:
            yield _mark_origin(output, response)

    async def process_spider_output_async(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on everything."""
        async for output in result:
            yield _mark_origin(output, response)


def _mark_origin(output: Any, response: Response) -> Any:
    if isinstance(output, Request) and response.request is not None and ORIGIN in response.meta:
        output.meta[ORIGIN] = response.meta[ORIGIN]
    return output


class LinksMiddleware(CrawlerMiddleware):
    """Hands the ``Links`` that callbacks yield to the frontier (spider middleware, next to the spider).

    Those of a copy whose links are not followed are dropped.  Stat: ``duplicates/links_dropped``.
    """

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on all but ``Links``: a spider's seeds."""
        async for output in start:
            if isinstance(output, Links):
                await self._push(output)
            else:
                yield output

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on all but ``Links``."""
        async for output in result:
            if isinstance(output, Links):
                await self._push(output)
            else:
                yield output

    async def _push(self, links: Links) -> None:
        """Queue ``links``; where they are many, the event loop has its turn in between."""
        scheduler = frontier_scheduler(self._crawler)
        if scheduler is None:
            raise TypeError("Links need FrontierScheduler: ADDONS = {'crawlproject.addon.FrontierAddon': 300}")
        if links.response is not None and links.response.meta.get(SKIP_LINKS):
            assert self._crawler.stats is not None
            if links.hrefs:
                self._crawler.stats.inc_value("duplicates/links_dropped", len(links.hrefs))
            links = replace(links, hrefs=())
        for step, _ in enumerate(scheduler.push_links(links)):
            if step or len(links.hrefs) > STEP:
                await asyncio.sleep(0)
