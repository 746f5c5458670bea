"""Redirects and meta refreshes, hardened: handles cases where Scrapy's middlewares lose a page or do not count it."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from cachetools import LRUCache
from scrapy.downloadermiddlewares.redirect import BaseRedirectMiddleware, MetaRefreshMiddleware, RedirectMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Request, Response

from crawlproject.engine import stats_of
from crawlproject.requests.answers import has_header, header
from crawlproject.requests.meta import AT_ITSELF
from crawlproject.urls.canonical import MAX_AUTHORITY, is_too_long
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

#: Characters at the start of a page where Scrapy looks for a refresh and its base; a host there may be too long: Scrapy
#: needs 2 s to convert 4,000 characters to ASCII.
_REFRESH_WITHIN = 4096
_long_host = re.compile(rf"[/\\]{{2}}[^/\\?#\"'<>]{{{MAX_AUTHORITY + 1}}}").search

#: Repeated fetches of a page that leads to itself: a cookie wall needs one, and a second if the cookie comes late.
MAX_AGAIN = 2

#: Pages in a row of one server that repeated fetches did not change, after which its pages are kept at once.
MAX_IN_VAIN = 3

#: Servers with a count of such pages.
REFRESHING_SERVERS = 10_000


class TolerantRedirectMiddleware(RedirectMiddleware):
    """Stats: ``redirect/malformed`` (the response is kept, not followed), ``redirect/max_reached``."""

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        """Follow a redirect; one from a page to itself only if it sets a usable cookie, ``MAX_AGAIN`` times at most."""
        if not has_header(response.headers, b"Location"):
            return response
        location = (header(response.headers, b"Location") or b"").decode("utf-8", "replace")
        if is_too_long(location):
            return _malformed(self, response, location)
        result = _tolerate(self, super().process_response, request, response)
        if not isinstance(result, Request) or not _leads_to_itself(result, request):
            return _elsewhere(result)
        times = request.meta.get(AT_ITSELF, 0)
        if result.dont_filter and not times:
            return result
        sets_cookie = b"Set-Cookie" in response.headers and not request.meta.get("dont_merge_cookies")
        if sets_cookie and times < MAX_AGAIN and self.crawler.settings.getbool("COOKIES_ENABLED"):
            return _again(result)
        return _elsewhere(result)


class TolerantMetaRefreshMiddleware(MetaRefreshMiddleware):
    """Stats: ``redirect/malformed`` (the page is kept), ``redirect/max_reached``."""

    def __init__(self, settings: BaseSettings) -> None:
        super().__init__(settings)
        self._in_vain: LRUCache[str, int] = LRUCache(REFRESHING_SERVERS)  # by server: unchanged pages

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        """Follow a refresh; one from a page to itself ("please wait" pages) at most ``MAX_AGAIN`` times.

        Then the page is kept; with Scrapy's middleware the dupefilter drops the second request, and the page is lost.
        Pages of a server are kept at once if repeated fetches did not change ``MAX_IN_VAIN`` pages in a row.  A request
        with its own ``dont_filter`` is handled as in Scrapy.
        """
        result: Request | Response = response
        if isinstance(response, HtmlResponse):
            start = response.text[:_REFRESH_WITHIN]
            lower = start.lower()
            if "refresh" in lower or "<base" in lower:  # Scrapy parses the base even without a refresh
                long_host = _long_host(start)
                if long_host is not None:
                    return _malformed(self, response, long_host[0]) if "refresh" in lower else response
                result = _tolerate(self, super().process_response, request, response)
        times = request.meta.get(AT_ITSELF, 0)
        if not isinstance(result, Request) or not _leads_to_itself(result, request):
            if times:
                self._in_vain.pop(server_key(request.url), None)
            return _elsewhere(result)
        if result.dont_filter and not times:
            return result
        key = server_key(request.url)
        if times >= MAX_AGAIN or self._in_vain.get(key, 0) >= MAX_IN_VAIN:
            self._in_vain[key] = self._in_vain.get(key, 0) + 1
            return response
        return _again(result)


def _leads_to_itself(redirected: Request, request: Request) -> bool:
    return urldefrag(redirected.url).url == urldefrag(request.url).url


def _again(redirected: Request) -> Request:
    """``redirected`` with ``dont_filter``, so that the dupefilter accepts it."""
    redirected.meta[AT_ITSELF] = redirected.meta.get(AT_ITSELF, 0) + 1
    return redirected.replace(dont_filter=True)


def _elsewhere(result: Request | Response) -> Request | Response:
    """``result``; after a page that led to itself, without ``dont_filter``, so that the dupefilter checks it again."""
    if not isinstance(result, Request) or AT_ITSELF not in result.meta:
        return result
    del result.meta[AT_ITSELF]
    return result.replace(dont_filter=False)


def _tolerate(
    middleware: BaseRedirectMiddleware,
    process_response: Callable[[Request, Response], Request | Response],
    request: Request,
    response: Response,
) -> Request | Response:
    stats = stats_of(middleware.crawler)
    try:
        result = process_response(request, response)
        if isinstance(result, Request):
            server_key(result.url)
    except ValueError as error:
        return _malformed(middleware, response, str(error))
    except IgnoreRequest:
        stats.inc_value("redirect/max_reached")
        raise
    return result


def _malformed(middleware: BaseRedirectMiddleware, response: Response, target: str) -> Response:
    """Count and log a redirect to an invalid URL; returns the response, which is kept."""
    stats_of(middleware.crawler).inc_value("redirect/malformed")
    logger.info("Redirect not followed, malformed: %s: %.100s", response, target)
    return response
