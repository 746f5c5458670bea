"""Start URLs that others put into Redis, as users of scrapy-redis know them.

The worker that owns one fixed partition reads them: it queues them, and removes them from their key once Redis has them
in the frontier.  A crash between the two only repeats.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

from scrapy import FormRequest, Request

from crawlproject.crawl_frontier import frontier_of
from crawlproject.engine import engine_of, stats_of
from crawlproject.links import Links

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.crawler import Crawler

    from crawlproject.options.redis import RedisOptions

logger = logging.getLogger(__name__)

#: Bytes of one start URL with all that belongs to it, at most.
MAX_BYTES = 1 << 20

#: Sends commands to Redis; returns the answers.
Commands = Callable[[Sequence[tuple[Any, ...]]], Awaitable[list[Any]]]
#: Partition -> number of cuts that Redis has confirmed; None: another worker owns the partition.
Confirmed = Callable[[int], int | None]

#: Type of the key -> commands that count, read, and remove an element.
_COMMANDS = {
    "list": ("LLEN", "LRANGE", "LREM"),
    "set": ("SCARD", "SRANDMEMBER", "SREM"),
    "zset": ("ZCARD", "ZREVRANGE", "ZREM"),
}


class StartUrls:
    """Reads ``REDIS_START_URLS_KEY`` (a spider of scrapy-redis: its ``redis_key``) each tick.

    An element is a URL, or JSON as scrapy-redis takes it: ``url``, ``method``, ``meta``; the rest are fields of a form.
    A spider with ``make_request_from_data`` makes its own requests.
    Stats: ``workers/start_urls``, ``workers/start_urls/bad``.
    """

    def __init__(self, crawler: Crawler, commands: Commands, confirmed: Confirmed, options: RedisOptions) -> None:
        spider = crawler.spider
        assert spider is not None
        self._crawler = crawler
        self._spider = cast("Any", spider)
        self._commands = commands
        self._confirmed = confirmed
        self._key = getattr(spider, "redis_key", None) or options.start_urls_key_of(spider.name)
        #: The worker that owns this partition reads.
        self.partition = crc32(self._key.encode()) % options.partitions
        self._count, self._read, self._remove = _COMMANDS[options.start_urls_type]
        size = options.start_urls_batch
        self._range = (size,) if options.start_urls_type == "set" else (0, size - 1)
        self._pending: list[bytes] = []
        self._pending_cut = 0
        self._stats = stats_of(crawler)
        if hasattr(self._spider, "make_request_from_data"):  # else it would remove them before they are stored
            self._spider.fetch_data = lambda *_: []

    async def move(self) -> bool:
        """Remove those that are stored, queue the next ones; returns whether any wait in their key."""
        commands, cuts = self._commands, self._confirmed(self.partition)
        if cuts is None:
            self._pending = []  # the next owner reads them again
            return bool((await commands([(self._count, self._key)]))[0])
        if self._pending and cuts >= self._pending_cut:
            middle = (1,) if self._remove == "LREM" else ()
            await commands([(self._remove, self._key, *middle, element) for element in self._pending])
            self._pending = []
        if not self._pending:
            found = (await commands([(self._read, self._key, *self._range)]))[0]
            await self._queue(found)
            self._pending = list(found)
            self._pending_cut = cuts + 1
        return bool(self._pending)

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
