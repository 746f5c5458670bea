"""The components that the fast lane supports: it calls them as Scrapy does, or they are not affected by it.

A component is recognised by the path of its class; a subclass might do anything.  Each ``why_not_...`` returns the
reason why the lane may not be used, or None.
"""

from __future__ import annotations

from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.python import global_object_name

from crawlproject.middlewares.lane.quick import quick, quick_process

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from scrapy import Request
    from scrapy.core.downloader import Downloader
    from scrapy.core.engine import ExecutionEngine
    from scrapy.core.scraper import Scraper
    from scrapy.http import Response

    from crawlproject.links import Links

DOWNLOADER_MIDDLEWARES = frozenset(
    (
        "crawlproject.middlewares.admission.AdmissionMiddleware",
        "crawlproject.middlewares.compression.OffLoopCompressionMiddleware",
        "crawlproject.middlewares.large_pages.LargePageMiddleware",
        "crawlproject.middlewares.limits.LimitsMiddleware",
        "crawlproject.middlewares.offsite.TolerantOffsiteMiddleware",
        "crawlproject.middlewares.politeness.PolitenessMiddleware",
        "crawlproject.middlewares.recrawl.RecrawlMiddleware",
        "crawlproject.middlewares.redirects.TolerantMetaRefreshMiddleware",
        "crawlproject.middlewares.redirects.TolerantRedirectMiddleware",
        "crawlproject.middlewares.rendering.RenderMiddleware",
        "crawlproject.middlewares.repository.RepositoryMiddleware",
        "crawlproject.middlewares.retries.ServerRetryMiddleware",
        "crawlproject.middlewares.robots.RobotsMiddleware",
        "crawlproject.middlewares.timing.ServerTimingMiddleware",
        "scrapy.downloadermiddlewares.defaultheaders.DefaultHeadersMiddleware",
        "scrapy.downloadermiddlewares.downloadtimeout.DownloadTimeoutMiddleware",
        "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware",
        "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware",
        "scrapy.downloadermiddlewares.httpproxy.HttpProxyMiddleware",
        "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware",
        "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware",
        "scrapy.downloadermiddlewares.redirect.RedirectMiddleware",
        "scrapy.downloadermiddlewares.retry.RetryMiddleware",
        "scrapy.downloadermiddlewares.stats.DownloaderStats",
        "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware",
    )
)
SPIDER_MIDDLEWARES = frozenset(
    (
        "crawlproject.middlewares.duplicates.DuplicatesMiddleware",
        "crawlproject.middlewares.links.LinksMiddleware",
        "crawlproject.middlewares.links.OriginMiddleware",
        "crawlproject.monitor.failure_log.CountingHttpErrorMiddleware",
        "scrapy.spidermiddlewares.depth.DepthMiddleware",
        "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware",
        "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware",
        "scrapy.spidermiddlewares.referer.RefererMiddleware",
        "scrapy.spidermiddlewares.start.StartSpiderMiddleware",
        "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware",
    )
)

#: Concurrent requests: no limit.
MANY = 1 << 20

_OFFSITE = frozenset(
    (
        "crawlproject.middlewares.offsite.TolerantOffsiteMiddleware",
        "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware",
    )
)
_LINKS = "crawlproject.middlewares.links.LinksMiddleware"
_CORE_STATS = "scrapy.extensions.corestats.CoreStats"
_CLOSE_SPIDER = "scrapy.extensions.closespider.CloseSpider"
_BACKENDS = frozenset(
    ("crawlproject.backends.disk.DiskBackend", "crawlproject.backends.redis.RedisBackend"),
)

#: Signals of a request -> classes whose receivers the lane calls itself.
REQUEST_SIGNALS: dict[object, frozenset[str]] = {
    signals.request_reached_downloader: frozenset(),
    signals.request_left_downloader: frozenset(),
    signals.response_downloaded: _BACKENDS,
    signals.response_received: frozenset((_CORE_STATS, _CLOSE_SPIDER, "crawlproject.discovery.discovery.Discovery")),
}

#: The same for ``item_scraped``.
ITEM_RECEIVERS = frozenset((_CORE_STATS, _CLOSE_SPIDER, "scrapy.extensions.feedexport.FeedExporter"))


