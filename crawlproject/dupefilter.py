"""The dupefilter: requests and links against one seen-set."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.request import RequestFingerprinter

from crawlproject.seen import MemorySeenSet, bytes_fingerprint, url_fingerprint
from crawlproject.urls import Canonicalizer

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from scrapy.utils.request import RequestFingerprinterProtocol

    from crawlproject.storage import DiskSeenStore

logger = logging.getLogger(__name__)


def canonicalizer_from_settings(settings: BaseSettings) -> Canonicalizer:
    """The project's canonical form of URLs: ``URL_DROP_PARAMETERS`` lists the parameters to remove."""
    drop = settings.getlist("URL_DROP_PARAMETERS") if settings.get("URL_DROP_PARAMETERS") is not None else None
    return Canonicalizer() if drop is None else Canonicalizer(drop)


class StoredSeenSet:
    """As ``MemorySeenSet``, over a store."""

    def __init__(self, store: DiskSeenStore) -> None:
        self._store = store

    def add_if_new(self, fingerprint: int) -> bool:
        """Add ``fingerprint``; True if it had not been there."""
        return self._store.add_new([fingerprint])[0]


class SeenDupeFilter(BaseDupeFilter):
    """``DUPEFILTER_CLASS`` on the seen-set.

    A plain GET counts by its canonical URL, so that spellings of one page are one; anything else, and every
    request of a project with a fingerprinter of its own, by Scrapy's request fingerprint.
    """

    def __init__(
        self,
        canonicalizer: Canonicalizer,
        fingerprinter: RequestFingerprinterProtocol,
        *,
        debug: bool = False,
    ) -> None:
        self.seen: MemorySeenSet | StoredSeenSet = MemorySeenSet()
        self.canonicalizer = canonicalizer
        self._fingerprinter = fingerprinter
        self._by_url = type(fingerprinter) is RequestFingerprinter
        self._debug = debug
        self._logged = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Settings: ``URL_DROP_PARAMETERS``, ``DUPEFILTER_DEBUG``, ``REQUEST_FINGERPRINTER_CLASS``."""
        assert crawler.request_fingerprinter is not None
        return cls(
            canonicalizer_from_settings(crawler.settings),
            crawler.request_fingerprinter,
            debug=crawler.settings.getbool("DUPEFILTER_DEBUG"),
        )

    def use_store(self, store: DiskSeenStore) -> None:
        """Remember in ``store``, beyond this run; to be called before the first test."""
        self.seen = StoredSeenSet(store)

    def request_seen(self, request: Request) -> bool:
        """Whether an equal request has been met; it has been now.

        A redirect to another spelling of its own page is not: the page has not been fetched yet.
        """
        sources = request.meta.get("redirect_urls") or ()
        if request.url not in sources and any(self._is_same_page(source, request.url) for source in sources):
            return False
        return not self.seen.add_if_new(self._fingerprint(request))

    def url_is_new(self, url: str) -> bool:
        """Whether the canonical ``url`` has not been met; it has been now."""
        return self.seen.add_if_new(url_fingerprint(url))

    def log(self, request: Request, spider: Spider) -> None:
        """Count a filtered request, and log the first, or all with ``DUPEFILTER_DEBUG``."""
        if self._debug or not self._logged:
            more = "" if self._debug else " - no more duplicates will be shown (see DUPEFILTER_DEBUG to show all)"
            logger.debug("Filtered duplicate request: %s%s", request, more, extra={"spider": spider})
            self._logged = True
        assert spider.crawler.stats is not None
        spider.crawler.stats.inc_value("dupefilter/filtered")

    def _is_same_page(self, one: str, other: str) -> bool:
        canonical = self.canonicalizer.canonical(one)
        return self._by_url and canonical is not None and canonical == self.canonicalizer.canonical(other)

    def _fingerprint(self, request: Request) -> int:
        if self._by_url and request.method == "GET" and not request.body:
            canonical = self.canonicalizer.canonical(request.url)
            if canonical is not None:
                return url_fingerprint(canonical)
        return bytes_fingerprint(self._fingerprinter.fingerprint(request))
