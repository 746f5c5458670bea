"""Conditional requests in a recrawl: an unchanged page is answered with 304 and not parsed again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured

from crawlproject.engine import answered_by, handled_statuses
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.requests.answers import UNCHANGED
from crawlproject.requests.meta import FETCHED_BEFORE, RECRAWL, SENT

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

CONDITIONS = {"etag": b"If-None-Match", "modified": b"If-Modified-Since"}


class RecrawlMiddleware(CrawlerMiddleware):
    """Makes requests conditional (downloader, inside HttpCacheMiddleware, so that cached pages are not requested).

    A 304 to such a request reaches no callback, unless the spider handles that status by ``handle_httpstatus_list`` or
    a similar setting of Scrapy.
    """

    def __init__(self, crawler: Crawler) -> None:
        if FrontierOptions.of(crawler).backend != "disk":  # no pages to refetch are stored
            raise NotConfigured
        super().__init__(crawler)

    def process_request(self, request: Request) -> None:
        """Add the validators of the page, unless the cache or the spider sets conditions itself."""
        request.meta.pop(FETCHED_BEFORE, None)  # left from the request that this one was copied from
        mark = request.meta.get(RECRAWL)
        if mark is None or "cached_response" in request.meta or any(name in request.headers for name in _NAMES):
            return
        for key, name in CONDITIONS.items():
            if mark[key]:
                request.headers[name] = mark[key]
                mark[SENT] = True

    def process_response(self, request: Request, response: Response) -> Response:
        """Remove the validators: a copy of the request, such as a redirect, is for another page."""
        was_sent = _clean(request)
        if response.status < 400:  # else it may be retried
            mark = request.meta.pop(RECRAWL, None)
            if mark is not None and response.status < 300:
                request.meta[FETCHED_BEFORE] = True
        if response.status == UNCHANGED and was_sent:
            request.meta["dont_cache"] = True  # some policies of HttpCacheMiddleware would cache it as the page
            response.headers.pop(b"Content-Encoding", None)  # some servers send it without a body to decode
            if not self._is_handled(request):
                answered_by(request, _unchanged)
                request.meta["handle_httpstatus_list"] = [UNCHANGED]
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        _clean(request)

    def _is_handled(self, request: Request) -> bool:
        """Whether HttpErrorMiddleware would pass a 304 to the callback."""
        settings = self._crawler.settings
        if request.meta.get("handle_httpstatus_all"):
            return True
        if "handle_httpstatus_list" in request.meta:
            return UNCHANGED in request.meta["handle_httpstatus_list"]
        return settings.getbool("HTTPERROR_ALLOW_ALL") or UNCHANGED in handled_statuses(self._crawler)


_NAMES = tuple(CONDITIONS.values())


def _clean(request: Request) -> bool:
    """Remove our validators; returns whether there were any."""
    mark = request.meta.get(RECRAWL)
    if mark is None or not mark.pop(SENT, False):
        return False
    for name in _NAMES:
        request.headers.pop(name, None)
    return True


def _unchanged(*_response: Any, **_kwargs: Any) -> tuple[()]:
    return ()
