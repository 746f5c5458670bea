"""Scrapy's own components where a broken answer would cost the page, or go uncounted."""

from __future__ import annotations

import codecs
import logging
import re
import warnings
import zlib
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urldefrag

from cachetools import LRUCache
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.downloadermiddlewares.redirect import BaseRedirectMiddleware, MetaRefreshMiddleware, RedirectMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Request, Response
from scrapy.http.cookies import CookieJar
from scrapy.robotstxt import RobotParser
from scrapy.utils._compression import _DecompressionMaxSizeExceeded, brotli, zstd  # type: ignore[attr-defined]
from scrapy.utils.python import to_unicode

from crawlproject.download.body_budget import crawl_budget
from crawlproject.off_loop import LARGE, off_loop
from crawlproject.urls import server_key
from crawlproject.urls.canonical import MAX_AUTHORITY, is_too_long
from crawlproject.urls.robots_rules import MAX_AGENTS, Group, read_group, read_sitemaps

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from http.cookiejar import Cookie
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

    from crawlproject.download.body_budget import BodyBudget

logger = logging.getLogger(__name__)

#: What decompressors raise for garbage; the last one is for a ``Content-Encoding`` that is not ASCII.
_BROKEN = (OSError, EOFError, zlib.error, brotli.error, zstd.ZstdError, UnicodeError)

#: Where in a page Scrapy looks for a refresh and its base (characters), and a host there that is too long for one: to
#: bring 4,000 characters into ASCII, as Scrapy does, takes 2 s.
_REFRESH_WITHIN = 4096
_long_host = re.compile(rf"[/\\]{{2}}[^/\\?#\"'<>]{{{MAX_AUTHORITY + 1}}}").search

#: A body, or why there is none; None: not known.
_Decoded: TypeAlias = "bytes | Exception | None"

#: Encodings of one answer that are undone, as curl has it: each may take as long as a whole body.
MAX_ENCODINGS = 5

#: Bytes of a robots.txt that are read: RFC 9309 §2.5 asks for 500 KiB; 5 MB of rules took 4 s, and 0.1 s per URL.
MAX_ROBOTS_TXT = 512_000


#: ``Request.meta``: how often its page has led to itself.
AT_ITSELF = "redirected_to_itself"

#: Times that such a page is fetched once more: a cookie wall needs one, and a second for what comes late.
MAX_AGAIN = 2

#: Pages in a row of one server that stayed as they were, after which its pages are kept at once.
MAX_IN_VAIN = 3

#: Servers of which that is known.
REFRESHING_SERVERS = 10_000

#: ``Set-Cookie`` lines of an answer that are read, as many as browsers keep for a site, and bytes of one: browsers
#: read 4,096 for name and value, and 1,024 for each attribute.
MAX_COOKIES, MAX_COOKIE = 180, 8192

#: Digits of a ``Max-Age`` that are read: 300 years.
_MAX_AGE_DIGITS = 10
_long_age = re.compile(rb"(;[ \t]{0,9}max-age[ \t]{0,9}=[ \t]{0,9})\d{%d,}" % (_MAX_AGE_DIGITS + 1), re.IGNORECASE).sub


class TolerantCookieJar(CookieJar):
    """Each cookie by itself: one that Python's module cannot read costs neither the others nor a traceback.

    ``skipped`` is called for each.
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
            line = _long_age(rb"\g<1>" + b"9" * _MAX_AGE_DIGITS, line)
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)  # "http.cookiejar bug!" and a traceback
                try:
                    cookies += super().make_cookies(Response(response.url, headers={"Set-Cookie": line}), request)
                except UserWarning:
                    self._skipped()
        return cookies


class TolerantCookiesMiddleware(CookiesMiddleware):
    """Stat: ``cookies/skipped`` (too many of one answer, too long, or not readable)."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self.jars = defaultdict(partial(TolerantCookieJar, self._skipped))

    def _skipped(self) -> None:
        assert self.crawler.stats is not None
        self.crawler.stats.inc_value("cookies/skipped")


class TolerantCompressionMiddleware(HttpCompressionMiddleware):
    """Counts what cannot be decompressed.

    Stats: ``httpcompression/broken`` and ``httpcompression/too_large``, where the answer is ignored, and
    ``httpcompression/truncated``, where what came is kept.
    """

    _decoded: _Decoded = None  # the body of the response being processed, where it was done before

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        """Decompress."""
        is_gzip = response.headers.getlist(b"Content-Encoding") in ([b"gzip"], [b"x-gzip"])
        try:
            answer = super().process_response(request, response)
        except _BROKEN as error:
            self._count("broken")
            raise IgnoreRequest(f"cannot decompress {response}: {error}") from error
        except IgnoreRequest as error:
            if isinstance(error.__cause__, _DecompressionMaxSizeExceeded):
                self._count("too_large")
            raise
        if is_gzip and int.from_bytes(response.body[-4:], "little") != len(answer.body) & 0xFFFFFFFF:
            self._count("truncated")  # RFC 1952 §2.3.1: the last 4 bytes are the length
        return answer

    def _handle_encoding(self, body: bytes, content_encoding: list[bytes], max_size: int) -> tuple[bytes, list[bytes]]:
        to_decode, to_keep = self._split_encodings(content_encoding)
        if len(to_decode) > MAX_ENCODINGS:
            raise OSError(f"more than {MAX_ENCODINGS} encodings")
        decoded = self._decoded
        if decoded is None:
            try:
                return super()._handle_encoding(body, content_encoding, max_size)
            except (*_BROKEN, _DecompressionMaxSizeExceeded) as error:
                failed = error.with_traceback(None)  # its frames hold what was unpacked, as long as a body may be
            raise failed
        if isinstance(decoded, Exception):
            raise decoded
        return decoded, to_keep

    def _count(self, what: str) -> None:
        if self.stats is not None:  # built without a crawler
            self.stats.inc_value(f"httpcompression/{what}")


