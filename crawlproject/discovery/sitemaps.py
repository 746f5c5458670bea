"""Queues the sitemaps that robots.txt and sitemap indexes list."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from crawlproject.frontier.entry import Entry
from crawlproject.links import Links, sitemap_callback
from crawlproject.urls import server_key, why_none
from crawlproject.urls.fates import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from scrapy import Request, Spider
    from scrapy.statscollectors import StatsCollector

    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.options.following import LinkOptions
    from crawlproject.requests.owners import Owners
    from crawlproject.urls import LinkFilter
    from crawlproject.urls.fates import Fates

logger = logging.getLogger(__name__)

#: Sitemaps fetched per server: an index may list further indexes without end.
MAX_PER_SERVER = 1000

#: Sitemaps read from one file; the rest is skipped.
MAX_LISTED = 5 * MAX_PER_SERVER


class SitemapIntake:
    """Turns URLs of sitemaps into frontier entries, each once; drops URLs of other servers from sitemaps.

    Sitemaps of robots.txt are fetched only with ``FRONTIER_LINKS_SITEMAPS`` and a spider with ``parse_sitemap``.  The
    default is off: a sitemap of 50,000 URLs would fill a small crawl with pages of one server, of unknown quality.
    Stats: ``frontier/sitemaps/found``, ``frontier/sitemaps/urls``.
    """

    def __init__(  # noqa: PLR0913
        self,
        seen: SeenDupeFilter,
        link_filter: LinkFilter,
        stats: StatsCollector,
        options: LinkOptions,
        spider: Spider,
        fates: Fates,
        owners: Owners,
    ) -> None:
        self._owners = owners
        self._seen = seen
        self._filter = replace(link_filter, extensions=frozenset())  # sitemaps may end in .gz or .txt
        self._stats = stats
        self._fates = fates
        self._callback: Callable[..., Any] | None = None
        if options.sitemaps:
            self._callback = sitemap_callback(spider)
        self._counts: Counter[str] = Counter()  # by server

    def of_robots(self, sitemaps: Iterable[str], page: Request) -> list[Entry]:
        """Entries for ``sitemaps`` of the robots.txt of the server of ``page``; none without
        ``FRONTIER_LINKS_SITEMAPS``, or if its spider, one of several, reads none.
        """
        owner = self._owners.of(page.url)
        callback = self._callback and (self._callback if owner is None else sitemap_callback(owner.spider))
        if callback is None:
            return []
        depth = max(1, page.meta.get("depth", 0))
        return self._entries(list(sitemaps), page.url, depth, callback)

    def of_index(self, links: Links) -> list[Entry]:
        """Entries for the sitemaps listed in an index."""
        assert links.response is not None
        depth = links.response.meta.get("depth", 1)
        return self._entries(links.hrefs, links.response.url, depth, links.callback)

    def own(self, links: Links) -> Links:
        """The links of a sitemap to its own server; it has no authority over others.

        The protocol requires absolute URLs, but exporters of static sites write relative ones.
        """
        assert links.response is not None
        start = server_key(links.response.url) + "/"
        urls = self._seen.canonicalizer.batch(links.hrefs, links.response.url)
        own: list[str] = []
        foreign: list[str] = []
        for href, url in zip(links.hrefs, urls, strict=True):
            if url is None:
                self._fates.refuse(why_none(href), [href])
            else:
                (own if url.startswith(start) else foreign).append(url)
        self._fates.refuse(Reason.FOREIGN, foreign)
        self._count("urls", len(own))
        return replace(links, hrefs=own)

    def _entries(self, urls: Sequence[str], base: str, depth: int, callback: Callable[..., Any] | None) -> list[Entry]:
        """An entry for each new sitemap among ``urls`` on the server of ``base``, the file that lists them."""
        key = server_key(base)
        entries = []
        self._fates.refuse(Reason.SITEMAP_LIMIT, urls[MAX_LISTED:])
        listed = urls[:MAX_LISTED]
        for href, url in zip(listed, self._seen.canonicalizer.batch(listed, base), strict=True):
            reason = why_none(href) if url is None else self._reason(url, key)
            if url is None or reason is not None:
                self._fates.refuse(reason or Reason.MALFORMED, [url or href])
            elif self._seen.url_is_new(url):
                self._counts[key] += 1
                self._count("found", 1)
                entries.append(Entry(url, depth=depth, payload=callback))
        return entries

    def _reason(self, url: str, key: str) -> Reason | None:
        """Why a sitemap at ``url``, which a file of the server ``key`` lists, is not fetched."""
        if server_key(url) != key:
            return Reason.FOREIGN
        return self._filter.reason(url) or (Reason.SITEMAP_LIMIT if self._counts[key] >= MAX_PER_SERVER else None)

    def _count(self, name: str, count: int) -> None:
        if count:
            self._stats.inc_value(f"frontier/sitemaps/{name}", count)
