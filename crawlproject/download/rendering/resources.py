"""Fetches what pages in the browser request, each as a request of the crawl."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cachetools import TLRUCache
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK

from crawlproject.clock import CLOCK
from crawlproject.compat import DownloadTimeoutError, engine_of
from crawlproject.download.rendering.proxy import FAILED, HOP_BY_HOP, REFUSED, TOO_LATE, Answer
from crawlproject.engine import stats_of
from crawlproject.requests.meta import FOR_PAGE

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlproject.download.rendering.job import PageJob
    from crawlproject.download.rendering.proxy import Asked, Headers
    from crawlproject.options.rendering import RenderOptions

#: Bytes of scripts and style sheets kept for further pages.
CACHE_SIZE = 32_000_000

#: Seconds that a script is kept if its server does not say how long, and at most.
KEPT, MAX_KEPT = 600.0, 86_400.0

#: Cookies of a page that the browser is given, as many as browsers keep of a site.
MAX_COOKIES = 180

#: Priority in the downloader: a page in the browser waits for it.
PRIORITY = 1000

_KEPT_TYPES = re.compile(rb"(?:text|application)/(?:x-)?(?:java|ecma)script|text/css|application/wasm").match
_NOT_KEPT = re.compile(rb"no-store|no-cache|private|must-revalidate").search
_MAX_AGE = re.compile(rb"max-age\s*=\s*\"?(\d{1,9})").search

#: Headers by which a browser marks requests that it only guesses will be needed: robots.txt may disallow them.
_PURPOSES = (b"sec-purpose", b"purpose")

#: Not passed to servers: the crawl's own, or those that let a server answer what the crawl cannot read.
_NOT_SENT = HOP_BY_HOP | {b"host", b"content-length", b"accept-encoding"}
#: Not passed to the browser: those of the body as received; Alt-Svc leads past the proxy;
#: the others would make it ask again elsewhere, or send reports.
_NOT_PASSED = HOP_BY_HOP | {
    b"content-length",
    b"content-encoding",
    b"alt-svc",
    b"strict-transport-security",
    b"report-to",
    b"reporting-endpoints",
    b"nel",
}

#: By which scripts can ask another server: the fetch standard's no-CORS-safelisted headers, and what CORS needs.
_CHOSEN = (b"origin", b"accept", b"accept-language", b"content-language", b"content-type")

_valid_name = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}").fullmatch
_invalid_value = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]").search


Key = tuple[str, bool, *tuple[bytes, ...]]


class Resources:
    """Answers the browser's requests.

    Without ``COOKIES_ENABLED`` neither the browser nor a server is given a cookie.

    Each goes through the crawl's downloader middlewares and its download handler, so the address guard, the resolver,
    one connection for each server, politeness, time-outs and size limits hold; the times of servers are measured.
    robots.txt is obeyed for the page itself.  Scripts and style sheets are kept in memory for further pages.
    Stats: ``render/requests``, ``render/requests/refused``, ``render/requests/cached``, ``render/requests/over_limit``.
    """

    def __init__(self, crawler: Crawler, options: RenderOptions) -> None:
        self._crawler = crawler
        self._stats = stats_of(crawler)
        self._options = options
        self._cache: TLRUCache[Key, tuple[Answer, float]] = TLRUCache(
            CACHE_SIZE, lambda _key, kept, now: now + kept[1], CLOCK, lambda kept: len(kept[0].body) + 1000
        )
        self._has_cookies = crawler.settings.getbool("COOKIES_ENABLED")

    def cookies(self, job: PageJob) -> list[tuple[str, str]]:
        """Names and values of the cookies that the crawl has sent for the page."""
        if not self._has_cookies:
            return []
        sent = (job.request.headers.get(b"Cookie") or b"").decode("utf-8", "replace").split(";")[:MAX_COOKIES]
        pairs = (one.strip().partition("=") for one in sent)
        return [(name, value) for name, mark, value in pairs if mark]

    async def answer(self, job: PageJob, asked: Asked) -> Answer:
        """The answer to one request of a page. Never raises for what servers or pages do."""
        if self._has_cookies:
            return await self._answer(job, asked)
        asked = asked._replace(headers=_without(b"cookie", asked.headers))
        answer = await self._answer(job, asked)
        return answer._replace(headers=_without(b"set-cookie", answer.headers))

    async def _answer(self, job: PageJob, asked: Asked) -> Answer:
        if asked.url == job.url and asked.method == "GET" and job.document is not None:
            document, job.document = job.document, None
            return document
        headers = dict(asked.headers)
        if asked.url.endswith("/favicon.ico") or any(b"prefetch" in headers.get(name, b"") for name in _PURPOSES):
            return REFUSED
        if not job.may_ask():
            self._stats.inc_value("render/requests/over_limit")
            return REFUSED
        with job.asking((asked.method, asked.url, asked.body)):
            async with job.places:
                if not job.may_load():
                    self._stats.inc_value("render/requests/over_limit")
                    return REFUSED
                answer = await self._cached(job, asked, headers)
                if not job.load(len(answer.body)):
                    self._stats.inc_value("render/requests/over_limit")
                    return REFUSED
        return answer

    async def _cached(self, job: PageJob, asked: Asked, headers: dict[bytes, bytes]) -> Answer:
        if asked.method != "GET" or headers.keys() & {b"authorization", b"cookie", b"range"}:
            return await self._fetch(job, asked)
        key = _key(asked.url, headers)
        if (kept := self._cache.get(key)) is not None:
            self._stats.inc_value("render/requests/cached")
            return kept[0]
        answer = await self._fetch(job, asked)
        if lifetime := _lifetime(answer):
            self._cache[key] = answer, lifetime
        return answer

    async def _fetch(self, job: PageJob, asked: Asked) -> Answer:
        self._stats.inc_value("render/requests")
        engine = engine_of(self._crawler)
        if engine is None:
            return FAILED
        meta = {
            FOR_PAGE: True,
            "dont_obey_robotstxt": True,  # it is obeyed for the page
            "dont_redirect": True,  # the browser follows, by a request of its own
            "dont_retry": True,
            "dont_merge_cookies": True,
            "allow_offsite": True,
            "download_maxsize": max(1, self._options.max_loaded - job.loaded),
            "download_timeout": self._options.timeout,
        }
        if "proxy" in job.request.meta:
            meta["proxy"] = job.request.meta["proxy"]
        headers = [(name, value) for name, value in asked.headers if name not in _NOT_SENT]
        try:
            request = Request(
                asked.url,
                method=asked.method,
                headers=headers,
                body=asked.body,
                callback=NO_CALLBACK,
                priority=PRIORITY,
                meta=meta,
            )
            response = await engine.download_async(request)
        except IgnoreRequest:  # the guard counts and logs what it refuses
            self._stats.inc_value("render/requests/refused")
            return REFUSED
        except (TimeoutError, DownloadTimeoutError):
            job.has_missed = True
            return TOO_LATE
        except Exception:  # noqa: BLE001 - whatever a server does; the middlewares have counted it
            job.has_missed = True
            return FAILED
        return _answer(response)


def _key(url: str, headers: dict[bytes, bytes]) -> Key:
    """What a kept answer may depend on and a page's script can choose: so no page can prepare another one's script."""
    server = "/".join(url.split("/", 3)[:3]).encode()
    is_own = headers.get(b"referer", b"").startswith(server + b"/")
    chosen = (headers.get(name, b"") for name in _CHOSEN)
    return url, is_own, *chosen


def _without(name: bytes, headers: Headers) -> Headers:
    return tuple(header for header in headers if header[0].lower() != name)


def _answer(response: Response) -> Answer:
    headers = tuple(
        (name, value)
        for name, values in response.headers.items()
        if name.lower() not in _NOT_PASSED and _valid_name(name)
        for value in values
        if not _invalid_value(value)
    )
    status = response.status if 200 <= response.status <= 599 else 502
    return Answer(status, headers, b"" if status in (204, 304) else response.body)


def _lifetime(answer: Answer) -> float:
    """Seconds for which an answer may be used again; 0: not at all."""
    headers = {name.lower(): value.lower() for name, value in answer.headers}
    control = headers.get(b"cache-control", b"")
    varies = set(headers.get(b"vary", b"").replace(b" ", b"").split(b",")) - {b"", b"accept-encoding", b"origin"}
    if answer.status != 200 or varies or b"set-cookie" in headers or _NOT_KEPT(control):
        return 0.0
    if not _KEPT_TYPES(headers.get(b"content-type", b"")):
        return 0.0
    found = _MAX_AGE(control)
    return min(float(found[1]), MAX_KEPT) if found else KEPT


def document_answer(response: Response) -> Answer:
    """The answer that gives the browser the page as the crawl received it."""
    return _answer(response)._replace(body=response.body)
