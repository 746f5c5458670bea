"""The frontier in a directory that outlives the process."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.utils.asyncio import call_later

from crawlproject.backends.feeds import overwritten_feed
from crawlproject.backends.protocol import Backend
from crawlproject.backends.recrawl import AGAIN, Recrawl, unpack_again
from crawlproject.clock import CLOCK
from crawlproject.engine import end_crawl, stats_of, unfinished_requests
from crawlproject.frontier.quality import LinkQuality
from crawlproject.requests.codec import RequestCodec
from crawlproject.requests.link_request import link_request, request_of
from crawlproject.requests.meta import KEEP, RECRAWL, REPLACED
from crawlproject.requests.unstored import PagesUnderWay, Unstored
from crawlproject.requests.value_codec import NotSerializableError
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.errors import StoreError
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.storage.seen import DiskSeenStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.utils.asyncio import CallLaterResult

    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.options.frontier import FrontierOptions
    from crawlproject.requests.unstored import PageUnderWay

logger = logging.getLogger(__name__)

#: Different reasons for which requests cannot be stored that are logged.
MAX_REASONS = 100

#: Parts of ``frontier/unserializable/…`` -> what is logged at the end.
_AT_THE_END = {
    "refetched": "%d pages will be fetched again by the next run: requests that come from them could not be stored",
    "lost": "%d requests that could not be stored are lost: no page leads to them (start requests are made again)",
}


class DiskBackend(Backend):
    """URLs, servers and seen-set in a directory; a restart goes on where the last commit was.

    An entry stays stored until the engine is through with its request: page parsed, items through the pipelines,
    links queued; or failed, dropped, ignored for good.  A redirect or retry is stored as an entry of its own before
    the first one is removed.  A request that cannot be written is kept in memory: the page that it comes from stays
    stored until it is done, and it does not count as seen in the store until then.
    Committed every ``interval`` seconds and at the end.
    Stats: ``frontier/commits``, ``frontier/commit_time`` (longest, seconds), ``scheduler/unserializable``,
    ``frontier/unserializable/refetched``, ``frontier/unserializable/lost``, ``frontier/resumed`` (URLs found in the
    store).
    """

    def __init__(self, crawler: Crawler, options: FrontierOptions, frontier: Frontier, seen: SeenDupeFilter) -> None:
        """Open the store and fill frontier and seen-set. Raises StoreError; O(servers)."""
        assert crawler.spider is not None
        assert options.directory is not None
        self._crawler = crawler
        self._options = options
        self._directory = options.directory
        self._frontier = frontier
        self._seen = seen
        self._stats = stats_of(crawler)
        self._handed_out: dict[Request, PageUnderWay] = {}
        self._pages = PagesUnderWay(self._done)
        self._orphans = 0  # requests that are not stored, and that no page leads to
        self._reasons: set[str] = set()  # why requests were not stored, as logged
        self._timer: CallLaterResult | None = None
        self._has_failed = False
        self._codec = RequestCodec(
            crawler.spider,
            [*crawler.settings.getlist("SPIDER_MODULES"), os.environ.get("SCRAPY_SETTINGS_MODULE", "")],
        )
        order = "quality" if options.policy.by_quality else "arrival"
        self._store = DiskStore(self._directory, StoreLabel(crawler.spider.name, order))
        self._load(frontier, seen)
        self._set_timer()

    def _load(self, frontier: Frontier, seen: SeenDupeFilter) -> None:
        options = self._options
        indexed = isinstance(options.quality, LinkQuality)
        try:
            servers = DiskFrontierStore(self._store, time.time() - CLOCK(), indexed=indexed)
            servers.load(frontier, CLOCK(), options.politeness.longest_wait)
            self._seen_store = DiskSeenStore(self._store)
            seen.use_store(self._seen_store)
            if len(frontier) or len(self._seen_store):
                self._check_feeds()
            if len(frontier):
                logger.info("Resumed from %s: %d URLs of %d servers", self._directory, len(frontier), servers.count)
            self._stats.set_value("frontier/resumed", len(frontier))
            self._recrawl = Recrawl(self._crawler, self._store, servers, self._codec)
            if options.recrawl_age is not None:
                self._recrawl.put_back(frontier, options.recrawl_age)
        except StoreError:
            self._store.close()
            raise
        self._crawler.signals.connect(self._downloaded, signals.response_downloaded)

    def _check_feeds(self) -> None:
        """Raise StoreError where the items of the earlier runs of this crawl would be overwritten."""
        path = overwritten_feed(self._crawler)
        if path is not None:
            raise StoreError(
                self._directory,
                f"holds a crawl that was begun earlier, and -O (overwrite in FEEDS) would delete its items in {path}: "
                "append with -o, or name another file",
            )

    def pack(self, request: Request) -> Any:
        """Its bytes; where they cannot be written, the request itself, which then stays in memory."""
        try:
            payload = self._codec.encode(request)
        except NotSerializableError as error:
            self._count_unserializable(request.url, error, 1)
            return self._keep_request(request)
        if RECRAWL in request.meta:  # a retry: the mark is the one of the request that it was copied from
            request.meta[RECRAWL][REPLACED] = True
        return payload

    def pack_callback(self, callback: Callable[..., Any] | None) -> Any:
        """Its name; where it has none, the callback, for ``hold``."""
        try:
            return self._codec.encode_link(callback)
        except NotSerializableError:
            return callback

    def hold(self, entries: list[Entry], response: Response | None) -> list[Entry]:
        """See ``Backend``: have the page wait for links whose callback cannot be written."""
        if not entries or entries[0].payload is None or type(entries[0].payload) is bytes:
            return entries
        try:
            self._codec.encode_link(entries[0].payload)
        except NotSerializableError as error:
            self._count_unserializable(entries[0].url, error, len(entries))
        meta = None if response is None or response.request is None else response.meta
        return [entry._replace(payload=self._keep_in_memory(entry.payload, meta, entry.url)) for entry in entries]

    def not_queued(self, entry: Entry, request: Request) -> Entry:
        """See ``Backend``: it is in no queue that is stored."""
        if isinstance(entry.payload, Unstored):
            return entry
        return entry._replace(payload=self._keep_request(request))

    def _keep_request(self, request: Request) -> Unstored:
        return self._keep_in_memory(request, request.meta, None if request.dont_filter else request)

    def _keep_in_memory(self, value: Any, meta: dict[str, Any] | None, met: Request | str | None) -> Unstored:
        """The payload of what is not stored; ``met``: the request, or a link's URL, that must not count as seen there.

        It was met just now.  (If it was not, another dupefilter is in use, or it is the spelling of a page queued.)
        """
        key = None if met is None else self._seen.key_of(met)
        if key is not None and self._seen_store.take_back(key):
            self._seen.withhold(key)
        else:
            key = None
        payload = self._pages.hold(value, meta, key)
        self._orphans += payload.found_on is None
        return payload

    def _count_unserializable(self, url: str, error: NotSerializableError, count: int) -> None:
        self._stats.inc_value("scheduler/unserializable", count)
        reason = str(error)
        if reason not in self._reasons and len(self._reasons) < MAX_REASONS:
            self._reasons.add(reason)
            logger.warning(
                "Requests cannot be stored and are kept in memory, as the first one, %s, holds %s; "
                "their pages are fetched again if the crawl stops before they are done",
                url,
                reason,
            )

    def unpack(self, entry: Entry) -> Request:
        """See ``Backend``."""
        if isinstance(entry.payload, Unstored):
            return request_of(entry._replace(payload=entry.payload.value))
        if type(entry.payload) is not bytes:
            return request_of(entry)
        if entry.payload.startswith(AGAIN):
            mark, payload = unpack_again(entry.payload)
            request = self.unpack(entry._replace(payload=payload))
            request.meta[RECRAWL] = mark
            return request
        if self.is_link(entry):
            return link_request(entry._replace(payload=self._codec.decode_link(entry.payload)))
        return self._codec.decode(entry)

    def is_link(self, entry: Entry) -> bool:
        """See ``Backend``."""
        payload = entry.payload
        if type(payload) is bytes and payload.startswith(AGAIN):
            payload = unpack_again(payload)[1]
        if isinstance(payload, Unstored):
            return not isinstance(payload.value, Request)
        if payload is None:
            return True
        return RequestCodec.is_link(payload) if type(payload) is bytes else not isinstance(payload, Request)

    def is_refetched(self, entry: Entry) -> bool:
        """See ``Backend``."""
        return type(entry.payload) is bytes and entry.payload.startswith(AGAIN)

    def dropped(self, entry: Entry) -> None:
        """See ``Backend``: the page that it comes from does not wait for it."""
        if isinstance(entry.payload, Unstored):
            self._settle(entry.payload)
            self._pages.dropped(entry.payload)

    def name_of(self, payload: Any) -> str:
        """``disk``, unless it could not be written."""
        return "disk" if payload is None or type(payload) is bytes else "memory"

    def handed_out(self, request: Request, entry: Entry) -> None:
        """See ``Backend``."""
        if entry.place is not None or isinstance(entry.payload, Unstored):
            self._handed_out[request] = self._pages.start(request, entry)

    def given_back(self, request: Request) -> None:
        """See ``Backend``."""
        page = self._handed_out.pop(request, None)
        if page is not None:
            self._pages.forget(page)

    def close(self) -> None:
        """Commit what the engine is through with, and release the directory."""
        if self._timer is not None:
            self._timer.cancel()
        self._commit()
        for name, count in (("refetched", self._pages.held()), ("lost", self._orphans)):
            if count:
                self._stats.set_value(f"frontier/unserializable/{name}", count)
                logger.warning(_AT_THE_END[name], count)
        self._store.close()

    def _set_timer(self) -> None:
        self._timer = call_later(self._options.commit_interval, self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._commit():
            self._set_timer()

    def _commit(self) -> bool:
        """Whether it could be done; if not, the crawl is stopped: what has been committed is safe."""
        self._acknowledge()
        start = CLOCK()
        try:
            if self._store.commit():
                self._stats.inc_value("frontier/commits")
                self._stats.max_value("frontier/commit_time", round(CLOCK() - start, 3))
        except StoreError as error:
            self._stats.inc_value("frontier/commit_errors")
            if not self._has_failed:
                self._has_failed = True
                logger.critical("The frontier cannot be stored, the crawl ends: %s", error)
                logger.critical("What was committed is safe in %s; start the crawl again to go on", self._directory)
                end_crawl(self._crawler, "store_failed")
            return False
        return True

    def _acknowledge(self) -> None:
        """Forget the entries whose requests the engine is through with. O(requests under way)."""
        unfinished = unfinished_requests(self._crawler)
        for request in [request for request in self._handed_out if request not in unfinished]:
            page = self._handed_out.pop(request)
            if request.meta.get(KEEP):
                self._recrawl.kept(request)
                self._pages.forget(page)
            else:
                self._pages.over(page)

    def _done(self, page: PageUnderWay) -> None:
        """Forget the entry of ``page``."""
        payload = page.entry.payload
        if isinstance(payload, Unstored):
            self._settle(payload)
        else:
            self._recrawl.acknowledged(page.request, page.entry)
        self._frontier.acknowledge(page.entry)

    def _settle(self, payload: Unstored) -> None:
        """What it stands for is dealt with: it counts as seen in the store, too."""
        self._orphans -= payload.found_on is None
        if payload.key is not None:
            self._seen.release(payload.key)
            self._seen_store.add_new((payload.key,))

    def _downloaded(self, request: Request, response: Response) -> None:
        if request in self._handed_out:
            self._recrawl.answered(request, response)
