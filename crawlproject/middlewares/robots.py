"""robots.txt by RFC 9309: an unreachable file disallows everything for now; cached copies expire."""

from __future__ import annotations

import asyncio
import codecs
import logging
import re
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from cachetools import LRUCache, TLRUCache
from scrapy import Request, signals
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest, StopDownload
from scrapy.http.request import NO_CALLBACK
from scrapy.robotstxt import RobotParser
from scrapy.utils.misc import build_from_crawler
from scrapy.utils.python import to_unicode

from crawlproject.clock import CLOCK
from crawlproject.compat import robots_parsed
from crawlproject.crawl_frontier import frontier_of, note_end, side_answer
from crawlproject.download.few_lines import FewLines
from crawlproject.download.lookup import is_of_name
from crawlproject.download.off_loop import LARGE, off_loop
from crawlproject.download.pool import SessionAbandoned
from crawlproject.download.receivers import Receivers
from crawlproject.engine import stats_of
from crawlproject.options.limits import RobotsOptions
from crawlproject.requests.answers import REDIRECTS, header, retry_after
from crawlproject.requests.failures import in_words
from crawlproject.requests.meta import ROBOTS_RECEIVED, UNSENT
from crawlproject.signals import robots_asked
from crawlproject.urls import reference_of, resolve_redirect, server_key
from crawlproject.urls.fates import Ending, Reason
from crawlproject.urls.robots_rules import Group, read_group, read_sitemaps

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

#: Bytes read of a robots.txt: RFC 9309 §2.5 requires at least 500 KiB; 5 MB of rules took 4 s, and 0.1 s per URL.
MAX_ROBOTS_TXT = 512_000

#: Agents whose compiled rules are kept of a file: most crawls have one; a request may set its own User-Agent.
MAX_AGENTS = 4

#: Redirects followed from a robots.txt, to any server: RFC 9309 §2.3.1.2 requires five.
MAX_REDIRECTS = 5

#: Minimum lifetime of a copy, seconds, if ``Cache-Control: max-age`` is shorter: many servers send 0 for all files.
MIN_CACHE_TIME = 3600.0

#: Bytes of a robots.txt that count as one copy in ``FRONTIER_ROBOTS_CACHE_SIZE``.
COPY_SIZE = 4096

#: Why a file that ends too early is unavailable: the missing half may disallow what the other one allows.
_HALF = "it is incomplete"

_MAX_AGE = re.compile(rb"max-age\s*=\s*\"?(\d{1,9})", re.IGNORECASE)

#: Seconds until a robots.txt is requested again, with a scheduler that has no frontier.
_OTHER_SCHEDULERS_WAIT = 60.0


class CappedRobotParser(RobotParser):
    """robots.txt by RFC 9309: the first ``MAX_ROBOTS_TXT`` bytes, in UTF-8, or UTF-16 with a byte order mark.

    Parses only the groups of the requested agent. Stats: ``robotstxt/truncated``, ``robotstxt/too_many_wildcards``.
    """

    def __init__(self, body: bytes, stats: StatsCollector) -> None:
        self._body = body
        self._stats = stats
        self._groups: LRUCache[str, Group] = LRUCache(MAX_AGENTS)

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        is_long = len(robotstxt_body) > MAX_ROBOTS_TXT
        if robotstxt_body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # Notepad's "Unicode"
            robotstxt_body = robotstxt_body[:MAX_ROBOTS_TXT].decode("utf-16", "ignore").encode()
        if is_long or len(robotstxt_body) > MAX_ROBOTS_TXT:
            stats_of(crawler).inc_value("robotstxt/truncated")
            robotstxt_body = robotstxt_body[:MAX_ROBOTS_TXT].rpartition(b"\n")[0]
        return cls(robotstxt_body, stats_of(crawler))

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Whether ``user_agent`` (a product token, or a whole User-Agent) may fetch ``url``."""
        return self.group(user_agent).allows(to_unicode(url))

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """Crawl-delay for ``user_agent``, seconds; None if not given."""
        return self.group(user_agent).delay

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """URLs of the sitemaps, not resolved."""
        return read_sitemaps(self._body)

    @property
    def text(self) -> str:
        """The file, for people."""
        return self._body.decode("utf-8", "replace")

    def group(self, user_agent: str | bytes) -> Group:
        """The rules for ``user_agent``, in any thread: the first time it reads the file. O(length)."""
        agent = to_unicode(user_agent, errors="replace")
        group = self._groups.get(agent)
        if group is None:
            group = self._groups[agent] = read_group(self._body, agent)
            if group.has_too_many_wildcards:
                self._stats.inc_value("robotstxt/too_many_wildcards")
        return group


class RobotsUnreachableError(IgnoreRequest):
    """The server's robots.txt is unavailable, so nothing may be fetched from the server for now."""


