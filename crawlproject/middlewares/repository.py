"""Connects the repository to the crawl: stores each response before any other component processes it."""

from __future__ import annotations

import logging
import re
import socket
import time
from http.client import responses
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy import signals
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import call_later, is_asyncio_available

import crawlproject
from crawlproject.clock import CLOCK
from crawlproject.download.compressed_parts import content_of, is_cut
from crawlproject.download.off_loop import LARGE, ON_LOOP, off_loop
from crawlproject.download.request_head import destination
from crawlproject.download.timing import Timing
from crawlproject.engine import end_crawl
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.options.records import RepositorySettings
from crawlproject.options.start_errors import starting
from crawlproject.repository import Capture, PageRow, Repository, RepositoryError, RepositoryOptions
from crawlproject.requests.meta import KEEP, QUALITY, RECORD, SENT_AT, TIMING
from crawlproject.signals import page_rendered
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.utils.asyncio import CallLaterResult

    from crawlproject.download.timing import Exchange

logger = logging.getLogger(__name__)

#: Seconds between two commits of the index. After a crash, missing entries are restored from the WARC file.
COMMIT_INTERVAL = 1.0

#: Flag of a Scrapy response with an incomplete body -> WARC-Truncated.
TRUNCATED = {"dataloss": "disconnect", "download_stopped": "unspecified"}

#: Depths and qualities from this limit on are stored as unknown.
MAX_NUMBER = 2**31

_breaks = re.compile(rb"[\r\n]+").sub