def why_not_download(engine: ExecutionEngine, downloader: Downloader) -> str | None:
    """The reason why requests may not skip the engine and the downloader; None if they may."""
    replaced = _replaced(
        (engine, "scrapy.core.engine.ExecutionEngine"),
        (downloader, "crawlproject.download.downloader.FrontierDownloader"),
        (downloader.middleware, "scrapy.core.downloader.middleware.DownloaderMiddlewareManager"),
    )
    if replaced is not None:
        return replaced
    if downloader.ip_concurrency or downloader.domain_concurrency < MANY:
        return "CONCURRENT_REQUESTS_PER_DOMAIN, or _PER_IP, is set"
    return _unknown(downloader.middleware.middlewares, DOWNLOADER_MIDDLEWARES, "downloader middleware")


def why_not_scrape(scraper: Scraper) -> str | None:
    """The reason why responses may not skip the scraper; None if they may."""
    replaced = _replaced(
        (scraper, "scrapy.core.scraper.Scraper"),
        (scraper.spidermw, "scrapy.core.spidermw.SpiderMiddlewareManager"),
        (scraper.itemproc, "scrapy.pipelines.ItemPipelineManager"),
    )
    if replaced is not None:
        return replaced
    if scraper.itemproc.middlewares:
        return f"the item pipeline {_name(scraper.itemproc.middlewares[0])}"
    return _unknown(scraper.spidermw.middlewares, SPIDER_MIDDLEWARES, "spider middleware")


def push_of_links(middlewares: Iterable[object]) -> Callable[[Links], Awaitable[None]] | None:
    """The function that takes the ``Links`` of callbacks; None if there is none."""
    return next((each.push for each in middlewares if _class(each) == _LINKS), None)  # type: ignore[attr-defined]


def process_of_requests(middleware: object) -> Callable[[Request, Response], Request | None] | None:
    """The function that a known spider middleware applies to each request of a callback; None if it does nothing."""
    if (quicker := quick_process(middleware)) is not None:
        return quicker
    method = getattr(middleware, "get_processed_request", None)
    acts = getattr(method, "__func__", None) is not BaseSpiderMiddleware.get_processed_request
    return method if acts else None


def direct(method: Any) -> Callable[..., Any]:
    """A method of a known middleware, without Scrapy's check for a deprecated argument; what never acts is skipped."""
    owner = method.__self__
    if (quicker := quick(method)) is not None:
        return quicker
    wrapped = getattr(method, "__wrapped__", None)
    called = method if wrapped is None else MethodType(wrapped, owner)
    return on_site(called)


def on_site(method: Callable[..., Any]) -> Callable[..., Any]:
    """``method``; Scrapy's filter of other sites is asked only if the spider has ``allowed_domains``."""
    return partial(_on_site, method) if _class(getattr(method, "__self__", None)) in _OFFSITE else method


def _on_site(filter_request: Callable[..., Any], *, request: Request, **others: Any) -> Any:
    spider = filter_request.__self__.crawler.spider  # type: ignore[attr-defined]
    return filter_request(request=request, **others) if getattr(spider, "allowed_domains", None) else None


def is_known_errback(errback: object) -> bool:
    """Whether an error status is passed on: by that of links, and without one."""
    return errback is None or global_object_name(errback) == "crawlproject.requests.link_request.link_failed"


def why_not_handler(handler: object | None, scheme: str) -> str | None:
    """The reason why downloads of ``scheme`` may not use ``handler``; None if they may, or there is no handler."""
    known = handler is None or _class(handler) == "crawlproject.download.handler.FrontierDownloadHandler"
    return None if known else f"the download handler {_class(handler)} of {scheme}"


def unknown_receiver(receivers: Iterable[Callable[..., Any]], known: frozenset[str], signal: object) -> str | None:
    """The first receiver of ``signal`` that is not a method of a ``known`` class."""
    for receiver in receivers:
        if _class(getattr(receiver, "__self__", None)) not in known:
            name = next(name for name, each in vars(signals).items() if each is signal)
            return f"{_name(receiver)} receives {name}"
    return None


def _replaced(*parts: tuple[object, str]) -> str | None:
    for part, known in parts:
        if _class(part) != known:
            return f"{_class(part)} is used instead of {known}"
    return None


def _unknown(components: Iterable[object], known: frozenset[str], kind: str) -> str | None:
    return next((f"the {kind} {_class(each)}" for each in components if _class(each) not in known), None)


def _class(what: object) -> str:
    return global_object_name(type(what))


def _name(what: object) -> str:
    """The path of a function or method, or of the class of anything else."""
    return global_object_name(what) if hasattr(what, "__qualname__") else _class(what)
