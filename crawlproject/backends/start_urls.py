"""Start URLs that others put into Redis, as users of scrapy-redis know them.

The worker that owns one fixed partition reads them: it queues them, and removes them from their key once Redis has them
in the frontier.  After a crash between the two they are queued again; the partition goes to another worker only after
both.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast
from zlib import crc32

from scrapy import FormRequest, Request

from crawlproject.compat import engine_of
from crawlproject.crawl_frontier import frontier_of
from crawlproject.engine import stats_of
from crawlproject.links import Links
from crawlproject.urls.server_key import server_key
from crawlproject.workers.blobs import MAX_URL
from crawlproject.workers.control import AWAY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from crawlproject.options.redis import RedisOptions

logger = logging.getLogger(__name__)

#: Maximum bytes of one start URL with its fields.
MAX_BYTES = 1 << 20
#: Elements read at once.
BATCH = 200
#: Elements after which the event loop runs: some milliseconds.
STEP = 20
#: Unusable start URLs that are logged; others are only counted.
MAX_LOGGED = 100

#: Sends commands to Redis; returns the answers.
Commands = Callable[[Sequence[tuple[Any, ...]]], Awaitable[list[Any]]]
#: Type of the key -> commands that count, read, and remove an element.
_COMMANDS = {
    "list": ("LLEN", "LRANGE", "LREM"),
    "set": ("SCARD", "SRANDMEMBER", "SREM"),
    "zset": ("ZCARD", "ZREVRANGE", "ZREM"),
}


class Owner(Protocol):
    """The worker, as far as start URLs need it."""

    def confirmed(self, partition: int) -> int | None:
        """Number of cuts that Redis has confirmed; None if another worker crawls ``partition``."""

    def is_leaving(self, partition: int) -> bool:
        """Whether ``partition`` is about to go to another worker."""

    def goes_on(self) -> bool:
        """Whether the crawl has not ended."""


class StartUrls:
    """Reads the ``REDIS_START_URLS_KEY`` of ``spider`` (of scrapy-redis: its ``redis_key``) each tick.

    An element is a URL, or JSON as scrapy-redis takes it: ``url``, ``method``, ``meta``; the rest are fields of a form.
    A spider with ``make_request_from_data`` makes its own requests.
    """

    def __init__(
        self, crawler: Crawler, spider: Spider, commands: Commands, owner: Owner, options: RedisOptions
    ) -> None:
        self._crawler = crawler
        self._spider = cast("Any", spider)
        self._commands = commands
        self._owner = owner
        self._key = self.key_of(spider, options)
        #: The worker that owns this partition reads.
        self.partition = crc32(self._key.encode()) % options.partitions
        self._type = options.start_urls_type
        self._count, self._read, self._remove = _COMMANDS[self._type]
        self._encoding = options.connection.get("encoding", "utf-8")
        self._pending: list[bytes] = []
        self._pending_cut = 0
        self._waiting = 0
        self._is_wrong = False
        self._bad = 0
        self._stats = stats_of(crawler)
        if hasattr(spider, "make_request_from_data"):  # of scrapy-redis, which asks Redis itself, and blocks
            self._spider.fetch_data = lambda *_: []
            self._spider.count_size = lambda *_: self._waiting

    @staticmethod
    def key_of(spider: Spider, options: RedisOptions) -> str:
        """The key of the start URLs of ``spider``."""
        return getattr(spider, "redis_key", None) or options.start_urls_key_of(spider.name)

    @property
    def are_pending(self) -> bool:
        """Whether some are queued and still in their key."""
        return bool(self._pending)

    async def move(self) -> bool:
        """Remove those that are stored, queue the next ones; returns whether any wait in their key.

        Raises what a call to Redis raises; then call it again.
        """
        try:
            has_any = await self._move()
        except AWAY as error:
            if "WRONGTYPE" not in str(error):
                raise
            self._report_type()
            self._waiting, self._pending = 0, []
            return False
        self._is_wrong = False
        if (has_any or self._owner.goes_on()) and hasattr(self._spider, "spider_idle_start_time"):
            self._spider.spider_idle_start_time = int(time.time())  # scrapy-redis would count from the first idle time
        return has_any

    async def _move(self) -> bool:
        cuts = self._owner.confirmed(self.partition)
        if cuts is None:
            self._pending = []  # the next owner reads them again
            self._waiting = (await self._commands([(self._count, self._key)]))[0]
            return bool(self._waiting)
        if not self._pending or cuts >= self._pending_cut:  # Redis has them in the frontier
            found = await self._replace_pending()
            if self._owner.is_leaving(self.partition):
                return bool(found)  # the next owner reads them
            await self._queue(found)
            self._pending = found
            self._pending_cut = cuts + 1
        self._waiting = len(self._pending)
        return bool(self._pending)

    async def remove_stored(self) -> None:
        """Remove those that wait for it: all that was queued is stored, and the worker leaves."""
        if self._pending and self._owner.confirmed(self.partition) is not None:
            await self._replace_pending()

    async def _replace_pending(self) -> list[bytes]:
        """Remove those that are stored; returns the next ones."""
        middle = (1,) if self._remove == "LREM" else ()
        commands = [(self._remove, self._key, *middle, element) for element in self._pending]
        commands.append((self._read, self._key, *((BATCH,) if self._type == "set" else (0, BATCH - 1))))
        answers = await self._commands(commands)
        self._pending = []
        return list(answers[-1])

    def _report_type(self) -> None:
        if not self._is_wrong:
            self._is_wrong = True
            logger.error(
                "REDIS_START_URLS_KEY=%r is not a %s: start URLs are not read (see REDIS_START_URLS_AS_SET)",
                self._key,
                self._type,
            )

    async def _queue(self, elements: Iterable[bytes]) -> None:
        urls: list[str] = []
        for number, element in enumerate(elements, 1):
            try:
                for found in self._requests(element):
                    if isinstance(found, Request):
                        engine = engine_of(self._crawler)
                        assert engine is not None
                        engine.crawl(found)
                    else:
                        urls.append(found)
            except Exception as error:  # noqa: BLE001 - also what the spider's own method raises
                self._refuse(element, error)
            else:
                self._stats.inc_value("workers/start_urls")
            if number % STEP == 0:
                await asyncio.sleep(0)
        crawl = frontier_of(self._crawler)
        if urls and crawl is not None:
            for _ in crawl.intake.push_links(Links(None, urls)):
                await asyncio.sleep(0)

    def _refuse(self, element: bytes, error: Exception) -> None:
        self._stats.inc_value("workers/start_urls/bad")
        self._bad += 1
        if self._bad <= MAX_LOGGED:
            logger.error("Start URL cannot be used: %.200r: %.200s", element[:200], str(error) or type(error).__name__)
        if self._bad == MAX_LOGGED:
            logger.error("Further start URLs that cannot be used are only counted")

    def _requests(self, element: bytes) -> Iterator[Request | str]:
        """The requests of an element, or a URL to queue as a seed. Raises anything for a bad one."""
        if len(element) > MAX_BYTES:
            raise ValueError(f"{len(element)} bytes: at most {MAX_BYTES} are accepted")
        made: Any = self._made(element)
        requests: list[Request | str] = [made] if isinstance(made, Request | str) else list(made or ())
        if not requests:
            raise ValueError("no request was made from it")
        for request in requests:
            url = request.url if isinstance(request, Request) else request
            if len(url) > MAX_URL:
                raise ValueError(f"a URL of {len(url)} characters: at most {MAX_URL} are accepted")
            server_key(url)
        yield from requests

    def _made(self, element: bytes) -> Any:
        if hasattr(self._spider, "make_request_from_data"):
            return self._spider.make_request_from_data(element)
        text = element.decode(self._encoding).strip()
        if not text.startswith("{"):
            return text
        values = json.loads(text)
        url, method, meta = values.pop("url"), values.pop("method", "GET").upper(), values.pop("meta", {})
        if values or method != "GET" or meta:
            return FormRequest(url, dont_filter=True, method=method, formdata=values, meta=meta)
        return str(url)
