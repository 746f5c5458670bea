"""The frontier of a crawl by many workers: each process owns some partitions; Redis holds what outlives it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import time
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from scrapy import signals
from scrapy.utils.asyncio import is_asyncio_available

from crawlproject.backends.joining import FORMAT, check_crawl, join_crawl
from crawlproject.backends.scratch import Scratch
from crawlproject.backends.start_urls import StartUrls
from crawlproject.backends.storing import StoringBackend, order_of
from crawlproject.clock import CLOCK
from crawlproject.crawl_frontier import CrawlFrontier, frontier_of
from crawlproject.engine import end_crawl, is_closing, is_starting
from crawlproject.frontier.quality import LinkQuality
from crawlproject.options.monitor import ConsoleOptions
from crawlproject.options.redis import RedisOptions, common_settings
from crawlproject.signals import session_abandoned
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.errors import StoreError
from crawlproject.urls.fates import Stage
from crawlproject.urls.server_key import suffix_list_id
from crawlproject.workers.blobs import MAX_URL
from crawlproject.workers.connection import RedisConnector, reason_of
from crawlproject.workers.control import AWAY, Control, Spent
from crawlproject.workers.holdings import Holdings, WorkerOptions
from crawlproject.workers.keys import Keys
from crawlproject.workers.lease import LimitShare
from crawlproject.workers.local import LocalCopy
from crawlproject.workers.orders import SharedOrders
from crawlproject.workers.outbox import Outbox
from crawlproject.workers.partitions import Partitions
from crawlproject.workers.stored_crawl import read_workers
from crawlproject.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler

    from crawlproject.backends.protocol import Host
    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.options.scheduling import FrontierOptions
    from crawlproject.requests.unstored import PageUnderWay

logger = logging.getLogger(__name__)

#: Bytes of a request sent to another worker, at most.
MAX_SENT = 1 << 24
#: Seconds by which clocks of two machines may differ.
CLOCK_DIFFERENCE = 600
#: Stats that are states of one process, or already sums.
NOT_SUMMED = (
    "monitor/",
    "memusage/",
    "workers/",
    "frontier/sessions/max_open",
    "frontier/servers",
    "frontier/urls",
    "seen/urls",
)
#: Limit that workers share -> reason of a crawl that has reached it.
SPENT = {"pages": "closespider_pagecount", "size": "closespider_bytes"}

#: A worker with fewer queued URLs per session exchanges links more often.
FEW_URLS = 20
#: Characters of the reason why the list of workers cannot be read.
MAX_REASON = 300


class RedisBackend(StoringBackend):
    """Keeps URLs, servers and seen-set of the partitions that this worker owns; see ``workers``."""

    place = "redis"

    def __init__(
        self, crawler: Crawler, options: FrontierOptions, frontier: Frontier, seen: SeenDupeFilter, host: Host
    ) -> None:
        """Check the crawl in Redis, and make the local copy.

        Raises ValueError for settings; StoreError, or OSError, if Redis, the crawl or the disk cannot be used; then
        nothing is left behind.
        """
        super().__init__(crawler, frontier, seen, host)
        self._shares = {name: LimitShare() for name in SPENT}
        self._most_bytes = frontier.budgets.limits.size  # of all workers
        self.wake, self.receive = host.wake, host.receive
        self._servers_came, self._close_connections = host.servers_came, host.close_connections
        if not is_asyncio_available():
            raise ValueError("FRONTIER_BACKEND='redis' needs Scrapy's default TWISTED_REACTOR (asyncio)")
        assert crawler.spider is not None
        self._spider = crawler.spider
        self._redis = redis = RedisOptions.of(crawler)
        self._options = options
        self._started = time.time()
        self._keys = Keys(redis.key_of(crawler.spider.name))
        self._connector = RedisConnector(redis.connection, redis.timeout)
        self._fields = self._agreed()
        found = check_crawl(self._connector, self._keys, self._fields)
        if found:  # a file that is older than the crawl does not belong to it
            created = found.get("created", "")
            since = int(created) - CLOCK_DIFFERENCE if created.isdecimal() else 0
            self._check_feeds(self._connector.place, f"part of the crawl {self._keys.name!r}", since)
        self._owners.recall(found.get("spiders", ""), to_web=options.missing_to_web)
        self._had_ended = found.get("state") == "ended"
        partitions = Partitions(redis.partitions)
        self._done_entries: list[Entry] = []
        self._worker: Worker | None = None
        self._seen_cut = 0  # number of the cut with which all that the dupefilter's file sent is in Redis
        self._is_open = False
        self._failure = ""
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        self._scratch = Scratch()
        self._local = LocalCopy(
            frontier,
            partitions,
            self._scratch.path / "store",
            StoreLabel(crawler.spider.name, order_of(frontier)),
            CLOCK,
            indexed=isinstance(options.quality, LinkQuality),
            longest_rest=redis.lease + crawler.settings.getfloat("DOWNLOAD_TIMEOUT"),
            fates=self._fates,
        )
        self._seen_store, self._server_store = self._local.seen, self._local.servers
        self.urls = self._local.servers.urls()
        seen.use_store(self._local.seen, partitions.server_part)
        self._local.seen_set = seen.seen
        self._outbox = self.exchange = Outbox(partitions)
        self._orders = self.orders = SharedOrders()

    def _agreed(self) -> dict[str, str]:
        """The fields of a new crawl, in some of which all its workers agree."""
        return {
            "format": FORMAT,
            "crawl": uuid4().hex,
            "spider": self._spider.name,
            "order": order_of(self._frontier),
            "quality": "links to it" if isinstance(self._options.quality, LinkQuality) else "other features",
            "partitions": str(self._redis.partitions),
            "suffixes": suffix_list_id(),
            "created": str(round(time.time())),
            "state": "running",
            "spiders": json.dumps({owner.name: sorted(owner.domains) for owner in self._owners}),
            "settings": json.dumps(common_settings(self._crawler)),
        }

    # for the scheduler

    async def opened(self) -> None:
        """Join the crawl: the first write to Redis."""
        try:
            crawl = await asyncio.to_thread(join_crawl, self._connector, self._keys, self._fields)
        except StoreError as error:  # something has changed since the check
            logger.critical("Cannot start: %s", error)
            self.fail("store_failed")
            return
        self._worker = worker = self._new_worker(crawl)
        await worker.start()
        ended = ", which had ended: it goes on with new URLs; a new crawl needs another FRONTIER_REDIS_KEY"
        place = f"{self._connector.name}{ended if self._had_ended else ''}"
        logger.info("Worker %s of the crawl %r in %s", worker.control.id, self._keys.name, place)

    def _new_worker(self, crawl: str) -> Worker:
        redis = self._redis
        worker_options = WorkerOptions(
            crawl=crawl,
            partitions=redis.partitions,
            interval=self._options.commit_interval,
            lease=redis.lease,
            download_timeout=self._crawler.settings.getfloat("DOWNLOAD_TIMEOUT"),
            keep_running=redis.keep_running,
        )
        control = Control(self._connector.client(), self._keys, redis.timeout)
        worker = Worker(Holdings(control, self._local, self._outbox, self, worker_options))
        self._orders.open(control, crawl, self.wake)
        spiders = [self._spider, *(owner.spider for owner in self._owners if owner.spider is not None)]
        worker.start_urls = [StartUrls(self._crawler, spider, control.commands, worker, redis) for spider in spiders]
        return worker

    def may_start(self) -> bool:
        return self._worker is not None and self._worker.may_start() and not self._orders.is_waited_for

    def may_send(self) -> bool:
        return self._worker is not None and self._worker.may_send()

    def goes_on(self) -> bool:
        return self._worker is not None and self._worker.goes_on()

    def pages_elsewhere(self) -> float:
        return 0 if self._worker is None else self._worker.summary()["pages"]

    def only_failing(self) -> bool:
        return self._worker is not None and self._worker.only_failing

    async def saved(self) -> bool:
        return self._worker is not None and await self._worker.saved()

    async def workers(self) -> dict[str, Any] | None:
        if self._worker is None:
            return {"workers": [], "error": "not joined yet"}
        try:
            return await read_workers(self._worker.control, self._keys)
        except (*AWAY, ValueError) as error:
            return {"workers": [], "error": reason_of(error)[:MAX_REASON]}

    async def close(self) -> None:
        """Send all changes, give the partitions back, leave."""
        worker = self._worker
        try:
            await self._orders.close()
            if worker is not None:  # else the start failed
                await worker.stop()
                if worker.writer.is_clean and self._seen_file is not None:
                    self._seen_file.release()
        finally:
            self._report_unstored()
            if worker is not None:
                self.report(worker.summary())
                self.report({f"total/{name}": _rounded(count) for name, count in worker.totals.items()})
            with suppress(*AWAY):
                await self._connector.close()
            self._local.close()
            self._scratch.remove()

    def pack_to_send(self, request: Request) -> bytes | None:
        """See ``Backend``; also None if the other worker would refuse it for its size."""
        payload = super().pack_to_send(request)
        return payload if payload is not None and len(request.url) <= MAX_URL and len(payload) <= MAX_SENT else None

    def unwanted(self, entry: Entry) -> None:
        if entry.place is not None and self._worker is not None:
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

    # for the worker: see ``workers.ports.Crawl``

    def finished(self) -> list[Entry]:
        self._find_done()
        self._lose_foreign()
        self._release_seen()
        done, self._done_entries = self._done_entries, []
        return done

    def _release_seen(self) -> None:
        """Let the file of a project's own dupefilter have what Redis has. Raises StoreError."""
        if self._seen_file is not None and self._worker is not None and self._worker.writer.cuts >= self._seen_cut:
            self._seen_file.release_sent()
            self._seen_file.send()
            self._seen_cut = self._worker.writer.cuts + 2  # one under way may lack it

    def acknowledge(self, entry: Entry) -> None:
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
        crawl = frontier_of(self._crawler)
        unsent = [] if crawl is None else [entry.url for _, entry in crawl.unsent]
        return [*unsent, *(page.entry.url for page in self._handed_out.values())]

    def urls_waiting(self) -> Iterable[str]:
        return self._pages.waiting()

    def release(self, keys: Sequence[str]) -> bool:
        crawl = self._crawl
        for key in keys:
            crawl.dispatcher.hold(key, CLOCK())
        self._close_connections()
        return not crawl.dispatcher.connected(keys)

    def abandon(self, keys: Sequence[str]) -> None:
        crawl = self._crawl
        for key in keys:
            crawl.dispatcher.hold(key, CLOCK())
        for key in crawl.dispatcher.connected(keys):
            server = self._frontier.server(key)
            session = None if server is None else server.session
            if session is not None:
                crawl.dispatcher.abandon(session, CLOCK())
                self._crawler.signals.send_catch_log(session_abandoned, server_key=key)
        self._close_connections()

    def disconnect(self) -> None:
        dispatcher = self._crawl.dispatcher
        dispatcher.close_all(CLOCK())
        for session in dispatcher.take_closed():
            self._crawler.signals.send_catch_log(session_abandoned, server_key=session.server.key)

    def came(self, keys: Sequence[str], *, closed_at: Mapping[str, float], contacted: float) -> None:
        self._servers_came(keys)
        for key in keys:
            self._frontier.servers.taken_over(key, contacted, closed_at.get(key))

    def served(self) -> Sequence[str]:
        return [server.key for server in self._crawl.dispatcher.served()]

    def info(self) -> dict[str, Any]:
        crawl, counts = frontier_of(self._crawler), self._frontier.counts()
        return {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started": round(self._started),
            "pages": 0 if crawl is None else crawl.pages,
            "urls": counts["urls"] + counts["blocked"],
            "servers": counts["servers"],
            "sessions": 0 if crawl is None else crawl.dispatcher.open_sessions,
            "actions": self._orders.applied,
            **self._figures(crawl, counts),
            "held": self._orphans,
            "busy": self._is_busy(),
            "links": {str(reason): count for reason, count in self._fates.links().items()},
            "only_failing": self._frontier.only_failing and not is_starting(self._crawler),
        }

    def _figures(self, crawl: CrawlFrontier | None, counts: Mapping[str, int]) -> dict[str, Any]:
        """What the consoles of all workers add up. O(stats of answers)."""
        stats, quality = self._stats.get_stats(), self._frontier.quality
        fates = self._fates.counts
        ends = {f"{stage}/{reason}": count for (stage, reason), count in fates.items() if stage is not Stage.LINK}
        queued = counts["urls"] + counts["blocked"]
        return {
            "console": ConsoleOptions.of(self._crawler).port,
            "elapsed": round(time.time() - self._started, 1),
            "queued": queued,
            "seen": len(self._seen.seen),
            "blocked": counts["blocked"],
            "bytes": stats.get("downloader/response_bytes", 0),
            "items": stats.get("item_scraped_count", 0),
            "failed": sum(
                count for (stage, reason), count in fates.items() if stage is not Stage.LINK and not reason.is_page
            ),
            "session_limit": 0 if crawl is None else crawl.dispatcher.max_sessions,
            "quality_gathered": quality.gathered,
            "quality_queued": quality.queued(queued),
            "servers/known": counts["servers"],
            "servers/ready": counts["ready"],
            "servers/resting": counts["resting"] + counts["waiting"],
            "servers/leased": counts["leased"],
            "servers/given_up": self._frontier.given_up,
            "tallies": {
                **self._fates.tallies,
                "ends": ends,
                "spider": {owner.name: owner.pages for owner in self._owners if owner.pages},
            },
            **({} if crawl is None else crawl.told),
        }

    def _is_busy(self) -> bool:
        """Also with what was queued, or fetched, since the last commit: Redis does not know of it yet."""
        crawl = frontier_of(self._crawler)
        unsent = (0 if crawl is None else len(crawl.unsent)) or self._frontier.drops.are_left
        return bool(is_starting(self._crawler) or self._orphans or unsent or len(self._frontier) or self._handed_out)

    def are_all_blocked(self) -> bool:
        return len(self._frontier.servers.orders.blocked) > 0 and not self._is_busy()

    def is_hungry(self) -> bool:
        crawl = frontier_of(self._crawler)
        return crawl is not None and len(self._frontier) < FEW_URLS * crawl.dispatcher.max_sessions

    def report(self, counts: Mapping[str, float]) -> None:
        for name, count in counts.items():
            self._stats.set_value(f"workers/{name}", count)

    def share_limits(self, own: Spent, total: Spent, workers: int) -> None:
        self._frontier.queue.addresses.share(workers)
        crawl, budgets = frontier_of(self._crawler), self._frontier.budgets
        if crawl is None:
            return
        limits = {"pages": crawl.limits["pages"] or inf, "size": self._most_bytes}  # the operator may change the first
        for name, most in limits.items():
            spent = getattr(total, name)
            if most < inf:
                share = self._shares[name].limit(most, getattr(own, name), spent, workers)
                budgets.allow(budgets.limits._replace(**{name: share}))
            if spent >= most:
                self.fail(SPENT[name])

    def acted(self, mark: str) -> None:
        self._orders.announced(mark)
        if self._orders.bad:
            self._stats.set_value("workers/orders/bad", self._orders.bad)

    def stats(self) -> Mapping[str, float]:
        return summable(self._stats.get_stats())

    def is_closing(self) -> bool:
        return is_closing(self._crawler)

    def fail(self, reason: str) -> None:
        if self._is_open:
            end_crawl(self._crawler, reason)
        else:  # Scrapy cannot end a crawl that is just starting
            self._failure = reason

    def _spider_opened(self) -> None:
        self._is_open = True
        if self._failure:
            self.fail(self._failure)


def _rounded(number: float) -> float:
    return int(number) if number.is_integer() else round(number, 3)


def summable(stats: Mapping[str, Any]) -> dict[str, float]:
    """The numeric ``stats`` whose sum over several processes is meaningful."""
    return {
        name: value
        for name, value in stats.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not name.startswith(NOT_SUMMED)
    }
