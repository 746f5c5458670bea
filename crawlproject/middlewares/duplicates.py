"""Marks duplicate pages and applies the consequences."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawlproject.content.near import NearDuplicates
from crawlproject.content.sketch import IS_FAST, PageSketch
from crawlproject.crawl_frontier import frontier_of
from crawlproject.discovery.page_reading import is_html, read_page
from crawlproject.download.resolver import CachingResolver
from crawlproject.engine import Crawl
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.options.duplicates import DuplicateOptions
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.requests.meta import DUPLICATE_OF, NEAR_DUPLICATE_OF, SKIP_LINKS
from crawlproject.seen.fingerprint import bytes_fingerprint
from crawlproject.storage.content_file import FILE_NAME, ContentFile
from crawlproject.urls import host_of, server_key

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response, TextResponse

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.download.resolver import Found

logger = logging.getLogger(__name__)


class DuplicatesMiddleware(CrawlerMiddleware):
    """Compares every HTML page with the earlier ones (spider middleware, after HttpErrorMiddleware).

    Before the callback runs, sets ``response.meta["duplicate_of"]`` or ``["near_duplicate_of"]`` to the URL of the
    first page, and ``["skip_links"]`` if the links of the copy are not followed.  A refetched page is not a copy of
    itself.
    Settings: ``FRONTIER_DUPLICATES_*``.  Stats: ``duplicates/*``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._options = options = DuplicateOptions.of(crawler)
        if not (options.exact or options.near):
            raise NotConfigured
        super().__init__(crawler)
        directory = FrontierOptions.of(crawler).directory
        failed = partial(self._stats.inc_value, "duplicates/damaged")
        self._contents = ContentFile(None if directory is None else directory / FILE_NAME, failed)
        self._near = NearDuplicates(options.near_pages, options.threshold) if options.near else None
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    def _opened(self) -> None:
        if self._near is not None and not IS_FAST:
            logger.info(
                "FRONTIER_DUPLICATES_NEAR takes twenty times the CPU without its part in C, which needs a C compiler"
            )
        try:
            self._contents.open()
        except (ValueError, OSError) as error:
            logger.error("Contents of earlier runs cannot be read and are ignored: %s", error)
            self._contents = ContentFile(None)
            self._contents.open()

    def _closed(self) -> None:
        self._contents.close()

    def process_spider_input(self, response: Response) -> None:
        """Compare an HTML page; ignore other responses."""
        meta = response.meta
        for name in (DUPLICATE_OF, NEAR_DUPLICATE_OF, SKIP_LINKS):  # left by the request this one copies
            meta.pop(name, None)
        request = response.request
        if response.status == 200 and request is not None and request.method == "GET" and is_html(response):
            self._judge(cast("TextResponse", response))

    def _judge(self, response: TextResponse) -> None:
        url, first, content = response.url.partition("#")[0], None, bytes_fingerprint(response.body)
        if self._options.exact:
            first = self._contents.first(content, url)
            if first == url:
                return  # fetched again
        label = "near" if first is None else "exact"
        if first is None and self._near is not None:
            first = self._first_like(url, response)
        self._learn(url, first)
        if first is None:
            return
        response.meta[DUPLICATE_OF if label == "exact" else NEAR_DUPLICATE_OF] = first
        self._stats.inc_value(f"duplicates/{label}")
        if self._options.follow == "none":
            response.meta[SKIP_LINKS] = True
            self._stats.inc_value("duplicates/not_followed")

    def _first_like(self, url: str, response: TextResponse) -> str | None:
        assert self._near is not None
        page = read_page(response, with_text=True)
        sketch = PageSketch.of(page.title, page.text or "", page.pictures)
        if sketch is None:
            self._stats.inc_value("duplicates/short")
            return None
        return self._near.first_like(url, sketch)

    def _learn(self, url: str, first: str | None) -> None:
        """Count a page for its server, as a copy if ``first`` is given; compare names of one front page."""
        self._stats.inc_value("duplicates/pages")
        crawl = frontier_of(self._crawler)
        if crawl is None:
            return
        server = server_key(url)
        crawl.intake.learn_content(server, copy=first is not None)
        if first is None or server == server_key(first) or crawl.admits_any:
            return
        if _path(url) == _path(first) == ("/", ""):
            self._compare_names(crawl, server, server_key(first))

    def _compare_names(self, crawl: CrawlFrontier, one: str, other: str) -> None:
        """Two servers have one front page: they are one if the host of one is an alias of the other's, by DNS.

        Through a proxy nothing is known of addresses.
        """
        resolver = Crawl.of(self._crawler).part(CachingResolver)

        def compare(of_one: Found, of_other: Found) -> None:
            if set(of_one.addresses).isdisjoint(of_other.addresses):
                return
            if host_of(other) in of_one.names:
                crawl.intake.merge(one, other)
            elif host_of(one) in of_other.names:
                crawl.intake.merge(other, one)

        if _place(one) == _place(other):
            resolver.ask(host_of(one), lambda found: resolver.ask(host_of(other), partial(compare, found)))


def _place(key: str) -> tuple[str, str]:
    parts = urlsplit(key)
    return parts.scheme, parts.netloc.removeprefix(host_of(key))


def _path(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.path, parts.query
