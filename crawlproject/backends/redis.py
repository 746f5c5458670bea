"""The frontier of a crawl by many workers: each process owns some partitions; Redis holds what outlives it."""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import tldextract
from scrapy.utils.reactor import is_asyncio_reactor_installed

from crawlproject.backends.start_urls import StartUrls
from crawlproject.backends.storing import StoringBackend
from crawlproject.clock import CLOCK
from crawlproject.crawl_frontier import CrawlFrontier, frontier_of
from crawlproject.engine import end_crawl, is_closing, is_starting
from crawlproject.frontier.quality import LinkQuality
from crawlproject.options.redis import RedisOptions, common_settings
from crawlproject.signals import session_abandoned
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.errors import StoreError
from crawlproject.workers.connection import RedisAddress, RedisConnector, reason_of
from crawlproject.workers.control import AWAY, Control, join
from crawlproject.workers.holdings import Holdings, WorkerOptions
from crawlproject.workers.keys import Keys
from crawlproject.workers.local import LocalCopy
from crawlproject.workers.outbox import Outbox
from crawlproject.workers.partitions import Partitions
from crawlproject.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping, Sequence

    from scrapy.crawler import Crawler

    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.options.frontier import FrontierOptions
    from crawlproject.requests.unstored import PageUnderWay

logger = logging.getLogger(__name__)

#: Version of all that is stored in Redis.
FORMAT = "1"


class RedisBackend(StoringBackend):
    """Keeps URLs, servers and seen-set of the partitions that this worker owns; see ``workers``.

    Stats: ``workers/*``.
    """

    place = "redis"

    def __init__(self, crawler: Crawler, options: FrontierOptions, frontier: Frontier, seen: SeenDupeFilter) -> None:
        """Join the crawl. Raises StoreError if Redis or the crawl cannot be used, ValueError for settings."""
        super().__init__(crawler, frontier, seen)
        if not is_asyncio_reactor_installed():
            raise ValueError("FRONTIER_BACKEND='redis' needs Scrapy's default TWISTED_REACTOR (asyncio)")
        assert crawler.spider is not None
        self._redis = RedisOptions.of(crawler)
        self._started = time.time()
        keys = Keys(self._redis.key_of(crawler.spider.name))
        connector = RedisConnector(RedisAddress(params=self._redis.connection, timeout=self._redis.timeout))
        crawl = self._join(connector, keys, self._fields(options))
        partitions = Partitions(self._redis.partitions)
        self._done_entries: list[Entry] = []
        self._directory = tempfile.mkdtemp(prefix="crawlproject-worker-")
        self._local = LocalCopy(
            frontier,
            partitions,
            Path(self._directory) / "store",
            StoreLabel(crawler.spider.name, _order(frontier)),
            CLOCK,
            indexed=isinstance(options.quality, LinkQuality),
        )
        self._seen_store = self._local.seen
        seen.use_store(self._local.seen, partitions.server_part)
        self._local.seen_set = seen.seen
        outbox = self.exchange = self._outbox = Outbox(partitions)
        worker_options = WorkerOptions(
            crawl=crawl,
            partitions=self._redis.partitions,
            interval=options.commit_interval,
            lease=self._redis.lease,
            download_timeout=crawler.settings.getfloat("DOWNLOAD_TIMEOUT"),
            keep_running=self._redis.keep_running,
        )
        control = Control(connector.client(), keys, self._redis.timeout)
        self._worker = Worker(Holdings(control, self._local, outbox, self, worker_options))
        self._worker.move_start_urls = StartUrls(crawler, control.commands, self._worker.confirmed, self._redis).move
        logger.info("Worker %s of the crawl %r in %s", control.id, keys.name, connector.name)

    def _join(self, connector: RedisConnector, keys: Keys, fields: dict[str, str]) -> str:
        """Create the crawl, or compare with the one that is there; returns its id. Raises StoreError."""
        facts = connector.check()
        for warning in facts.warnings:
            logger.warning("%s: %s", connector.name, warning)
        try:
            with connector.sync_client() as client:
                found = join(client, keys, fields)
        except AWAY as error:
            raise StoreError(connector.name, f"{keys.meta}: {reason_of(error)}") from error
        reason = _difference(keys.name, fields, found)
        if reason:
            raise StoreError(connector.name, reason)
        return found["crawl"]

    def _fields(self, options: FrontierOptions) -> dict[str, str]:
        """What all workers of a crawl must have in common."""
        spider = self._crawler.spider
        assert spider is not None
        return {
            "format": FORMAT,
            "crawl": uuid4().hex,
            "spider": spider.name,
            "order": _order(self._frontier),
            "indexed": str(isinstance(options.quality, LinkQuality)),
            "suffixes": tldextract.__version__,
            "created": str(round(time.time())),
            "state": "running",
            "settings": json.dumps(common_settings(self._crawler)),
        }

    # for the scheduler

    def opened(self) -> Awaitable[None] | None:
        """See ``Backend``."""
        return self._worker.start()

    def may_start(self) -> bool:
        """See ``Backend``."""
        return self._worker.may_start()

    def goes_on(self) -> bool:
        """See ``Backend``."""
        goes_on = self._worker.goes_on()
        if not goes_on:  # so that no spider takes the crawl for failed because others fetched its pages
            self._stats.set_value("workers/pages", self._worker.summary()["pages"])
        return goes_on

    def close(self) -> Awaitable[None] | None:
        """Send all changes, give the partitions back, leave."""
        return self._close()

    async def _close(self) -> None:
        try:
            await self._worker.stop()
        finally:
            self._report_unstored()
            for name, count in self._worker.summary().items():
                self._stats.set_value(f"workers/{name}", count)
            self._local.close()
            shutil.rmtree(self._directory, ignore_errors=True)

    def unwanted(self, entry: Entry) -> None:
        """See ``Backend``."""
        if entry.place is not None:
            self._worker.unwanted(entry.url)

    def _kept(self, page: PageUnderWay) -> None:
        self.unwanted(page.entry)

    def _acknowledge(self, entry: Entry) -> None:
        self._done_entries.append(entry)

    @property
    def _crawl(self) -> CrawlFrontier:
        crawl = frontier_of(self._crawler)
        assert crawl is not None  # the worker runs while the scheduler is open
        return crawl

    # for the worker: see ``workers.worker.Crawl``

    def finished(self) -> list[Entry]:
        """See ``Crawl``."""
        self._find_done()
        self._lose_foreign()
        done, self._done_entries = self._done_entries, []
        return done

    def acknowledge(self, entry: Entry) -> None:
        """See ``Crawl``."""
        super()._acknowledge(entry)

    def _lose_foreign(self) -> None:
        """Forget requests in memory to servers that another worker crawls now: they cannot be sent to it.

        The pages that yielded them wait no longer.  O(requests in memory).
        """
        if not self._in_memory:
            return
        crawl = frontier_of(self._crawler)
        unsent = [] if crawl is None else [entry.payload for _, entry in crawl.unsent]
        under_way = {*map(id, unsent), *(id(page.entry.payload) for page in self._handed_out.values())}
        queued = [each for each in self._in_memory.items() if id(each[0]) not in under_way]
        for payload, url in queued:
            if self._local.partitions_of([url]) and not self._outbox.is_own(url):
                self._stats.inc_value("frontier/unserializable/lost")
                self._settle(payload)
                self._pages.dropped(payload)

    def urls_in_progress(self) -> Iterable[str]:
        """See ``Crawl``."""
        crawl = frontier_of(self._crawler)
        unsent = [] if crawl is None else [entry.url for _, entry in crawl.unsent]
        return [*unsent, *(page.entry.url for page in self._handed_out.values())]

    def urls_waiting(self) -> Iterable[str]:
        """See ``Crawl``."""
        return self._pages.waiting()

    def release(self, keys: Sequence[str]) -> bool:
        """See ``Crawl``."""
        crawl = self._crawl
        for key in keys:
            crawl.dispatcher.hold(key, CLOCK())
        self.close_connections()
        return not crawl.dispatcher.connected(keys)

    def abandon(self, keys: Sequence[str]) -> None:
        """See ``Crawl``."""
        crawl = self._crawl
        for key in keys:
            crawl.dispatcher.hold(key, CLOCK())
        for key in crawl.dispatcher.connected(keys):
            server = self._frontier.server(key)
            session = None if server is None else server.session or server.parked
            if session is not None:
                crawl.dispatcher.abandon(session, CLOCK())
                self._crawler.signals.send_catch_log(session_abandoned, server_key=key)
        self.close_connections()

    def disconnect(self) -> None:
        """See ``Crawl``."""
        dispatcher = self._crawl.dispatcher
        dispatcher.close_all(CLOCK())
        for session in dispatcher.take_closed():
            self._crawler.signals.send_catch_log(session_abandoned, server_key=session.server.key)

    def came(self, keys: Sequence[str], *, closed_at: Mapping[str, float]) -> None:
        """See ``Crawl``."""
        self.servers_came(keys)
        for key, at in closed_at.items():
            server = self._frontier.servers[key]
            if server.ready_at < at:
                server.ready_at = at
                self._frontier.servers.move(server)

    def served(self) -> Sequence[str]:
        """See ``Crawl``."""
        return [server.key for server in self._crawl.dispatcher.served()]

    def info(self) -> dict[str, Any]:
        """See ``Crawl``."""
        crawl, counts = frontier_of(self._crawler), self._frontier.counts()
        unsent = 0 if crawl is None else len(crawl.unsent)
        return {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started": round(self._started),
            "pages": self._stats.get_value("frontier/pages", 0),
            "urls": counts["urls"],
            "servers": counts["servers"],
            "sessions": 0 if crawl is None else crawl.dispatcher.open_sessions,
            "held": self._orphans,
            "busy": bool(is_starting(self._crawler) or self._orphans or unsent),
        }

    def is_closing(self) -> bool:
        """See ``Crawl``."""
        return is_closing(self._crawler)

    def fail(self, reason: str) -> None:
        """See ``Crawl``."""
        end_crawl(self._crawler, reason)


