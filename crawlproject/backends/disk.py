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

#: Maximum number of different reasons logged for requests that cannot be stored.
MAX_REASONS = 100

#: Name in ``frontier/unserializable/…`` -> log message at the end of the crawl.
_AT_THE_END = {
    "refetched": "%d pages will be fetched again by the next run: requests that they yielded could not be stored",
    "lost": "%d requests that could not be stored are lost: no page yielded them (start requests are created again)",
}


class DiskBackend(Backend):
    """Keeps URLs, servers and seen-set in a directory; a restart continues from the last commit.

    An entry stays stored until the engine has finished its request: page parsed, items processed by the pipelines and
    links queued; or finally failed, dropped or ignored.  A redirect or retry is stored as a separate entry before the
    original entry is removed.  A request that cannot be stored is kept in memory: until it is done, the page that
    yielded it stays stored, and the stored seen-set does not contain it.
    Commits every ``FRONTIER_COMMIT_INTERVAL`` seconds and at the end.
    Stats: ``frontier/commits``, ``frontier/commit_time`` (longest, seconds), ``scheduler/unserializable``,
    ``frontier/unserializable/refetched``, ``frontier/unserializable/lost``, ``frontier/resumed`` (URLs found in the
    store).
    """

    def __init__(self, crawler: Crawler, options: FrontierOptions, frontier: Frontier, seen: SeenDupeFilter) -> None:
        """Open the store and load frontier and seen-set. Raises StoreError. O(servers)."""
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
        self._orphans = 0  # unstored requests without a page that yielded them
        self._reasons: set[str] = set()  # logged reasons for unstored requests
        self._timer: CallLaterResult | None = None
        self._has_failed = False
        self._codec = RequestCodec(
            crawler.spider,
            [*crawler.settings.getlist("SPIDER_MODULES"), os.environ.get("SCRAPY_SETTINGS_MODULE", "")],
        )
        order = "quality" if frontier.policy.by_quality else "arrival"
        self._store = DiskStore(self._directory, StoreLabel(crawler.spider.name, order))
        self._load(frontier, seen)
        self._set_timer()

    def _load(self, frontier: Frontier, seen: SeenDupeFilter) -> None:
        options = self._options
        indexed = isinstance(options.quality, LinkQuality)
        try:
            servers = DiskFrontierStore(self._store, time.time() - CLOCK(), indexed=indexed)
            servers.load(frontier, CLOCK(), frontier.politeness.longest_wait)
            self._seen_store = DiskSeenStore(self._store)
            seen.use_store(self._seen_store)
            if len(frontier) or len(self._seen_store):
                self._check_feeds()
            if len(frontier):
                logger.info("Resumed from %s: %d URLs of %d servers", self._directory, len(frontier), servers.count)
            self._stats.set_value("frontier/resumed", len(frontier))
            self._recrawl = Recrawl(self._crawler, self._store, servers, self._codec, seen.canonicalizer)
            if options.recrawl_age is not None:
                self._recrawl.put_back(frontier, options.recrawl_age)
        except StoreError:
            self._store.close()
            raise
        self._crawler.signals.connect(self._downloaded, signals.response_downloaded)

    def _check_feeds(self) -> None:
        """Raise StoreError if a feed would overwrite the items of earlier runs of this crawl."""
        path = overwritten_feed(self._crawler)
        if path is not None:
            raise StoreError(
                self._directory,
                f"contains an earlier crawl, and -O (overwrite in FEEDS) would delete its items in {path}: "
                "append with -o, or use another file",
            )

    def pack(self, request: Request) -> Any:
        """Its bytes; an ``Unstored`` payload, kept in memory, if it cannot be stored."""
        try:
            payload = self._codec.encode(request)
        except NotSerializableError as error:
            self._count_unserializable(request.url, error, 1)
            return self._keep_request(request)
        if RECRAWL in request.meta:  # a retry: it shares this dict with the request it was copied from
            request.meta[RECRAWL][REPLACED] = True
        return payload

    def pack_callback(self, callback: Callable[..., Any] | None) -> Any:
        """Its name as bytes; if it cannot be stored, the callback itself, for ``hold``."""
        try:
            return self._codec.encode_link(callback)
        except NotSerializableError:
            return callback

    def hold(self, entries: list[Entry], response: Response | None) -> list[Entry]:
        """See ``Backend``: the page waits for links whose callback cannot be stored."""
        if not entries or entries[0].payload is None or type(entries[0].payload) is bytes:
            return entries
        try:
            self._codec.encode_link(entries[0].payload)
        except NotSerializableError as error:
            self._count_unserializable(entries[0].url, error, len(entries))
        meta = None if response is None or response.request is None else response.meta
        return [entry._replace(payload=self._keep_in_memory(entry.payload, meta, entry.url)) for entry in entries]

    def not_queued(self, entry: Entry, request: Request) -> Entry:
        """See ``Backend``: kept in memory, as it is in no stored queue."""
        if isinstance(entry.payload, Unstored):
            return entry
        return entry._replace(payload=self._keep_request(request))

    def _keep_request(self, request: Request) -> Unstored:
        return self._keep_in_memory(request, request.meta, None if request.dont_filter else request)

    def _keep_in_memory(self, value: Any, meta: dict[str, Any] | None, met: Request | str | None) -> Unstored:
        """An unstored payload; ``met``: the request, or a link's URL, to remove from the stored seen-set.

        It was added there just now.  (Otherwise another dupefilter is in use, or it is another spelling of a queued
        page.)
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
                "Requests cannot be stored and are kept in memory: the first one, %s, contains %s; "
                "the pages that yielded them are fetched again if the crawl stops before they are done",
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
        """See ``Backend``: the page that yielded it no longer waits for it."""
        if isinstance(entry.payload, Unstored):
            self._settle(entry.payload)
            self._pages.dropped(entry.payload)

    def name_of(self, payload: Any) -> str:
        """``disk``; ``memory`` if it cannot be stored."""
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
        """Commit finished requests and release the directory."""
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
        """Commit; if that fails, end the crawl and return False. Earlier commits are safe."""
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
                logger.critical("Earlier commits are safe in %s; start the crawl again to continue", self._directory)
                end_crawl(self._crawler, "store_failed")
            return False
        return True

    def _acknowledge(self) -> None:
        """Acknowledge the entries of requests that the engine has finished. O(requests in progress)."""
        unfinished = unfinished_requests(self._crawler)
        for request in [request for request in self._handed_out if request not in unfinished]:
            page = self._handed_out.pop(request)
            if request.meta.get(KEEP):
                self._recrawl.kept(request)
                self._pages.forget(page)
            else:
                self._pages.over(page)

    def _done(self, page: PageUnderWay) -> None:
        """Acknowledge the entry of ``page``, which is done."""
        payload = page.entry.payload
        if isinstance(payload, Unstored):
            self._settle(payload)
        else:
            self._recrawl.acknowledged(page.request, page.entry)
        self._frontier.acknowledge(page.entry)

    def _settle(self, payload: Unstored) -> None:
        """Add the key of a finished or dropped request to the stored seen-set."""
        self._orphans -= payload.found_on is None
        if payload.key is not None:
            self._seen.release(payload.key)
            self._seen_store.add_new((payload.key,))

    def _downloaded(self, request: Request, response: Response) -> None:
        if request in self._handed_out:
            self._recrawl.answered(request, response)
