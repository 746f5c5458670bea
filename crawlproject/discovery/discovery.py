"""Feeds links from pages, sitemaps and robots.txt into the frontier."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from crawlproject.discovery.crawl_delays import CrawlDelays
from crawlproject.discovery.links import STEP, LinkIntake
from crawlproject.discovery.sitemaps import SitemapIntake
from crawlproject.discovery.skipped_files import SkippedFiles
from crawlproject.options.links import LinkOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser

    from crawlproject.discovery.page_limits import PageLimits
    from crawlproject.discovery.trap_guard import Around, TrapGuard
    from crawlproject.frontier import Entry
    from crawlproject.frontier.quality import Quality
    from crawlproject.links import Links
    from crawlproject.urls import LinkFilter


class Discovery:
    """Queues what is new. ``queued`` is told how many URLs each time, and one of them."""

    def __init__(
        self,
        crawler: Crawler,
        around: Around,
        link_filter: LinkFilter,
        quality: Quality,
        queued: Callable[[int, Entry], None],
    ) -> None:
        self._frontier, seen, self._backend, stats = around
        self._queued = queued
        assert crawler.spider is not None
        options = LinkOptions.of(crawler)
        self._intake = LinkIntake(seen, link_filter, quality, stats, options)
        self.files = self._intake.files = SkippedFiles(self._frontier, stats, options)
        self._sitemaps = SitemapIntake(seen, link_filter.without_patterns(), stats, options, crawler.spider)
        self._crawl_delays = CrawlDelays(self._frontier, stats, crawler.settings)

    def guard_by(self, guard: TrapGuard | None) -> None:
        """Have links judged by ``guard``."""
        self._intake.guard = guard

    def limit_by(self, limits: PageLimits) -> None:
        """Have links of full servers refused."""
        self._intake.limits = limits

    def push_links(self, links: Links) -> Iterator[None]:
        """A page's or sitemap's links, in steps of 0.1 s at most; between them the event loop may have its turn.

        O(links).
        """
        if links.kind == "sitemap index":
            self._push_sitemaps(self._sitemaps.of_index(links), links.response)
            return
        if links.kind == "page":
            yield from self._push(links)
            return
        for start in range(0, max(1, len(links.hrefs)), STEP):
            yield from self._push(self._sitemaps.own(replace(links, hrefs=links.hrefs[start : start + STEP])))

    def _push(self, links: Links) -> Iterator[None]:
        for found in self._intake.find_in_steps(links, self._backend.pack_callback(links.callback)):
            if found is not None:
                entries = self._backend.hold(found.entries, links.response)
                self._frontier.push(entries, found.found_on, from_sitemap=links.kind == "sitemap")
                self._frontier.raise_quality(found.raised)
                if entries:
                    self._queued(len(entries), entries[0])
            yield

    def robots_parsed(self, robotparser: RobotParser, request: Request) -> None:
        """A robots.txt file's Crawl-delay and sitemaps."""
        self._crawl_delays.robots_parsed(robotparser, request)
        self._push_sitemaps(self._sitemaps.of_robots(getattr(robotparser, "sitemaps", ()), request))

    def answered(self, response: Response) -> None:
        """An answer of any server: its type is learned from."""
        self.files.learn(response)

    def close(self) -> None:
        """The crawl ends."""
        self._intake.close()

    def _push_sitemaps(self, found: list[Entry], index: Response | None = None) -> None:
        packed = [entry._replace(payload=self._backend.pack_callback(entry.payload)) for entry in found]
        entries = self._backend.hold(packed, index)
        for entry in entries:
            self._frontier.push_sitemap(entry)
        if entries:
            self._queued(len(entries), entries[0])