def _order(frontier: Frontier) -> str:
    return "quality" if frontier.policy.by_quality else "arrival"


def _difference(name: str, ours: dict[str, str], theirs: dict[str, str]) -> str:
    """Why a worker with the fields ``ours`` cannot join the crawl ``name`` with the fields ``theirs``; "" if it can."""
    their = {key: theirs.get(key) for key in ours}
    if their["format"] != FORMAT:
        return f"the crawl {name!r} has format {their['format']}, this version knows format {FORMAT}"
    if their["spider"] != ours["spider"]:
        return f"the crawl {name!r} belongs to the spider {their['spider']!r}: FRONTIER_REDIS_KEY must name another"
    if their["order"] != ours["order"]:
        return f"the URLs of the crawl {name!r} are sorted by {their['order']}, FRONTIER_POLICY needs {ours['order']}"
    if their["indexed"] != ours["indexed"]:
        return f"FRONTIER_QUALITY is of another kind than that of the other workers of {name!r}"
    if their["suffixes"] != ours["suffixes"]:
        return f"tldextract {ours['suffixes']} is installed, the other workers of {name!r} have {their['suffixes']}"
    settings = json.loads(their["settings"] or "{}")
    for setting, value in json.loads(ours["settings"]).items():
        if settings.get(setting) != value:
            return f"{setting}={value}: the other workers of {name!r} have {settings.get(setting)}"
    return ""
