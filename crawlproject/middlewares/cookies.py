"""Scrapy's cookies, hardened: a broken cookie does not lose the page."""

from __future__ import annotations

import warnings
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares import cookies as scrapy_cookies
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.http import Response
from scrapy.http.cookies import CookieJar
from tldextract import TLDExtract

from crawlproject.engine import stats_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from http.cookiejar import Cookie

    from scrapy import Request

#: ``Set-Cookie`` lines read per response, and cookies kept per domain, as in browsers; and bytes of one line (browsers
#: read 4,096 for name and value, and 1,024 for each attribute).
MAX_COOKIES, MAX_COOKIE = 180, 8192


class TolerantCookieJar(CookieJar):
    """Parses each cookie separately: one that Python's module cannot parse affects no other and logs no traceback.

    Keeps the newest ``MAX_COOKIES`` of each domain: 60 answers with other names each time led to a Cookie header of
    42 MB, and to 0.7 s of the event loop for a request.  ``skipped`` is called for each skipped or forgotten cookie.
    """

    def __init__(self, skipped: Callable[[], None]) -> None:
        super().__init__()
        self._skipped = skipped

    def make_cookies(self, response: Response, request: Request) -> list[Cookie]:
        """The cookies that ``response`` sets. O(length of its Set-Cookie lines)."""
        cookies: list[Cookie] = []
        for number, line in enumerate(response.headers.getlist(b"Set-Cookie")):
            if number >= MAX_COOKIES or len(line) > MAX_COOKIE:
                self._skipped()
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)  # else it logs "http.cookiejar bug!" and a traceback
                try:
                    cookies += super().make_cookies(Response(response.url, headers={"Set-Cookie": line}), request)
                except UserWarning:
                    self._skipped()
        return cookies

    def set_cookie_if_ok(self, cookie: Cookie, request: Request) -> None:
        """Keep ``cookie``, and forget the oldest one of its domain if there are too many. O(paths)."""
        super().set_cookie_if_ok(cookie, request)
        paths = self._cookies.get(cookie.domain, {})
        if sum(map(len, paths.values())) > MAX_COOKIES:
            path = next(iter(paths))
            del paths[path][next(iter(paths[path]))]
            if not paths[path]:
                del paths[path]
            self._skipped()


class TolerantCookiesMiddleware(CookiesMiddleware):
    """Stat: ``cookies/skipped`` (too many in one response or of one domain, too long, or invalid)."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self.jars = defaultdict(partial(TolerantCookieJar, self._skipped))
        _without_network()

    def _skipped(self) -> None:
        stats_of(self.crawler).inc_value("cookies/skipped")


def _without_network() -> None:
    """Let Scrapy find public suffixes in the list bundled with tldextract: it would fetch a new one, blocking.

    At the first cookie with a domain, and past ``FRONTIER_ALLOWED_NETWORKS``; with a name server that does not answer,
    the event loop would stand still for its time-out.
    """
    bundled = TLDExtract(include_psl_private_domains=True, suffix_list_urls=(), cache_dir=None)
    vars(scrapy_cookies)["_split_domain"] = bundled
