"""Where the frontier lives: in memory, or in a directory that outlives the process. The scheduler knows only this."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro

from crawlproject.download.timing import CLOCK
from crawlproject.engine_alarm import unfinished_requests
from crawlproject.frontier.quality import LinkQuality
from crawlproject.link_request import link_request
from crawlproject.recrawl import AGAIN, RECRAWL, REPLACED, Recrawl, unpack_again
from crawlproject.request_codec import NotSerializableError, RequestCodec
from crawlproject.request_entries import KEEP
from crawlproject.setting_values import age_seconds
from crawlproject.storage import DiskFrontierStore, DiskSeenStore, DiskStore, StoreError, StoreLabel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.utils.asyncio import CallLaterResult

    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier import Entry, Frontier
    from crawlproject.options import FrontierOptions

logger = logging.getLogger(__name__)


class MemoryBackend:
    """Everything ends with the process; requests and callbacks are kept as they are."""

    def open(self, frontier: Frontier, seen: SeenDupeFilter) -> None:
        """Called once, before all else."""
        seen.use_store(None)  # the queues do not outlive the run, so what was met must not either

    def pack(self, request: Request) -> Any:
        """What the frontier carries of ``request`` besides its URL."""
        return request

    def pack_callback(self, callback: Callable[..., Any] | None) -> Any:
        """What it carries of a link."""
        return callback

    def unpack(self, entry: Entry) -> Request:
        """The request of an entry whose turn has come. Raises ValueError where it cannot be read."""
        return entry.payload if isinstance(entry.payload, Request) else link_request(entry)

    def is_link(self, entry: Entry) -> bool:
        """Whether it came in ``Links``, so that nobody waits to hear of its failure."""
        return not isinstance(entry.payload, Request)

    def name_of(self, payload: Any) -> str:
        """Where something with this payload waits: the label of ``scheduler/enqueued/…``."""
        return "memory"

    def handed_out(self, request: Request, entry: Entry) -> None:
        """The engine has been given ``request``: its entry is dealt with when the engine is through with it."""

    def given_back(self, request: Request) -> None:
        """``request``, which the engine has been given, was not sent: its entry is queued again."""

    def close(self) -> None:
        """The crawl ends."""


class DiskBackend(MemoryBackend):
    """URLs, servers and seen-set in a directory; a restart goes on where the last commit was.

    An entry stays stored until the engine is through with its request: page parsed, items through the pipelines,
    links queued; or failed, dropped, ignored for good.  A redirect or retry is stored as an entry of its own before
    the first one is removed.  Committed every ``interval`` seconds and at the end.
    Stats: ``frontier/commits``, ``frontier/commit_time`` (longest, seconds), ``scheduler/unserializable``,
    ``frontier/resumed`` (URLs found in the store).
    """

    def __init__(self, crawler: Crawler, options: FrontierOptions, directory: Path) -> None:
        self._crawler = crawler
        self._options = options
        self._directory = directory
        assert crawler.stats is not None
        self._stats = crawler.stats
        self._handed_out: dict[Request, Entry] = {}
        self._timer: CallLaterResult | None = None
        self._has_failed = False

    def open(self, frontier: Frontier, seen: SeenDupeFilter) -> None:
        """Open the store and fill frontier and seen-set. Raises StoreError; O(servers)."""
        spider = self._crawler.spider
        assert spider is not None
        order = "quality" if self._options.policy.by_quality else "arrival"
        self._frontier = frontier
        self._codec = RequestCodec(spider)
        self._store = DiskStore(self._directory, StoreLabel(spider.name, order))
        self._load(frontier, seen)
        self._set_timer()

    def _load(self, frontier: Frontier, seen: SeenDupeFilter) -> None:
        options = self._options
        indexed = isinstance(options.quality, LinkQuality)
        try:
            servers = DiskFrontierStore(self._store, time.time() - CLOCK(), indexed=indexed)
            servers.load(frontier, CLOCK(), options.politeness.longest_wait)
            seen.use_store(DiskSeenStore(self._store))
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

    def pack(self, request: Request) -> Any:
        """Its bytes; where they cannot be written, the request itself, which then stays in memory."""
        try:
            payload = self._codec.encode(request)
        except NotSerializableError as error:
            self._stats.inc_value("scheduler/unserializable")
            level = logging.WARNING if self._stats.get_value("scheduler/unserializable") == 1 else logging.DEBUG
            logger.log(level, "Kept in memory only, lost if the process is killed: %s %s", request, error)
            return request
        if RECRAWL in request.meta:  # a retry: the mark is the one of the request that it was copied from
            request.meta[RECRAWL][REPLACED] = True
        return payload

    def pack_callback(self, callback: Callable[..., Any] | None) -> Any:
        """Its name; where it has none, the callback."""
        try:
            return self._codec.encode_link(callback)
        except NotSerializableError:
            self._stats.inc_value("scheduler/unserializable")
            return callback

    def unpack(self, entry: Entry) -> Request:
        """See ``MemoryBackend``."""
        if type(entry.payload) is not bytes:
            return super().unpack(entry)
        if entry.payload.startswith(AGAIN):
            mark, payload = unpack_again(entry.payload)
            request = self.unpack(entry._replace(payload=payload))
            request.meta[RECRAWL] = mark
            return request
        if self.is_link(entry):
            return link_request(entry._replace(payload=self._codec.decode_link(entry.payload)))
        return self._codec.decode(entry)

    def is_link(self, entry: Entry) -> bool:
        """See ``MemoryBackend``."""
        payload = entry.payload
        if type(payload) is bytes and payload.startswith(AGAIN):
            payload = unpack_again(payload)[1]
        return payload is None or (RequestCodec.is_link(payload) if type(payload) is bytes else super().is_link(entry))

    def name_of(self, payload: Any) -> str:
        """``disk``, unless it could not be written."""
        return "disk" if payload is None or type(payload) is bytes else "memory"

    def handed_out(self, request: Request, entry: Entry) -> None:
        """See ``MemoryBackend``."""
        if entry.place is not None:
            self._handed_out[request] = entry

    def given_back(self, request: Request) -> None:
        """See ``MemoryBackend``."""
        self._handed_out.pop(request, None)

    def close(self) -> None:
        """Commit what the engine is through with, and release the directory."""
        if self._timer is not None:
            self._timer.cancel()
        self._commit()
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
                self._stop()
            return False
        return True

    def _stop(self) -> None:
        engine = self._crawler.engine
        if engine is not None and engine.spider is not None:
            deferred_from_coro(engine.close_spider_async(reason="store_failed"))

    def _acknowledge(self) -> None:
        """Forget the entries whose requests the engine is through with. O(requests under way)."""
        unfinished = unfinished_requests(self._crawler)
        for request in [request for request in self._handed_out if request not in unfinished]:
            entry = self._handed_out.pop(request)
            if request.meta.get(KEEP):
                self._recrawl.kept(request)
            else:
                self._recrawl.acknowledged(request, entry)
                self._frontier.acknowledge(entry)

    def _downloaded(self, request: Request, response: Response) -> None:
        if request in self._handed_out:
            self._recrawl.answered(request, response)


def backend_from_options(crawler: Crawler, options: FrontierOptions) -> MemoryBackend:
    """The backend that ``FRONTIER_BACKEND`` names.

    Raises ValueError where the spider's argument ``recrawl`` is no age, or pages are to be fetched again and none are
    remembered.
    """
    argument = getattr(crawler.spider, "recrawl", None)
    if isinstance(argument, str | int | float):
        options = replace(options, recrawl_age=age_seconds("recrawl", argument))
    if options.backend == "disk":
        assert options.directory is not None
        return DiskBackend(crawler, options, options.directory)
    if options.recrawl_age is not None:
        raise ValueError(
            "recrawl (FRONTIER_RECRAWL_AGE) needs FRONTIER_BACKEND='disk': JOBDIR or FRONTIER_DIR must name a directory"
        )
    return MemoryBackend()
