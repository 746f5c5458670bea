"""Scrapy's filter of other sites, which reads domains as the filter of links does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.exceptions import IgnoreRequest

from crawlproject.crawl_frontier import note_end
from crawlproject.discovery.link_rules import allowed_entries, readable_domains
from crawlproject.urls.fates import Ending, Reason
from crawlproject.urls.server_key import names_of, server_key, server_name

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.statscollectors import StatsCollector


class TolerantOffsiteMiddleware(OffsiteMiddleware):
    """Knows all spellings of a domain (``H.TEST``, ``.h.test``, ``*.h.test``, ``h.test.``, ``münchen.test``) and ports.

    With Scrapy's filter, no request belongs to such an entry.
    """

    def __init__(self, stats: StatsCollector) -> None:
        super().__init__(stats)
        self._entries: tuple[Any, ...] = ()
        self._names: frozenset[str] = frozenset()

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        """Called by Scrapy, for each request that a callback yields, too. Raises IgnoreRequest."""
        of = self.crawler.spider
        if getattr(of, "allowed_domains", None) or getattr(of, "allowed", None):  # else nearly all it does is to look
            try:
                super().process_request(request)
            except IgnoreRequest:
                note_end(self.crawler, request, Ending(Reason.OFFSITE))
                raise

    def should_follow(self, request: Request, spider: Spider) -> bool:
        """Whether the spider's ``allowed`` or ``allowed_domains``, which it may change, cover a request. O(labels)."""
        entries = tuple(allowed_entries(spider)[1])
        if entries != self._entries:
            self._entries, self._names = entries, frozenset(map(server_name, readable_domains(entries)))
        if not self._names:
            return True
        try:
            key = server_key(request.url)
        except ValueError:  # no host
            return False
        return not self._names.isdisjoint(names_of(key))
