"""The base of backends that store requests: packing, requests that cannot be stored, acknowledgement."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlproject.backends.feeds import HeldFile, flush_feeds, hold_file, overwritten_feed
from crawlproject.backends.protocol import Backend
from crawlproject.engine import Crawl, stats_of, unfinished_requests
from crawlproject.requests.codec import NotSerializableError, RequestCodec
from crawlproject.requests.entries import link_request, request_of
from crawlproject.requests.meta import KEEP
from crawlproject.requests.owners import Owners
from crawlproject.requests.unstored import PagesUnderWay, Unstored
from crawlproject.storage.errors import StoreError
from crawlproject.urls.fates import Reason, encoded
from crawlproject.urls.url_rows import End

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.dupefilters import BaseDupeFilter
    from scrapy.http import Response

    from crawlproject.backends.protocol import Host
    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.requests.unstored import PageUnderWay
    from crawlproject.storage.frontier_state import DiskFrontierStore
    from crawlproject.storage.seen import DiskSeenStore
    from crawlproject.urls.fates import Outcome

logger = logging.getLogger(__name__)

#: Maximum number of different reasons logged for requests that cannot be stored.
MAX_REASONS = 100

#: Name in ``frontier/unserializable/…`` -> log message at the end of the crawl.
_AT_THE_END = {
    "refetched": "Pages that the next run fetches again, as requests that they yielded could not be stored: %d",
    "lost": "Requests lost, as they could not be stored and no page yielded them: %d (start requests come again)",
}


class StoringBackend(Backend):
    """Keeps requests as bytes, by ``RequestCodec``; subclasses keep the frontier.

    An entry stays stored until the engine has finished its request: page parsed, items processed by the pipelines and
    links queued; or finally failed, dropped or ignored.  A redirect or retry is stored as a separate entry before the
    original entry is removed.  A request that cannot be stored is kept in memory: until it is done, the page that
    yielded it stays stored, and the stored seen-set does not contain it.

    Acknowledgement has two steps: ``_find_done`` calls ``_done`` for each page that is done; ``_acknowledge`` deletes
    its entry, here at once.
    """

    #: Where stored entries are kept: the label in ``scheduler/enqueued/…``.
    place: str
    #: Whether pages that links led to are recorded anyway (``recrawl``).
    keeps_pages = False
    #: Set by the subclass before the first request.
    _seen_store: DiskSeenStore
    _server_store: DiskFrontierStore

    def __init__(self, crawler: Crawler, frontier: Frontier, seen: SeenDupeFilter, host: Host) -> None:
        assert crawler.spider is not None
        self._crawler = crawler
        self._frontier = frontier
        self._seen = seen
        self._stats = stats_of(crawler)
        self._fates = host.fates
        self._count_ended = host.count_ended
        self._handed_out: dict[Request, PageUnderWay] = {}
        self._pages = PagesUnderWay(self._done)
        self._orphans = 0  # unstored requests without a page that yielded them
        self._in_memory: dict[Unstored, str] = {}  # requests that cannot be stored and are not done -> URL
        self._reasons: set[str] = set()  # logged reasons for unstored requests
        self._seen_file: HeldFile[Any] | None = None  # of a project's own dupefilter
        self._owners = owners = Crawl.of(crawler).part(Owners)
        self._codec = RequestCodec(
            crawler.spider,
            [*crawler.settings.getlist("SPIDER_MODULES"), os.environ.get("SCRAPY_SETTINGS_MODULE", "")],
            owners,
        )

    def follow(self, dupefilter: BaseDupeFilter) -> None:
        self._seen_file = hold_file(dupefilter)

    def _check_feeds(self, place: Path | str, crawl: str, since: float = 0.0) -> None:
        """Raise StoreError if a feed would overwrite items of an earlier run of this crawl, written ``since`` then."""
        path = overwritten_feed(self._crawler)
        if path is not None and path.stat().st_mtime >= since:
            raise StoreError(
                place,
                f"contains an earlier {crawl}, and -O (overwrite in FEEDS) would delete its items in {path}: "
                "append with -o, or use another file",
            )

    def pack(self, request: Request) -> Any:
        """Its bytes; an ``Unstored`` payload, kept in memory, if it cannot be stored."""
        try:
            payload = self._codec.encode(request)
        except NotSerializableError as error:
            self._count_unserializable(request.url, error, 1)
            return self._keep_request(request)
        return payload

    def pack_to_send(self, request: Request) -> bytes | None:
        try:
            return self._codec.encode(request)
        except NotSerializableError:
            return None

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
        self._in_memory[payload] = value.url if isinstance(value, Request) else str(met)
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
        if isinstance(entry.payload, Unstored):
            return request_of(entry._replace(payload=entry.payload.value))
        if type(entry.payload) is not bytes:
            return request_of(entry)
        if self.is_link(entry):
            return link_request(entry._replace(payload=self._codec.decode_link(entry.payload)))
        return self._codec.decode(entry)

    def is_link(self, entry: Entry) -> bool:
        payload = entry.payload
        if isinstance(payload, Unstored):
            return not isinstance(payload.value, Request)
        if payload is None:
            return True
        return RequestCodec.is_link(payload) if type(payload) is bytes else not isinstance(payload, Request)

    def dropped(self, entry: Entry, reason: Reason) -> None:
        """See ``Backend``: the page that yielded it no longer waits for it."""
        super().dropped(entry, reason)
        if isinstance(entry.payload, Unstored):
            self._settle(entry.payload)
            self._pages.dropped(entry.payload)

    def keep_fate(self, what: Request | str, outcome: Outcome) -> None:
        self._seen_store.mark(self._seen.key_of(what), encoded(outcome.stage, outcome.reason))
        if self.keeps_pages and outcome.reason is Reason.FETCHED and isinstance(what, str):
            return
        status = 0 if outcome.ending is None else outcome.ending.status
        end = End(int(time.time()), outcome.stage, outcome.reason, status, outcome.depth)
        self._server_store.ended(outcome.url, end)

    def name_of(self, payload: Any) -> str:
        """``place``; ``memory`` if it cannot be stored."""
        return self.place if payload is None or type(payload) is bytes else "memory"

    def handed_out(self, request: Request, entry: Entry) -> None:
        if entry.place is not None or isinstance(entry.payload, Unstored):
            self._handed_out[request] = self._pages.start(request, entry)

    def given_back(self, request: Request) -> None:
        page = self._handed_out.pop(request, None)
        if page is not None:
            self._pages.forget(page)

    def _find_done(self) -> None:
        """Call ``_done`` for each page that is done since the last call. O(requests in progress).

        Before, its items leave this process; raises StoreError if they cannot.
        """
        self._count_ended()
        unfinished = unfinished_requests(self._crawler)
        done = [request for request in self._handed_out if request not in unfinished]
        if done:
            flush_feeds(self._crawler)
        for request in done:
            page = self._handed_out.pop(request)
            if request.meta.get(KEEP):
                self._kept(page)
                self._pages.forget(page)
            else:
                self._pages.over(page)

    def _kept(self, page: PageUnderWay) -> None:
        """Note that the engine finished ``page``, whose entry stays stored (``KEEP``)."""

    def _done(self, page: PageUnderWay) -> None:
        self._acknowledge(page.entry)

    def _acknowledge(self, entry: Entry) -> None:
        if isinstance(entry.payload, Unstored):
            self._settle(entry.payload)
        self._frontier.acknowledge(entry)

    def _settle(self, payload: Unstored) -> None:
        self._in_memory.pop(payload, None)
        self._orphans -= payload.found_on is None
        if payload.key is not None:
            self._seen.release(payload.key)
            self._seen_store.add_new((payload.key,))

    def _report_unstored(self) -> None:
        for name, count in (("refetched", len(self._pages.waiting())), ("lost", self._orphans)):
            if count:
                self._stats.inc_value(f"frontier/unserializable/{name}", count)
                logger.warning(_AT_THE_END[name], count)


def order_of(frontier: Frontier) -> str:
    """The order of a server's URLs for the policy of ``frontier``: ``StoreLabel.order``."""
    return "quality" if frontier.policy.by_quality else "arrival"
