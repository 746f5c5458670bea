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

from crawlproject.backends.storing import StoringBackend
from crawlproject.backends.start_urls import StartUrls
from crawlproject.clock import CLOCK
from crawlproject.crawl_frontier import frontier_of
from crawlproject.engine import end_crawl, is_closing, is_starting, stats_of
from crawlproject.frontier.quality import LinkQuality
from crawlproject.options.redis import RedisOptions
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.errors import StoreError
from crawlproject.workers.connection import check_server, connect, connect_to_check, safe_url
from crawlproject.workers.control import Control, join
from crawlproject.workers.keys import Keys
from crawlproject.workers.local import LocalCopy
from crawlproject.workers.outbox import Outbox
from crawlproject.workers.partitions import Partitions
from crawlproject.workers.worker import Worker, WorkerOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Iterator, Sequence

    from scrapy.crawler import Crawler

    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.options.frontier import FrontierOptions
    from crawlproject.requests.unstored import PageUnderWay

logger = logging.getLogger(__name__)

#: Version of all that is stored in Redis.
FORMAT = "1"
#: Settings that all workers of a crawl must have in common: they decide who owns a URL, and which URLs are equal.
COMMON = ("FRONTIER_PARTITIONS", "FRONTIER_LEASE", "FRONTIER_POLITENESS_GROUP", "URL_DROP_PARAMETERS")