class OffLoopCompressionMiddleware(TolerantCompressionMiddleware):
    """The same, when there is memory for it; what may take long is decompressed off the event loop."""

    def __init__(self, stats: StatsCollector | None = None, *, crawler: Crawler | None = None) -> None:
        super().__init__(stats, crawler=crawler)
        self._budget = None if crawler is None else crawl_budget(crawler)

    def process_response(  # type: ignore[override]
        self, request: Request, response: Response
    ) -> Request | Response | Awaitable[Request | Response]:
        """Decompress; what comes out may be a thousand times as large as what came in."""
        if self._budget is None or b"Content-Encoding" not in response.headers:
            return super().process_response(request, response)
        return self._in_turn(self._budget, request, response)

    async def _in_turn(self, budget: BodyBudget, request: Request, response: Response) -> Request | Response:
        with budget.resumed(response) as share:
            await budget.wait(share)
            answer = await self._decompress(request, response)
            if isinstance(answer, Response):
                share.grow(len(answer.body) - share.size)
                budget.hold(answer, share)
        return answer

    async def _decompress(self, request: Request, response: Response) -> Request | Response:
        encodings = response.headers.getlist(b"Content-Encoding")
        decoded: _Decoded = None
        layers = len(self._split_encodings(encodings)[0]) if request.method != "HEAD" else 0
        if 1 < layers <= MAX_ENCODINGS or (layers == 1 and len(response.body) > LARGE):
            max_size = request.meta.get("download_maxsize", self._max_size)
            try:
                decode = partial(HttpCompressionMiddleware._handle_encoding, self)  # nothing in it is shared
                decoded, _ = await off_loop(decode, response.body, encodings, max_size)
            except (*_BROKEN, _DecompressionMaxSizeExceeded) as error:
                decoded = error.with_traceback(None)  # as in _handle_encoding
        self._decoded = decoded
        try:
            return super().process_response(request, response)
        finally:
            self._decoded = None


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
    stats = middleware.crawler.stats
    assert stats is not None
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
    assert middleware.crawler.stats is not None
    middleware.crawler.stats.inc_value("redirect/malformed")
    logger.info("Redirect not followed, malformed: %s: %.100s", response, target)
    return response


class CappedRobotParser(RobotParser):
    """robots.txt by RFC 9309 (``robots_rules``): its first ``MAX_ROBOTS_TXT`` bytes, UTF-16 with a mark, too.

    Only the groups for the agent asked about are read. Stats: ``robotstxt/truncated``,
    ``robotstxt/too_many_wildcards``.
    """

    def __init__(self, body: bytes, stats: StatsCollector) -> None:
        self._body = body
        self._stats = stats
        self._groups: dict[str, Group] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        """Built by RobotsMiddleware."""
        assert crawler.stats is not None
        if robotstxt_body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # Notepad's "Unicode"
            robotstxt_body = robotstxt_body.decode("utf-16", "ignore").encode()
        if len(robotstxt_body) > MAX_ROBOTS_TXT:
            crawler.stats.inc_value("robotstxt/truncated")
            robotstxt_body = robotstxt_body[:MAX_ROBOTS_TXT].rpartition(b"\n")[0]
        return cls(robotstxt_body, crawler.stats)

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Whether ``user_agent`` (a product token, or a whole User-Agent) may fetch ``url``."""
        return self._group(user_agent).allows(to_unicode(url))

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """Seconds between two requests that the file asks ``user_agent`` for."""
        return self._group(user_agent).delay

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """Those that the file names, as they stand there."""
        return read_sitemaps(self._body)

    def _group(self, user_agent: str | bytes) -> Group:
        agent = to_unicode(user_agent, errors="replace")
        group = self._groups.get(agent)
        if group is None:
            group = read_group(self._body, agent)
            if group.rules.too_many:
                self._stats.inc_value("robotstxt/too_many_wildcards")
            while len(self._groups) >= MAX_AGENTS:
                del self._groups[next(iter(self._groups))]
            self._groups[agent] = group
        return group