class Copy(NamedTuple):
    """A robots.txt that is kept for ``lifetime`` seconds and counts as ``size`` of ``FRONTIER_ROBOTS_CACHE_SIZE``."""

    parser: RobotParser
    lifetime: float
    size: int


class RobotsMiddleware(RobotsTxtMiddleware):
    """Replaces Scrapy's ``RobotsTxtMiddleware`` (downloader), with the same settings, stats and signal.

    The first request that needs a robots.txt fetches it, one fetch at a time per server (scheme, host and port).  A
    copy is kept for ``FRONTIER_ROBOTS_CACHE_TIME`` seconds, or less by its ``Cache-Control``;
    ``FRONTIER_ROBOTS_CACHE_SIZE`` bounds the number of copies, the least recently used is evicted first.

    Statuses (RFC 9309 §2.3.1): 2xx: the rules apply; 3xx: followed five times; other 4xx: everything is allowed; 5xx,
    429 and a failed download: everything is disallowed.  Then the server rests as after any failure, longer each time,
    the request waits in the frontier, and robots.txt is requested first after the rest; after
    ``FRONTIER_ROBOTS_MAX_FAILURES`` in a row, counted over all runs, the server is given up.  A request that does not
    come from the frontier (of a media pipeline, or ``engine.download_async``) fails at once with
    ``RobotsUnreachableError``.

    Stats besides Scrapy's: ``robotstxt/unreachable``, ``robotstxt/given_up``, ``robotstxt/unsent``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)  # raises NotConfigured without ROBOTSTXT_OBEY
        self._stats = stats_of(crawler)  # as Scrapy does from 2.15 on
        self._options = RobotsOptions.of(crawler)
        self._copies: TLRUCache[str, Copy] = TLRUCache(
            self._options.cache_size, lambda _key, copy, now: now + copy.lifetime, CLOCK, lambda copy: copy.size
        )
        self._retry_at: dict[str, float] = {}  # by server, of unavailable files
        self._lines, self._lines_of_seeds = FewLines(logger), FewLines(logger)
        self._parsed = Receivers(crawler, robots_parsed)
        self._fetches: dict[str, asyncio.Future[RobotParser]] = {}
        self._allows_all: RobotParser = build_from_crawler(self._parserimpl, crawler, b"")
        crawler.signals.connect(self._stop_long, signals.bytes_received)
        crawler.signals.connect(self._text_of, robots_asked)

    async def process_request(self, request: Request) -> Request | None:  # type: ignore[override]
        """None: allowed. The request itself: return it to the frontier. Raises IgnoreRequest if it is disallowed."""
        if request.meta.get("dont_obey_robotstxt") or not request.url.startswith(("http:", "https:")):
            return None
        try:
            rules = await self.robot_parser(request)
        except ValueError:  # its URL has no host: the download will report it
            return None
        except RobotsUnreachableError:
            frontier = frontier_of(self.crawler)
            if frontier is None or not frontier.handed_out(request):
                self._stats.inc_value("robotstxt/unsent")
                raise
            request.meta[UNSENT] = True
            return request
        try:
            self.process_request_2(rules, request)
        except IgnoreRequest:
            note_end(self.crawler, request, Ending(Reason.ROBOTS))
            raise
        return None

    async def robot_parser(self, request: Request) -> RobotParser:
        """The rules of the request's server. Raises RobotsUnreachableError while they are unavailable."""
        key = server_key(request.url)
        try:
            return self._copies[key].parser
        except KeyError:
            pass
        if CLOCK() < self._retry_at.get(key, -inf):
            raise RobotsUnreachableError(f"robots.txt of {key} is unavailable")
        fetch = self._fetches.get(key)
        if fetch is None:
            fetch = self._fetches[key] = asyncio.ensure_future(self._fetch(key, request))
            fetch.add_done_callback(lambda _: self._fetches.pop(key))
        return await asyncio.shield(fetch)

    async def _fetch(self, key: str, page: Request) -> RobotParser:
        self._stats.inc_value("robotstxt/request_count")
        try:
            response = await self._download(f"{key}/robots.txt", page, key)
        except SessionAbandoned as error:  # the request waits for the server's next session
            raise RobotsUnreachableError(f"robots.txt of {key} was not read: {error}") from error
        except IgnoreRequest as error:  # refused by another middleware, or cannot be decompressed: no rules
            if isinstance(error.__cause__, EOFError):
                raise self._unreachable(key, page, _HALF) from error
            logger.debug("No robots.txt of %s: %s", key, error)
            return await self._keep(key, page, Copy(self._allows_all, self._options.cache_time, 1))
        except Exception as error:
            self._stats.inc_value(f"robotstxt/exception_count/{type(error)}")
            raise self._unreachable(key, page, in_words(error)) from error
        self._stats.inc_value("robotstxt/response_count")
        self._stats.inc_value(f"robotstxt/response_status_count/{response.status}")
        if response.status == 429 or response.status >= 500:
            raise self._unreachable(key, page, f"status {response.status}", retry_after(response.headers))
        if "dataloss" in response.flags:
            raise self._unreachable(key, page, _HALF)
        copy = self.copy_of(response)
        if len(response.body) >= LARGE and isinstance(copy.parser, CappedRobotParser):
            agent = self._robotstxt_useragent or page.headers.get(b"User-Agent", self._default_useragent)
            assert agent is not None
            await off_loop(copy.parser.group, agent)  # 500 kB take up to 0.2 s
        other = server_key(response.url)
        if other != key and response.url == f"{other}/robots.txt" and other not in self._copies:
            # most servers redirect http to https: its robots.txt is needed next
            await self._keep(other, Request(response.url, meta={"depth": page.meta.get("depth", 0)}), copy)
        return await self._keep(key, page, copy)

    async def _download(self, url: str, page: Request, key: str) -> Response:
        """The response after all redirects; an invalid redirect is the response itself."""
        meta = {
            ROBOTS_RECEIVED: 0,
            "dont_obey_robotstxt": True,
            "dont_redirect": True,  # followed here: REDIRECT_MAX_TIMES applies to pages
            "dont_retry": True,  # retried after the server's rest
            "dont_cache": key in self._retry_at,
            "allow_offsite": True,
            "download_fail_on_dataloss": True,
        }
        if "proxy" in page.meta:
            meta["proxy"] = page.meta["proxy"]
        for _ in range(MAX_REDIRECTS + 1):
            request = Request(url, priority=self.DOWNLOAD_PRIORITY, meta=dict(meta), callback=NO_CALLBACK)
            response = await side_answer(self.crawler, request)
            location = header(response.headers, b"Location") if response.status in REDIRECTS else None
            target = resolve_redirect(reference_of(location), response.url) if location else None
            if target is None:
                break
            url = target
        return response

    def copy_of(self, response: Response) -> Copy:
        """The copy to cache for a response that is not an outage."""
        lifetime = self._options.cache_time
        max_age = _MAX_AGE.search(header(response.headers, b"Cache-Control") or b"")
        if max_age is not None:
            lifetime = min(lifetime, max(MIN_CACHE_TIME, float(max_age[1])))
        if not (200 <= response.status < 300 and response.body):
            return Copy(self._allows_all, lifetime, 1)
        parser: RobotParser = build_from_crawler(self._parserimpl, self.crawler, response.body)
        size = 1 + min(len(response.body), MAX_ROBOTS_TXT) // COPY_SIZE
        return Copy(parser, lifetime, min(size, self._options.cache_size))

    async def _keep(self, key: str, page: Request, copy: Copy) -> RobotParser:
        self._retry_at.pop(key, None)
        self._copies[key] = copy
        if (frontier := frontier_of(self.crawler)) is not None:
            frontier.robots_read(key)
        if (rest := self._parsed.start(robotparser=copy.parser, request=page)) is not None:
            await rest
        return copy.parser

    def _unreachable(
        self, key: str, page: Request, reason: str, retry_after: float | None = None
    ) -> RobotsUnreachableError:
        """Pause the server or give it up; returns the error to raise."""
        self._stats.inc_value("robotstxt/unreachable")
        frontier = frontier_of(self.crawler)
        if frontier is None:
            is_first, then = key not in self._retry_at, "disallowed until it can be fetched"
            until = CLOCK() + _OTHER_SCHEDULERS_WAIT
        else:
            most = self._options.max_failures
            error = reason if is_of_name(reason) else f"robots.txt: {reason}"  # a name is missing for all requests
            until = frontier.robots_failed(key, retry_after, error, most)
            failures = frontier.robots_failures(key)
            is_first = failures == 1
            then = f"try {failures + 1} of {most or 'any number'} in {until - CLOCK():.0f} s"
            if until == inf:
                self._stats.inc_value("robotstxt/given_up")
                then = f"given up after {failures} tries (FRONTIER_ROBOTS_MAX_FAILURES)"
        self._retry_at[key] = until
        level = logging.INFO if is_first or until == inf else logging.DEBUG
        lines, level = (self._lines, level) if page.meta.get("depth") else (self._lines_of_seeds, logging.WARNING)
        lines.log(level, "robots.txt of %s is unavailable: %s; %s", key, reason, then)
        return RobotsUnreachableError(f"robots.txt of {key} is unavailable: {reason}")

    def _text_of(self, server_key: str) -> str | None:
        """The robots.txt that is obeyed for a server now; None if it is not known, "" if nothing is disallowed."""
        copy = self._copies.get(server_key)
        return copy.parser.text if copy is not None and isinstance(copy.parser, CappedRobotParser) else None

    def _stop_long(self, data: bytes, request: Request) -> None:
        if ROBOTS_RECEIVED in request.meta:
            request.meta[ROBOTS_RECEIVED] += len(data)
            if request.meta[ROBOTS_RECEIVED] > MAX_ROBOTS_TXT:
                raise StopDownload(fail=False)