class RedisBackend(StoringBackend):
    """Keeps URLs, servers and seen-set of the partitions that this worker owns; see ``workers``.

    Stats: ``workers/*``.
    """

    place = "redis"

    def __init__(self, crawler: Crawler, options: FrontierOptions, frontier: Frontier, seen: SeenDupeFilter) -> None:
        """Join the crawl. Raises StoreError in one line if Redis or the crawl cannot be used, ValueError without asyncio."""
        super().__init__(crawler, frontier, seen)
        if not is_asyncio_reactor_installed():
            raise ValueError("FRONTIER_BACKEND='redis' needs Scrapy's default TWISTED_REACTOR (asyncio)")
        assert crawler.spider is not None
        redis = RedisOptions.of(crawler)
        keys = Keys(redis.key_of(crawler.spider.name))
        label = StoreLabel(crawler.spider.name, "quality" if options.policy.by_quality else "arrival")
        indexed = isinstance(options.quality, LinkQuality)
        self._options = redis
        self._started = time.time()
        crawl = self._join(keys, label, {"indexed": str(indexed)})
        partitions = Partitions(redis.partitions)
        self._directory = tempfile.mkdtemp(prefix="crawlproject-worker-")
        self._local = LocalCopy(
            frontier, partitions, Path(self._directory), label, indexed=indexed, clock=CLOCK
        )
        self._seen_store = self._local.seen
        seen.use_store(self._local.seen, url_key=partitions.url_key, server_part=partitions.server_part)
        self._outbox = self.exchange = Outbox(partitions)
        self._done_entries: list[Entry] = []
        self._worker = Worker(
            Control(connect(redis.address), keys, redis.timeout),
            self._local,
            self._outbox,
            self,
            WorkerOptions(
                crawl=crawl,
                partitions=redis.partitions,
                interval=options.commit_interval,
                lease=redis.lease,
                download_timeout=crawler.settings.getfloat("DOWNLOAD_TIMEOUT"),
                keep_running=redis.keep_running,
            ),
        )
        self._start_urls = StartUrls(crawler, self._worker, partitions, redis)
        self._worker.move_start_urls = self._start_urls.move
        logger.info(
            "Worker %s of the crawl %r in %s", self._worker.control.id, keys.name, safe_url(redis.address)
        )

    def _join(self, keys: Keys, label: StoreLabel, others: dict[str, str]) -> str:
        """Create the crawl, or compare with the one that is there; returns its id."""
        settings = {name: repr(self._options_value(name)) for name in COMMON}
        fields = {
            "format": FORMAT,
            "crawl": uuid4().hex,
            "spider": label.spider,
            "order": label.order,
            "suffixes": tldextract.__version__,
            "created": str(round(time.time())),
            "settings": json.dumps(settings),
            "state": "running",
            **others,
        }
        where = Path(safe_url(self._options.address))
        client = connect_to_check(self._options.address)
        try:
            check_server(client, where)
            found = join(client, keys, fields, where)
        finally:
            client.close()
        if found.get("format") != FORMAT:
            raise StoreError(where, f"{keys.meta} has format {found.get('format')}, this version reads {FORMAT}")
        if found.get("spider") != label.spider:
            raise StoreError(where, f"the crawl {keys.name!r} belongs to the spider {found.get('spider')!r}: "
                             "FRONTIER_REDIS_KEY must name another one")
        if found.get("order") != label.order:
            raise StoreError(where, f"the URLs of the crawl {keys.name!r} are sorted by {found.get('order')}, "
                             f"this worker's FRONTIER_POLICY needs them by {label.order}")
        if found.get("indexed") != fields["indexed"]:
            raise StoreError(where, f"FRONTIER_QUALITY differs from that of the other workers of {keys.name!r}")
        if found.get("suffixes") != fields["suffixes"]:
            raise StoreError(where, f"tldextract {fields['suffixes']} here, {found.get('suffixes')} at the other workers: "
                             "they would split servers differently")
        theirs = json.loads(found.get("settings", "{}"))
        for name, value in settings.items():
            if theirs.get(name) != value:
                raise StoreError(where, f"{name}={value}: the other workers of {keys.name!r} have {theirs.get(name)}")
        return found["crawl"]

    def _options_value(self, name: str) -> Any:
        own = {"FRONTIER_PARTITIONS": self._options.partitions, "FRONTIER_LEASE": self._options.lease}
        return own[name] if name in own else self._crawler.settings.get(name)

    # for the scheduler

    def opened(self) -> Awaitable[None] | None:
        """See ``Backend``."""
        return self._worker.start()

    def may_start(self) -> bool:
        """See ``Backend``."""
        return self._worker.may_start()

    def goes_on(self) -> bool:
        """See ``Backend``."""
        return self._worker.goes_on()

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

    # for the worker: see ``workers.worker.Crawl``

    def finished(self) -> list[Entry]:
        """See ``Crawl``."""
        self._find_done()
        done, self._done_entries = self._done_entries, []
        return done

    def acknowledge(self, entry: Entry) -> None:
        """See ``Crawl``."""
        self._frontier.acknowledge(entry)

    def urls_in_progress(self) -> Iterable[str]:
        """See ``Crawl``."""
        crawl = frontier_of(self._crawler)
        unsent = [] if crawl is None else [entry.url for _, entry in crawl.unsent]
        return [*unsent, *(page.entry.url for page in self._handed_out.values())]

    def release(self, keys: Sequence[str]) -> bool:
        """See ``Crawl``."""
        crawl = frontier_of(self._crawler)
        assert crawl is not None
        for key in keys:
            crawl.dispatcher.hold(key, CLOCK())
        self.close_connections()
        return not crawl.dispatcher.connected(keys)

    def abandon(self, keys: Sequence[str]) -> None:
        """See ``Crawl``."""
        crawl = frontier_of(self._crawler)
        assert crawl is not None
        for key in keys:
            crawl.dispatcher.hold(key, CLOCK())
        for key in crawl.dispatcher.connected(keys):
            server = self._frontier.server(key)
            session = None if server is None else server.session or server.parked
            if session is not None:
                crawl.dispatcher.abandon(session, CLOCK())
        self.close_connections()

    def loaded(self, keys: Sequence[str], *, closed_at: dict[str, float]) -> None:
        """See ``Crawl``."""
        self.servers_came(keys)
        for key, at in closed_at.items():
            server = self._frontier.server(key)
            if server is not None and server.ready_at < at:
                server.ready_at = at
                self._frontier.servers.move(server)

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
