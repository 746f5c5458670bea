"""Marks pages whose content was met before, and has what follows from it done."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawlproject.content import IS_FAST, Mirrors, NearDuplicates, PageSketch
from crawlproject.content_file import FILE_NAME, ContentFile
from crawlproject.duplicate_options import DuplicateOptions
from crawlproject.extras import install_command
from crawlproject.links import DUPLICATE_OF, NEAR_DUPLICATE_OF, SKIP_LINKS
from crawlproject.middlewares import frontier_scheduler
from crawlproject.options import FrontierOptions
from crawlproject.page_reading import is_html, read_page
from crawlproject.seen import bytes_fingerprint
from crawlproject.urls import server_key

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response, TextResponse

logger = logging.getLogger(__name__)


class DuplicatesMiddleware:
    """Compares every HTML page with those before it (spider middleware, after HttpErrorMiddleware).

    Sets ``response.meta["duplicate_of"]`` or ``["near_duplicate_of"]`` to a URL, and ``["skip_links"]`` where the links
    of a copy are not to be followed, before the callback runs.  A page fetched again is no copy of itself.
    Settings: ``DUPLICATES_*``.  Stats: ``duplicates/*``.
    """

    def __init__(self, crawler: Crawler, options: DuplicateOptions, directory: Path | None) -> None:
        assert crawler.stats is not None
        self._crawler = crawler
        self._stats = crawler.stats
        self._options = options
        self._depth_limit = crawler.settings.getint("DEPTH_LIMIT")
        self._contents = ContentFile(None if directory is None else directory / FILE_NAME)
        self._near = NearDuplicates(options.near_pages, options.threshold) if options.near else None
        self._mirrors = Mirrors()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Raises NotConfigured where nothing is to be looked for, ValueError for a wrong setting."""
        options = DuplicateOptions.from_settings(crawler.settings)
        if not (options.exact or options.near):
            raise NotConfigured
        frontier = FrontierOptions.from_settings(crawler.settings)
        middleware = cls(crawler, options, frontier.directory if frontier.backend == "disk" else None)
        crawler.signals.connect(middleware.spider_opened, signals.spider_opened)
        crawler.signals.connect(middleware.spider_closed, signals.spider_closed)
        return middleware

    def spider_opened(self) -> None:
        """Read the contents met by earlier runs; a file that cannot be used costs a line in the log."""
        if self._near is not None and not IS_FAST:
            logger.info("DUPLICATES_NEAR takes ten times the CPU without numpy: %s", install_command("fast"))
        try:
            self._contents.open()
        except (ValueError, OSError) as error:
            logger.error("Contents of earlier runs are not known: %s", error)
            self._contents = ContentFile(None)
            self._contents.open()

    def spider_closed(self) -> None:
        """Release the file."""
        self._contents.close()

    def process_spider_input(self, response: Response) -> None:
        """Judge a page; others are left alone."""
        for name in (DUPLICATE_OF, NEAR_DUPLICATE_OF, SKIP_LINKS):  # of a response to the request it was copied from
            response.meta.pop(name, None)
        request = response.request
        if response.status == 200 and request is not None and request.method == "GET" and is_html(response):
            self._judge(cast("TextResponse", response))

    def _judge(self, response: TextResponse) -> None:
        first, depth, label = None, 0, "exact"
        if self._options.exact:
            page = self._contents.first(
                bytes_fingerprint(response.body) or 1, response.url, response.meta.get("depth", 0)
            )
            if page is not None and page.url == response.url:
                return  # fetched again
            if page is not None:
                first, depth = page
        if first is None and self._near is not None:
            first, label = self._first_like(response), "near"
        self._learn(response.url, first)
        if first is None:
            return
        response.meta[DUPLICATE_OF if label == "exact" else NEAR_DUPLICATE_OF] = first
        self._stats.inc_value(f"duplicates/{label}")
        is_shallower = label == "exact" and response.meta.get("depth", 0) < depth
        if not self._is_followed(response.url, first, label, is_shallower=is_shallower):
            response.meta[SKIP_LINKS] = True
            self._stats.inc_value("duplicates/not_followed")

    def _first_like(self, response: TextResponse) -> str | None:
        assert self._near is not None
        page = read_page(response, with_text=True)
        sketch = PageSketch.of(page.title, page.text or "")
        if sketch is None:
            self._stats.inc_value("duplicates/short")
            return None
        return self._near.first_like(response.url, sketch)

    def _is_followed(self, url: str, first: str, label: str, *, is_shallower: bool) -> bool:
        """Whether the links of a copy are.

        Those of an exact copy are the same links where it stands beside the first.  Elsewhere they may lead to pages
        that no other link leads to: they are followed until most pages of the server have turned out to be copies.
        """
        if self._options.follow != "near" or label == "near":
            return self._options.follow != "none"
        if self._depth_limit and is_shallower:
            return True  # links that were too deep for the first
        return _place(url) != _place(first) and not self._mirrors.has_mostly_copies(server_key(url))

    def _learn(self, url: str, first: str | None) -> None:
        """Count a page for its server and, where it is a copy, against it; report mirrors."""
        server = server_key(url)
        self._stats.inc_value("duplicates/pages")
        self._mirrors.met(server, copy=first is not None)
        scheduler = frontier_scheduler(self._crawler)
        if scheduler is not None:
            scheduler.learn_content(server, copy=first is not None, url=url)
        if first is None or server == server_key(first) or _path(url) != _path(first):
            return
        demoted = self._mirrors.met_in_place(server, server_key(first))
        if demoted is not None:
            self._stats.inc_value("duplicates/mirrors")
            other = server_key(first) if demoted == server else server
            logger.info("%s is a mirror of %s: its rank is lowered", demoted, other)
            if scheduler is not None:
                scheduler.demote(demoted, self._options.mirror_factor)


def _path(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.path, parts.query


def _place(url: str) -> str:
    """What relative links are completed with."""
    return url.partition("#")[0].partition("?")[0].rpartition("/")[0]
