"""Scrapy's own components where a broken answer would cost the page, or go uncounted."""

from __future__ import annotations

import codecs
import zlib
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from cachetools import LRUCache
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.downloadermiddlewares.redirect import BaseRedirectMiddleware, MetaRefreshMiddleware, RedirectMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Request, Response, TextResponse
from scrapy.robotstxt import RobotParser
from scrapy.utils._compression import _DecompressionMaxSizeExceeded, brotli, zstd  # type: ignore[attr-defined]
from scrapy.utils.python import to_unicode

from crawlproject.download.body_budget import crawl_budget
from crawlproject.robots_rules import MAX_AGENTS, Group, read_group, read_sitemaps
from crawlproject.urls import server_key

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

#: What decompressors raise for garbage; the last one is for a ``Content-Encoding`` that is not ASCII.
_BROKEN = (OSError, EOFError, zlib.error, brotli.error, zstd.ZstdError, UnicodeError)

#: Python's codecs that ``charset=`` can name and that decode no text; punycode takes quadratic time, too.
_NO_CHARSETS = frozenset(("base64", "bz2", "hex", "idna", "punycode", "quopri", "rot-13", "undefined", "uu", "zlib"))

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


class TolerantCompressionMiddleware(HttpCompressionMiddleware):
    """Counts what cannot be decompressed.

    Stats: ``httpcompression/broken`` and ``httpcompression/too_large``, where the answer is ignored, and
    ``httpcompression/truncated``, where what came is kept.
    """

    def __init__(self, stats: StatsCollector | None = None, *, crawler: Crawler | None = None) -> None:
        super().__init__(stats, crawler=crawler)
        assert crawler is not None
        self._budget = crawl_budget(crawler)

    def process_response(  # type: ignore[override]
        self, request: Request, response: Response
    ) -> Request | Response | Awaitable[Request | Response]:
        """Decompress, when there is memory for it: what comes out may be a thousand times as large."""
        if b"Content-Encoding" not in response.headers:
            return response
        return self._in_turn(request, response)

    async def _in_turn(self, request: Request, response: Response) -> Request | Response:
        share = self._budget.resume(response)
        try:
            await self._budget.wait(share)
            answer = self._decompress(request, response)
            if isinstance(answer, Response):
                share.grow(len(answer.body) - share.size)
                self._budget.hold(answer, share)
        finally:
            if not share.finished:
                share.close()
        return answer

    def _decompress(self, request: Request, response: Response) -> Request | Response:
        assert self.stats is not None
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

    def _count(self, what: str) -> None:
        if self.stats is not None:  # built without a crawler
            self.stats.inc_value(f"httpcompression/{what}")


class CharsetMiddleware:
    """Reads as UTF-8 what declares one of Python's codecs that is no charset (downloader, after decompression).

    Stats: ``charset/not_text``.
    """

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats is not None
        self._stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Built by Scrapy."""
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        """Give such a response another encoding."""
        if isinstance(response, TextResponse) and response.encoding in _NO_CHARSETS:
            self._stats.inc_value("charset/not_text")
            return response.replace(encoding="utf-8")
        return response


class TolerantRedirectMiddleware(RedirectMiddleware):
    """Stats: ``redirect/malformed`` (the answer is kept, not followed), ``redirect/max_reached``."""

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        """Follow a redirect; one to the page itself with a cookie that will be sent, too, as often as a refresh."""
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
        return process_response(request, response)
    except ValueError:
        stats.inc_value("redirect/malformed")
        return response
    except IgnoreRequest:
        stats.inc_value("redirect/max_reached")
        raise


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
