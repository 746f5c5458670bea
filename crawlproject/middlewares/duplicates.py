"""Marks duplicate pages and applies the consequences."""

from __future__ import annotations

import logging
from functools import partial
from itertools import islice
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
from crawlproject.frontier.guard.copies import MIN_TIMES, is_circle
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.options.duplicates import DuplicateOptions
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.requests.meta import DUPLICATE_OF, NEAR_DUPLICATE_OF, SKIP_LINKS
from crawlproject.seen.fingerprint import bytes_fingerprint
from crawlproject.storage.content_file import FILE_NAME, ContentFile
from crawlproject.urls import host_of, resolve, server_key

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response, TextResponse

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.download.resolver import Found

logger = logging.getLogger(__name__)

#: Factor on a mirror's rank; not 0, because a mirror may have some pages of its own.
MIRROR_FACTOR = 0.1

#: Links of a copy examined for one that leads in a circle.
MAX_LINKS = 200


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
        is_circle = label == "exact" and self._is_circle(response, content)
        if self._options.follow == "none" or (is_circle and self._options.follow == "near"):
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

    def _is_circle(self, response: TextResponse, content: int) -> bool:
        """Whether the links of an exact copy are known to lead only to more copies, at ever longer paths.

        The links of all other copies are followed: relative ones may be the only links to some pages, and a known URL
        costs only a lookup in the seen-set.
        """
        crawl = frontier_of(self._crawler)
        if crawl is None or crawl.frontier.servers.learn_copy(server_key(response.url), content) <= MIN_TIMES:
            return False
        page = read_page(response)
        deeper = islice((href for href in page.hrefs if "/" in href[1:]), MAX_LINKS)
        return is_circle(response.url, (resolve(href, page.base) for href in deeper))

    def _learn(self, url: str, first: str | None) -> None:
        """Count a page for its server, as a copy if ``first`` is given; demote mirrors."""
        self._stats.inc_value("duplicates/pages")
        crawl = frontier_of(self._crawler)
        if crawl is None:
            return
        server = server_key(url)
        crawl.intake.learn_content(server, url, copy=first is not None)
        if first is None or server == server_key(first) or _path(url) != _path(first):
            return
        if _path(url) == ("/", "") and not crawl.admits_any:
            self._compare_names(crawl, server, server_key(first))
        mirror = crawl.frontier.servers.learn_shared(server, server_key(first))
        if mirror is not None:
            self._stats.inc_value("duplicates/mirrors")
            other = server_key(first) if mirror == server else server
            logger.info("%s is a mirror of %s: its rank is lowered", mirror, other)
            crawl.frontier.servers.demote(mirror, MIRROR_FACTOR)

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
