"""Passes ``Links`` from spiders to the frontier, and marks requests with the page that yielded them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawlproject.crawl_frontier import frontier_of
from crawlproject.discovery.link_intake import STEP
from crawlproject.engine import Crawl, forget_selector
from crawlproject.links import Links, TakesLinks
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.options.project_rules import ENABLED
from crawlproject.requests.meta import FOUND_ON, ORIGIN, SKIP_LINKS
from crawlproject.requests.owners import Owners, current
from crawlproject.urls.fates import Reason

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.requests.owners import Owner


class OriginMiddleware(BaseSpiderMiddleware):
    """Marks each request with the page that yielded it (spider middleware, last of all): see ``requests``, ``unstored``
    and ``entries``."""

    _has_frontier: bool | None = None

    def get_processed_request(self, request: Request, response: Response | None) -> Request:
        if response is not None and (page := response.request) is not None:
            if self._has_frontier is None:  # the first request of a page: the scheduler is open
                self._has_frontier = frontier_of(self.crawler) is not None
            if self._has_frontier:
                request.meta[FOUND_ON] = page
                if ORIGIN in page.meta:
                    request.meta[ORIGIN] = page.meta[ORIGIN]
        return request


@TakesLinks.register
class LinksMiddleware(CrawlerMiddleware):
    """Passes ``Links`` from callbacks to the frontier (spider middleware, next to the spider).

    Drops the links of a copy marked ``skip_links``.  Lets large responses go (``forget_selector``).
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._owners = Crawl.of(crawler).part(Owners)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for output in start:
            if isinstance(output, Links):
                await self.push(output)
            else:
                yield output

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        try:
            async for output in result:
                if isinstance(output, Links):
                    await self.push(output)
                else:
                    yield output
        finally:
            forget_selector(response)

    async def push(self, links: Links) -> None:
        """Queue ``links``; yields to the event loop between steps."""
        frontier = frontier_of(self._crawler)
        if frontier is None:
            raise TypeError(f"Links need FrontierScheduler: {ENABLED}")
        if links.response is not None and links.response.meta.get(SKIP_LINKS):
            if links.hrefs:
                frontier.fates.refuse(Reason.ON_COPY, links.hrefs)
            links = replace(links, hrefs=(), quality=None)
        elif self._owners and (owner := current.get()) is not None and links.response is not None:
            links = self._of_spider(owner, links, frontier)
        for step, _ in enumerate(frontier.intake.push_links(links)):
            if step or len(links.hrefs) > STEP:
                await asyncio.sleep(0)

    @staticmethod
    def _of_spider(owner: Owner, links: Links, frontier: CrawlFrontier) -> Links:
        """``links`` of a page of one of several spiders, as its limit of depth and its ``quality_of`` want them."""
        assert links.response is not None
        if links.response.meta.get("depth", 0) >= owner.depth_limit:
            frontier.fates.refuse(Reason.DEPTH, links.hrefs)
            return replace(links, hrefs=(), quality=None)
        quality_of = getattr(owner.spider, "quality_of", None)
        if quality_of is None or links.quality is not None or links.kind != "page":
            return links
        urls = frontier.intake.canonical(links)
        return replace(links, quality=[0.0 if url is None else quality_of(url) for url in urls])