class RepositoryMiddleware(CrawlerMiddleware):
    """Writes every response from the network, robots.txt and redirects included (downloader, innermost).

    A response is passed on, and its URL can leave the frontier, only after its records were written to the operating
    system.  If they cannot be written, the crawl ends with ``repository_failed``; the pages in progress are not parsed
    and stay in the frontier for the next run.
    Setting: ``FRONTIER_REPOSITORY_DIR`` and others.  Stats: ``repository/...``.
    """

    @starting(RepositoryError)
    def __init__(self, crawler: Crawler) -> None:
        """Open the repository. Raises RepositoryError if it cannot be written, ValueError for an invalid setting."""
        super().__init__(crawler)
        options = repository_options(crawler)
        if options is None:
            raise NotConfigured
        if not is_asyncio_available():
            raise NotConfigured("FRONTIER_REPOSITORY_DIR: the repository needs Scrapy's asyncio support")
        self._repository = Repository(options, self._stats.inc_value)
        self._has_failed = False
        self._timer: CallLaterResult | None = None
        try:
            self._repository.open()
        except RepositoryError as error:
            reason = str(error).removeprefix(f"{options.directory}: ")
            raise RepositoryError(RepositorySettings.of(crawler).place, reason) from error
        crawler.signals.connect(self._rendered, page_rendered)
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    def process_request(self, request: Request) -> None:
        request.meta.pop(RECORD, None)  # of the request that this one was copied from
        request.meta[SENT_AT] = time.time()

    def process_exception(self, request: Request, exception: Exception) -> None:
        request.meta.pop(SENT_AT, None)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Write the response, unless it came from a cache or another middleware."""
        sent = request.meta.pop(SENT_AT, None)
        if sent is None or not request.url.startswith(("http:", "https:")):
            return response
        try:
            truncated = await _truncated(response)
            request.meta[RECORD] = await self._repository.keep(_capture(request, response, sent, truncated))
        except OSError as error:
            self._failed(error)
            if request.callback is not NO_CALLBACK:  # not robots.txt or media, which are in no queue
                request.meta[KEEP] = True
                raise IgnoreRequest(f"the record cannot be written: {error}") from error
        return response

    async def _rendered(self, request: Request, response: Response, html: bytes) -> None:
        record = request.meta.get(RECORD)
        if record is None:  # it came from a cache
            return
        try:
            await self._repository.keep_conversion(response.url, record, html)
        except OSError as error:
            self._failed(error)
            request.meta[KEEP] = True

    def _failed(self, error: OSError) -> None:
        self._stats.inc_value("repository/failures")
        if not self._has_failed and end_crawl(self._crawler, "repository_failed"):
            self._has_failed = True
            logger.critical("The repository cannot be written, the crawl ends: %s", error)

    def _opened(self) -> None:
        self._timer = call_later(COMMIT_INTERVAL, self._tick)

    def _tick(self) -> None:
        self._repository.commit()
        self._opened()

    def _closed(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        try:
            self._repository.close()
        except OSError as error:
            self._stats.inc_value("repository/failures")
            logger.error("The last file of the repository could not be finished; the next crawl will do it: %s", error)


def repository_options(crawler: Crawler) -> RepositoryOptions | None:
    """The options of the repository; None without ``FRONTIER_REPOSITORY_DIR``."""
    chosen = RepositorySettings.of(crawler)
    if chosen.directory is None:
        return None
    name = crawler.spider.name if crawler.spider else ""
    own = f"crawlproject/{crawlproject.__version__}"
    return RepositoryOptions(
        directory=chosen.directory,
        file_size=chosen.file_size,
        prefix=re.sub(r"[^A-Za-z0-9_]+", "_", name) or "crawl",
        info={
            "software": f"{own} Scrapy/{scrapy.__version__} FastWARC/{version('fastwarc')}",
            "format": "WARC File Format 1.1",
            "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
            "operator": chosen.operator,
            "robots": "classic" if crawler.settings.getbool("ROBOTSTXT_OBEY") else "ignore",
            "http-header-user-agent": crawler.settings["USER_AGENT"],
            "hostname": socket.gethostname(),
            "isPartOf": name,
        },
    )


async def _truncated(response: Response) -> str | None:
    """Why the body is incomplete, in the words of WARC-Truncated; a compressed one also if its data ends too early."""
    reason = next((TRUNCATED[flag] for flag in response.flags if flag in TRUNCATED), None)
    body, encodings = response.body, response.headers.getlist(b"Content-Encoding")
    if reason is not None or not encodings:
        return reason
    last = encodings[-1].rpartition(b",")[2].strip().lower().decode("latin-1")
    if len(body) <= LARGE and content_of(body, last, ON_LOOP) is not None:
        return None
    return "unspecified" if await off_loop(is_cut, body, last) else None


def _capture(request: Request, response: Response, sent: float, truncated: str | None) -> Capture:
    timing: Timing | None = request.meta.get(TIMING)
    exchange = timing.exchange if timing is not None else None
    if timing is not None and timing.started:
        sent = time.time() - (CLOCK() - timing.started)
    protocol = (response.protocol or "HTTP/1.1").lower()
    request_head, response_head = _heads(request, response, exchange)
    headers, meta = response.headers, request.meta
    quality, depth = meta.get(QUALITY), meta.get("depth", 0)
    known = timing or Timing(fetch_time=meta.get("download_latency", 0.0))
    page = PageRow(
        url=response.url,
        fetched_at=round(sent, 6),
        record_type="response",
        status=response.status,
        content_type=_text(headers.get(b"Content-Type")),
        last_modified=_text(headers.get(b"Last-Modified")),
        ip_address=str(response.ip_address) if response.ip_address is not None else None,
        truncated=truncated,
        server=server_key(request.url),
        depth=depth if isinstance(depth, int) and 0 <= depth < MAX_NUMBER else None,
        quality=float(quality) if isinstance(quality, int | float) and 0 <= quality < MAX_NUMBER else None,
        dns_time=_rounded(known.dns_time),
        connect_time=_rounded(known.connect_time),
        tls_time=_rounded(known.tls_time),
        response_time=_rounded(known.response_time),
        fetch_time=_rounded(known.fetch_time),
    )
    protocols = (protocol, *(exchange.tls_protocols if exchange is not None else ()))
    via = _text(request.headers.get(b"Referer"))
    return Capture(page, request_head, request.body, response_head, response.body, protocols, via)


def _heads(request: Request, response: Response, exchange: Exchange | None) -> tuple[bytes, bytes]:
    """First lines and headers of request and response: as sent and received if our download handler recorded them,
    else as in Scrapy's objects.

    HTTP/2 is written as HTTP/1.1; WARC-Protocol names the real protocol.
    """
    version = response.protocol if (response.protocol or "").startswith("HTTP/") else "HTTP/1.1"
    asked: Iterable[tuple[bytes, bytes]]
    if exchange is not None:
        target, reason, asked = exchange.target, exchange.reason or "", exchange.asked()
        answered: Iterable[tuple[bytes, bytes]] = exchange.answered
    else:
        to, reason = destination(request.url), responses.get(response.status, "")
        target, asked = to.target, ((b"Host", to.authority.encode()), *_pairs(request.headers))
        answered = _pairs(response.headers)
    sent = [name + b": " + value for name, value in asked if name.lower() != b"proxy-authorization"]
    # the body is stored decoded, so a reader must not decode it again
    renamed = {b"transfer-encoding": b"X-Archive-Orig-Transfer-Encoding"}
    came = [renamed.get(name.lower(), name) + b": " + value for name, value in answered]
    return _head(f"{request.method} {target} HTTP/1.1", sent), _head(f"{version} {response.status} {reason}", came)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)


def _head(first: str, headers: Iterable[bytes]) -> bytes:
    lines = [first.encode("latin-1", "replace"), *headers]
    if any(b"\n" in line or b"\r" in line for line in lines):
        lines = [_breaks(b" ", line) for line in lines]
    return b"\r\n".join((*lines, b"\r\n"))


def _pairs(headers: Any) -> Iterable[tuple[bytes, bytes]]:
    return ((name, value) for name, values in headers.items() for value in values)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")
