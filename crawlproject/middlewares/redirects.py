"""Redirects and meta refreshes, hardened: handles cases where Scrapy's middlewares lose a page or do not count it.

Addresses are resolved as those of links are, and handed to Scrapy's middlewares in the spelling that these read.
"""

from __future__ import annotations

import html
import logging
import time
from itertools import takewhile
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from scrapy.downloadermiddlewares.redirect import BaseRedirectMiddleware, MetaRefreshMiddleware, RedirectMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Headers, HtmlResponse, Request, Response

from crawlproject.crawl_frontier import note_end
from crawlproject.download.content_types import media_type
from crawlproject.engine import stats_of
from crawlproject.requests.answers import REDIRECTS, has_header, header
from crawlproject.requests.meta import AGAIN, COOKIE_AT
from crawlproject.urls import first_refresh, reference_of, resolve, resolve_redirect, why_none
from crawlproject.urls.fates import Ending, Reason

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

#: Characters at the start of a page where a refresh is sought, as in Scrapy; later ones are links.
_REFRESH_WITHIN = 4096

#: Repeated fetches of a page of a chain: a cookie wall needs one, and a second if the cookie comes late.
MAX_AGAIN = 2


class TolerantRedirectMiddleware(RedirectMiddleware):
    """Stat: ``redirect/malformed`` (the response is kept, not followed)."""

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        """Follow a redirect.  One back to a page of its chain is a loop, unless a cookie was set since that page was
        requested: then the page is requested again, ``MAX_AGAIN`` times at most."""
        if response.status not in REDIRECTS or not has_header(response.headers, b"Location"):
            return response
        location = reference_of(header(response.headers, b"Location") or b"")
        url = resolve_redirect(location, request.url)
        if url is None:
            return response if why_none(location) is Reason.SCHEME else _malformed(self, response, location)
        _, mark, fragment = location.partition("#")
        headers = Headers(response.headers)
        headers[b"Location"] = url + mark + fragment
        readable = response.replace(headers=headers)
        try:
            result = super().process_response(request, readable)
        except IgnoreRequest:
            _note(self, request, response, Reason.REDIRECT_LIMIT)
            raise
        if not isinstance(result, Request):
            return response
        _note(self, request, response, Reason.REDIRECTED, result.url)
        return _again(result) if _is_changed_by_cookie(self, result, request, response) else _once(result)


class TolerantMetaRefreshMiddleware(MetaRefreshMiddleware):
    """Stat: ``redirect/malformed`` (the page is kept)."""

    def __init__(self, settings: BaseSettings) -> None:
        super().__init__(settings)
        self._ignored = settings.getlist("METAREFRESH_IGNORE_TAGS")

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        """Follow a refresh; one from a page to itself ("please wait" pages) at most ``MAX_AGAIN`` times, one back to
        another page of its chain only if a cookie was set since, as a redirect.

        Then the page is kept; with Scrapy's middleware the dupefilter drops the second request, and the page is lost.
        A request with its own ``dont_filter`` is handled as in Scrapy.
        """
        result = self._result(request, response)
        if isinstance(result, Request):
            _note(self, request, response, Reason.REDIRECTED, result.url)
        return result

    def _result(self, request: Request, response: Response) -> Request | Response:
        refreshed = self._refreshed(request, response)
        if refreshed is None:
            return response
        chain = request.meta.get("redirect_urls", ())
        if not _is_same(refreshed.url, request.url):
            if _is_changed_by_cookie(self, refreshed, request, response):
                return _again(refreshed)
            is_loop = any(_is_same(url, refreshed.url) for url in chain) and not _has_own_dont_filter(refreshed)
            return response if is_loop else _once(refreshed)
        if _has_own_dont_filter(refreshed):
            return refreshed
        times = sum(1 for _ in takewhile(lambda url: _is_same(url, request.url), reversed(chain)))
        return response if times >= MAX_AGAIN else _again(refreshed)

    def _refreshed(self, request: Request, response: Response) -> Request | None:
        """The request to which a page's refresh leads; None without one that is followed."""
        if not isinstance(response, HtmlResponse):
            return None
        start = response.text[:_REFRESH_WITHIN]
        found = first_refresh(start, self._ignored) if "refresh" in start.lower() else None
        if found is None:
            return None
        (delay, target), written_base = found
        base = (resolve(written_base, response.url, response.encoding) if written_base else None) or response.url
        url = resolve_redirect(target, base, response.encoding) if target else None
        if url is None:
            if target and why_none(target) is not Reason.SCHEME:
                _malformed(self, response, target)
            return None
        element = f'<meta http-equiv="refresh" content="{delay};url={html.escape(url)}">'
        readable = HtmlResponse(response.url, headers=response.headers, body=element, encoding="utf-8")
        try:
            result = super().process_response(request, readable)
        except IgnoreRequest:
            _note(self, request, response, Reason.REDIRECT_LIMIT)
            raise
        return result if isinstance(result, Request) else None


def _is_changed_by_cookie(
    middleware: BaseRedirectMiddleware, redirected: Request, request: Request, response: Response
) -> bool:
    """Whether ``redirected`` leads back to a page of its chain, which a cookie set since may change.

    Also notes in its meta whether ``response`` sets one.
    """
    chain = redirected.meta["redirect_urls"]
    uses_cookies = middleware.crawler.settings.getbool("COOKIES_ENABLED") and not request.meta.get("dont_merge_cookies")
    if uses_cookies and has_header(response.headers, b"Set-Cookie"):
        redirected.meta[COOKIE_AT] = len(chain) - 1
    places = [place for place, url in enumerate(chain) if _is_same(url, redirected.url)]
    if not places or _has_own_dont_filter(redirected):
        return False
    return len(places) <= MAX_AGAIN and places[-1] <= redirected.meta.get(COOKIE_AT, -1)


def _has_own_dont_filter(redirected: Request) -> bool:
    return redirected.dont_filter and AGAIN not in redirected.meta


def _is_same(one: str, other: str) -> bool:
    return urldefrag(one).url == urldefrag(other).url


def _again(redirected: Request) -> Request:
    """``redirected`` with ``dont_filter``, so that the dupefilter accepts it."""
    redirected.meta[AGAIN] = True
    return redirected.replace(dont_filter=True)


def _once(redirected: Request) -> Request:
    """``redirected``; after one that was ``_again``, without ``dont_filter``, so that the dupefilter checks it."""
    return redirected.replace(dont_filter=False) if redirected.meta.pop(AGAIN, None) else redirected


def _note(
    middleware: BaseRedirectMiddleware, request: Request, response: Response, reason: Reason, target: str = ""
) -> None:
    ending = Ending(reason, response.status, len(response.body), media_type(response.headers), time.time(), target)
    note_end(middleware.crawler, request, ending)


def _malformed(middleware: BaseRedirectMiddleware, response: Response, target: str) -> Response:
    stats_of(middleware.crawler).inc_value("redirect/malformed")
    logger.info("Redirect not followed, malformed: %s: %.100s", response, target)
    return response
