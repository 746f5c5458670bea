"""Page limits per server and per registered domain, over all runs of a crawl."""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import TYPE_CHECKING

from crawlproject.frontier.live_limits import LiveLimits
from crawlproject.options.following import LinkOptions
from crawlproject.options.limits import LimitOptions
from crawlproject.urls import domain_of_server, server_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler

    from crawlproject.frontier.frontier import Frontier


def live_limits(crawler: Crawler) -> LiveLimits:
    """The limits of the settings, which the operator may change."""
    limits = LimitOptions.of(crawler)
    return LiveLimits(
        {
            "pages": limits.max_pages,
            "time": 0 if limits.ends_at_time == inf else limits.ends_at_time,
            "depth": LinkOptions.of(crawler).max_depth,
            "server": limits.max_pages_per_server,
            "domain": limits.max_pages_per_domain,
        }
    )


class PageLimits:
    """Counts pages and marks servers as full. A page is a response 2xx or 304 to a frontier request, except sitemaps.

    The URLs of a full server are dropped in this run; a durable frontier keeps the queued ones for a run with a higher
    limit.  The counts of servers are stored with them; those of domains are summed here.
    0 = no limit.  Construction is O(servers).
    """

    def __init__(self, frontier: Frontier, limits: LiveLimits) -> None:
        self._frontier = frontier
        self._limits = limits
        self._pages: Counter[str] = Counter()  # by domain
        self._servers: dict[str, set[str]] = {}  # domain -> keys of its servers that are not full
        self.load([server.key for server in frontier.servers])

    @property
    def _per_server(self) -> int:
        return int(self._limits["server"])

    @property
    def _per_domain(self) -> int:
        return int(self._limits["domain"])

    def __bool__(self) -> bool:
        return bool(self._per_server or self._per_domain)

    def load(self, keys: Sequence[str]) -> None:
        """Count the pages of the stored servers ``keys``, which include all known servers of their domains."""
        for domain in {domain_of_server(key) for key in keys} if self._per_domain else ():
            self._pages.pop(domain, None)
            self._servers.pop(domain, None)
        for key in keys:
            server = self._frontier.servers[key]
            if self._per_domain:
                self._pages[domain_of_server(key)] += server.fetched
            if server.fetched >= self._per_server > 0:
                self._frontier.fill(key)
            elif server.full and not server.left:
                self._frontier.reopen(key)
        for key in keys:
            self.register(key)

    def fetched(self, key: str, quality: float = 0.0) -> None:
        """Count a page of the server ``key``, of this ``quality``. O(log servers); O(its URLs) at a limit."""
        self._frontier.page_fetched(key, self._per_server, quality)
        if not self._per_domain:
            return
        domain = domain_of_server(key)
        self._pages[domain] += 1
        if self._pages[domain] == self._per_domain:
            for other in sorted(self._servers.pop(domain, ())):
                self._frontier.fill(other)

    def register(self, key: str) -> bool:
        """Register the server ``key`` before it gets a URL; returns whether it or its domain is full. O(length)."""
        server = self._frontier.server(key)
        if server is not None and server.full and not server.left:
            return True
        if not self._per_domain:
            return False
        domain = domain_of_server(key)
        if self._pages[domain] >= self._per_domain:
            self._frontier.fill(key)
            return True
        self._servers.setdefault(domain, set()).add(key)
        return False

    def refuses(self, url: str) -> bool:
        """Whether the canonical ``url`` belongs to a full server or domain. O(length).

        A new server of a full domain is not added to the frontier: a domain may have any number of them.
        """
        key = server_key(url)
        is_unknown = self._per_domain > 0 and self._frontier.server(key) is None
        return (is_unknown and self._pages[domain_of_server(key)] >= self._per_domain) or self.register(key)
