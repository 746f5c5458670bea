"""All workers of a crawl over Redis, as they describe themselves; nothing is written to Redis."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from crawlproject.clock import CLOCK
from crawlproject.engine import stats_of
from crawlproject.options.frontier import FrontierOptions
from crawlproject.options.redis import RedisOptions

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

#: Seconds for which a look counts as new.
FRESH = 2.0


class WorkersView:
    """Reads the list of workers, at most every ``FRESH`` seconds, whoever asks."""

    def __init__(self, crawler: Crawler, options: RedisOptions) -> None:
        from crawlproject.workers.connection import RedisAddress
        from crawlproject.workers.keys import Keys

        assert crawler.spider is not None
        self._stats = stats_of(crawler)
        self._address = RedisAddress(params=options.connection, timeout=options.timeout)
        self._keys = Keys(options.key_of(crawler.spider.name))
        self._timeout = options.timeout
        self._looking = asyncio.Lock()
        self._last = float("-inf")
        self._found: dict[str, Any] = {"workers": []}

    async def look(self) -> dict[str, Any]:
        """Workers, the state of the crawl and the pages of all; with ``error`` if Redis does not answer."""
        from crawlproject.storage.errors import StoreError
        from crawlproject.workers.connection import RedisConnector
        from crawlproject.workers.roster import read_workers

        async with self._looking:
            if CLOCK() - self._last >= FRESH:
                try:
                    self._found = await read_workers(RedisConnector(self._address), self._keys, self._timeout)
                except (StoreError, ValueError, KeyError, TypeError) as error:
                    self._found = {"workers": [], "error": str(error)[:300]}
                self._last = CLOCK()
        return self._found


def workers_view(crawler: Crawler) -> WorkersView | None:
    """None if the crawl has only this process."""
    if FrontierOptions.of(crawler).backend != "redis":
        return None
    return WorkersView(crawler, RedisOptions.of(crawler))
