"""Start URLs that others put into Redis, as users of scrapy-redis know them.

The worker that owns one fixed partition reads them: it queues them, and removes them from their key once Redis has them
in the frontier.  A crash between the two only repeats.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

from scrapy import FormRequest, Request

from crawlproject.crawl_frontier import frontier_of
from crawlproject.engine import engine_of, stats_of
from crawlproject.links import Links

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.crawler import Crawler

    from crawlproject.options.redis import RedisOptions
    from crawlproject.workers.worker import Worker

logger = logging.getLogger(__name__)

#: Start URLs read at once.
BATCH = 500
#: Bytes of one start URL with all that belongs to it, at most.
MAX_BYTES = 1 << 20

#: (count, read a batch, remove one) by the kind of the key.
_COMMANDS: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "list": ("LLEN", ("LRANGE", 0, BATCH - 1), "LREM"),
    "set": ("SCARD", ("SRANDMEMBER", BATCH), "SREM"),
    "zset": ("ZCARD", ("ZREVRANGE", 0, BATCH - 1), "ZREM"),
}


class StartUrls:
    """Reads ``REDIS_START_URLS_KEY`` (a spider of scrapy-redis: its ``redis_key``) each tick.

    An element is a URL, or JSON as scrapy-redis takes it: ``url``, ``method``, ``meta``; the rest are fields of a form.
    A spider with ``make_request_from_data`` makes its own requests.
    Stats: ``workers/start_urls``, ``workers/start_urls/bad``.
    """

    def __init__(self, crawler: Crawler, worker: Worker, options: RedisOptions) -> None:
        spider = crawler.spider
        assert spider is not None
        self._crawler = crawler
        self._spider: Any = spider
        self._worker = worker
        self._key = getattr(spider, "redis_key", None) or options.start_urls_key % {"name": spider.name}
        self._count, self._read, self._remove = _COMMANDS[options.start_urls_kind]
        self._pending: list[bytes] = []
        self._pending_cut = 0
        self._stats = stats_of(crawler)

    @property
    def is_busy(self) -> bool:
        """Whether start URLs were queued and are still in their key."""
        return bool(self._pending)

    def start(self) -> None:
        """Read the start URLs here only: the spider of scrapy-redis would remove them before they are stored."""
        if hasattr(self._spider, "make_request_from_data"):
            self._spider.fetch_data = lambda *_: []

    async def wait(self) -> bool:
        """Whether there are start URLs."""
        return bool((await self._worker.control.commands([(self._count, self._key)]))[0])

    async def move(self) -> None:
        """Remove those that are stored; queue the next ones."""
        control = self._worker.control
        if self._pending:
            if self._worker.cuts < self._pending_cut:
                return
            middle = (1,) if self._remove == "LREM" else ()
            await control.commands([(self._remove, self._key, *middle, element) for element in self._pending])
            self._pending = []
        found = (await control.commands([(self._read[0], self._key, *self._read[1:])]))[0]
        if not found:
            return
        await self._queue(found)
        self._pending = list(found)
        self._pending_cut = self._worker.cuts + 2  # the cut under way may have begun before
        await self._worker.has_start_urls()

    async def _queue(self, elements: Iterable[bytes]) -> None:
        urls: list[str] = []
        for number, element in enumerate(elements):
            try:
                for found in self._requests(element):
                    if isinstance(found, str):
                        urls.append(found)
                    else:
                        engine = engine_of(self._crawler)
                        assert engine is not None
                        engine.crawl(found)
            except Exception as error:  # noqa: BLE001 - also what the spider's own method raises
                self._stats.inc_value("workers/start_urls/bad")
                logger.error("Start URL cannot be used: %.200r: %s", element, error)
            else:
                self._stats.inc_value("workers/start_urls")
            if number % 50 == 49:
                await asyncio.sleep(0)
        crawl = frontier_of(self._crawler)
        if urls and crawl is not None:
            for _ in crawl.intake.push_links(Links(None, urls)):
                await asyncio.sleep(0)

    def _requests(self, element: bytes) -> Iterator[Request | str]:
        """The requests of an element, or a URL to queue as a seed."""
        if len(element) > MAX_BYTES:
            raise ValueError(f"{len(element)} bytes, at most {MAX_BYTES} are taken")
        if hasattr(self._spider, "make_request_from_data"):
            made = self._spider.make_request_from_data(element)
            yield from [made] if isinstance(made, Request) else made or ()
            return
        text = element.decode("utf-8")
        if not text.lstrip().startswith("{"):
            yield text.strip()
            return
        values = json.loads(text)
        url, method, meta = values.pop("url"), values.pop("method", "GET").upper(), values.pop("meta", {})
        if values or method != "GET" or meta:
            yield FormRequest(url, dont_filter=True, method=method, formdata=values, meta=meta)
        else:
            yield url


