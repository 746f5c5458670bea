"""The frontier in a directory that outlives the process."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.asyncio import call_later

from crawlproject.backends.recrawl import AGAIN, Recrawl, unpack_again
from crawlproject.backends.storing import StoringBackend, order_of
from crawlproject.clock import CLOCK
from crawlproject.engine import end_crawl
from crawlproject.frontier.quality import LinkQuality
from crawlproject.options.redis import WORKERS_LOCK
from crawlproject.requests.meta import RECRAWL, REPLACED
from crawlproject.requests.unstored import Unstored
from crawlproject.signals import commit_failed
from crawlproject.storage.directory import SPIDERS, StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.errors import StoreError
from crawlproject.storage.fates import DiskFates
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.storage.replacing import replace_file
from crawlproject.storage.seen import DiskSeenStore

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.utils.asyncio import CallLaterResult

    from crawlproject.backends.protocol import Host
    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.options.scheduling import FrontierOptions
    from crawlproject.requests.unstored import PageUnderWay

logger = logging.getLogger(__name__)


class DiskBackend(StoringBackend):
    """Keeps URLs, servers and seen-set in a directory; a restart continues from the last commit.

    Commits every ``FRONTIER_COMMIT_INTERVAL`` seconds and at the end.
    """

    place = "disk"
    keeps_pages = True

    def __init__(
        self, crawler: Crawler, options: FrontierOptions, frontier: Frontier, seen: SeenDupeFilter, host: Host
    ) -> None:
        """Open the store and load frontier and seen-set. Raises StoreError. O(servers)."""
        super().__init__(crawler, frontier, seen, host)
        assert crawler.spider is not None
        assert options.directory is not None
        self._options = options
        self._directory = self.directory = options.directory
        self._timer: CallLaterResult | None = None
        self._has_failed = False
        lock = self._directory.parent / WORKERS_LOCK
        if options.place.startswith("JOBDIR") and lock.exists() and not self._directory.exists():
            reason = "holds a crawl of several processes (scrapy workers); name another directory"
            raise StoreError(self._directory, reason)
        self._store = DiskStore(self._directory, StoreLabel(crawler.spider.name, order_of(frontier)))
        self._load(frontier, seen)
        self._set_timer()

    def _load(self, frontier: Frontier, seen: SeenDupeFilter) -> None:
        options = self._options
        indexed = isinstance(options.quality, LinkQuality)
        try:
            servers = DiskFrontierStore(self._store, time.time() - CLOCK(), indexed=indexed)
            servers.load(frontier, CLOCK())
            self._server_store, self.urls = servers, servers.urls()
            self._seen_store = stored = DiskSeenStore(self._store)
            seen.use_store(stored)
            DiskFates(self._store, self._fates)
            self._recall_spiders()
            if len(frontier) or len(stored):
                self._check_feeds(self._directory, "crawl")
            if len(frontier):
                logger.info(
                    "Resumed from %s: URLs queued: %d, servers: %d", self._directory, len(frontier), servers.count
                )
            self._stats.set_value("frontier/resumed", len(frontier))
            self._recrawl = Recrawl(self._crawler, self._store, servers, self._codec, seen.canonicalizer)
            if options.recrawl_age is not None:
                self._recrawl.put_back(frontier, options.recrawl_age)
        except StoreError:
            self._store.close()
            raise
        self._crawler.signals.connect(self._downloaded, signals.response_downloaded)

    def _recall_spiders(self) -> None:
        file = self._directory / SPIDERS
        try:
            known = file.read_text(encoding="utf-8") if file.exists() else ""
            names = self._owners.recall(known, to_web=self._options.missing_to_web)
            if self._owners and names != known:
                replace_file(file, names)
        except (OSError, ValueError) as error:
            raise StoreError(self._directory, f"{SPIDERS}: {error}") from error

    def pack(self, request: Request) -> Any:
        payload = super().pack(request)
        if type(payload) is bytes and RECRAWL in request.meta:
            request.meta[RECRAWL][REPLACED] = True  # a retry: it shares this dict with the request it was copied from
        return payload

    def unpack(self, entry: Entry) -> Request:
        if not self.is_refetched(entry):
            return super().unpack(entry)
        mark, payload = unpack_again(entry.payload)
        request = super().unpack(entry._replace(payload=payload))
        request.meta[RECRAWL] = mark
        return request

    def is_link(self, entry: Entry) -> bool:
        if self.is_refetched(entry):
            entry = entry._replace(payload=unpack_again(entry.payload)[1])
        return super().is_link(entry)

    def is_refetched(self, entry: Entry) -> bool:
        return type(entry.payload) is bytes and entry.payload.startswith(AGAIN)

    async def saved(self) -> bool:
        return self._commit()

    def close(self) -> None:
        """Commit finished requests and release the directory."""
        if self._timer is not None:
            self._timer.cancel()
        self._commit()
        self._report_unstored()
        self._store.close()

    def _set_timer(self) -> None:
        self._timer = call_later(self._options.commit_interval, self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._commit():
            self._set_timer()

    def _commit(self) -> bool:
        """Commit; if that fails, end the crawl and return False. Earlier commits are safe."""
        if self._has_failed:
            return False
        try:
            self._find_done()
            start = CLOCK()
            if self._store.commit():
                self._stats.inc_value("frontier/commits")
                self._stats.max_value("frontier/commit_time", round(CLOCK() - start, 3))
            if self._seen_file is not None:
                self._seen_file.release()
        except StoreError as error:
            self._stats.inc_value("frontier/commit_errors")
            self._crawler.signals.send_catch_log(commit_failed)
            self._has_failed = True
            logger.critical("The frontier cannot be stored, the crawl ends: %s", error)
            if self._directory.exists():
                logger.critical("Earlier commits are safe in %s; start the crawl again to continue", self._directory)
            end_crawl(self._crawler, "store_failed")
            return False
        return True

    def _kept(self, page: PageUnderWay) -> None:
        self._recrawl.kept(page.request)

    def _done(self, page: PageUnderWay) -> None:
        if not isinstance(page.entry.payload, Unstored):
            self._recrawl.acknowledged(page.request, page.entry)
        super()._done(page)

    def _downloaded(self, request: Request, response: Response) -> None:
        if request in self._handed_out:
            self._recrawl.answered(request, response)
