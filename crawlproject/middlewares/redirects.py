"""Redirects and refreshes that Scrapy's middlewares would lose a page over, or not count."""

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
from crawlproject.requests.meta import AT_ITSELF
from crawlproject.urls.canonical import MAX_AUTHORITY, is_too_long
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

#: Where in a page Scrapy looks for a refresh and its base (characters), and a host there that is too long for one: to
#: bring 4,000 characters into ASCII, as Scrapy does, takes 2 s.
_REFRESH_WITHIN = 4096
_long_host = re.compile(rf"[/\\]{{2}}[^/\\?#\"'<>]{{{MAX_AUTHORITY + 1}}}").search

#: Times that such a page is fetched once more: a cookie wall needs one, and a second for what comes late.
MAX_AGAIN = 2

#: Pages in a row of one server that stayed as they were, after which its pages are kept at once.
MAX_IN_VAIN = 3

#: Servers of which that is known.
REFRESHING_SERVERS = 10_000


class TolerantRedirectMiddleware(RedirectMiddleware):
    """Stats: ``redirect/malformed`` (the answer is kept, not followed), ``redirect/max_reached``."""

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        """Follow a redirect; one to the page itself with a cookie that will be sent, too, as often as a refresh."""
        if b"Location" not in response.headers:
            return response
        location = (response.headers.get(b"Location") or b"").decode("utf-8", "replace")
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
        self._in_vain: LRUCache[str, int] = LRUCache(REFRESHING_SERVERS)  # pages of a server that stayed as they were

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        """Follow a refresh; one to the page itself, as of "please wait" pages, ``MAX_AGAIN`` times.

        Then the page is kept: by Scrapy's middleware the dupefilter drops the second request, and the page is lost.
        A server whose pages refresh in vain has them kept at once.  Where a request has ``dont_filter`` of its own,
        all is as by Scrapy's.
        """
        result: Request | Response = response
        if isinstance(response, HtmlResponse):
            start = response.text[:_REFRESH_WITHIN]
            lower = start.lower()
            if "refresh" in lower or "<base" in lower:  # Scrapy looks at the base even where there is no refresh
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
    """``redirected``, past the dupefilter."""
    redirected.meta[AT_ITSELF] = redirected.meta.get(AT_ITSELF, 0) + 1
    return redirected.replace(dont_filter=True)


def _elsewhere(result: Request | Response) -> Request | Response:
    """``result``; a request of a page that led to itself before is for the dupefilter again."""
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
    """The answer, kept: it leads to nothing that is a URL."""
    stats_of(middleware.crawler).inc_value("redirect/malformed")
    logger.info("Redirect not followed, malformed: %s: %.100s", response, target)
    return response
