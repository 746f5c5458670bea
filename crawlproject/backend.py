"""Where the frontier lives: in memory, or in a directory that outlives the process. The scheduler knows only this."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.asyncio import call_later

from crawlproject.download.timing import CLOCK
from crawlproject.engine_alarm import unfinished_requests
from crawlproject.frontier.quality import LinkQuality
from crawlproject.link_request import link_request
from crawlproject.request_codec import NotSerializableError, RequestCodec
from crawlproject.request_entries import KEEP
from crawlproject.storage import DiskFrontierStore, DiskSeenStore, DiskStore, StoreError, StoreLabel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy.crawler import Crawler
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
        try:
            self._store = DiskStore(self._directory, StoreLabel(spider.name, order))
            self._load(frontier, seen)
        except StoreError as error:
            logger.critical("Cannot start: %s", error)
            raise
        self._frontier = frontier
        self._codec = RequestCodec(spider)
        self._set_timer()

    def _load(self, frontier: Frontier, seen: SeenDupeFilter) -> None:
        options = self._options
        indexed = isinstance(options.quality, LinkQuality)
        try:
            servers = DiskFrontierStore(self._store, time.time() - CLOCK(), indexed=indexed)
            servers.load(frontier, CLOCK(), options.politeness.longest_wait)
            seen.use_store(DiskSeenStore(self._store))
        except StoreError:
            self._store.close()
            raise
        if len(frontier):
            logger.info("Resumed from %s: %d URLs of %d servers", self._directory, len(frontier), servers.count)
        self._stats.set_value("frontier/resumed", len(frontier))

    def pack(self, request: Request) -> Any:
        """Its bytes; where they cannot be written, the request itself, which then stays in memory."""
        try:
            return self._codec.encode(request)
        except NotSerializableError as error:
            self._stats.inc_value("scheduler/unserializable")
            level = logging.WARNING if self._stats.get_value("scheduler/unserializable") == 1 else logging.DEBUG
            logger.log(level, "Kept in memory only, lost if the process is killed: %s %s", request, error)
            return request

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
        if self.is_link(entry):
            return link_request(entry._replace(payload=self._codec.decode_link(entry.payload)))
        return self._codec.decode(entry)

    def is_link(self, entry: Entry) -> bool:
        """See ``MemoryBackend``."""
        return RequestCodec.is_link(entry.payload) if type(entry.payload) is bytes else super().is_link(entry)

    def name_of(self, payload: Any) -> str:
        """``disk``, unless it could not be written."""
        return "disk" if payload is None or type(payload) is bytes else "memory"

    def handed_out(self, request: Request, entry: Entry) -> None:
        """See ``MemoryBackend``."""
        if entry.place is not None:
            self._handed_out[request] = entry

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
            logger.critical("The frontier cannot be stored, the crawl ends: %s", error)
            self._stats.inc_value("frontier/commit_errors")
            self._stop()
            return False
        return True

    def _stop(self) -> None:
        engine = self._crawler.engine
        if not self._has_failed and engine is not None and engine.spider is not None:
            self._has_failed = True
            engine.close_spider(engine.spider, "store_failed")

    def _acknowledge(self) -> None:
        """Forget the entries whose requests the engine is through with. O(requests under way)."""
        unfinished = unfinished_requests(self._crawler)
        for request in [request for request in self._handed_out if request not in unfinished]:
            entry = self._handed_out.pop(request)
            if not request.meta.get(KEEP):
                self._frontier.acknowledge(entry)


def backend_from_options(crawler: Crawler, options: FrontierOptions) -> MemoryBackend:
    """The backend that ``FRONTIER_BACKEND`` names."""
    if options.backend == "disk":
        assert options.directory is not None
        return DiskBackend(crawler, options, options.directory)
    return MemoryBackend()
