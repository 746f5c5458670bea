"""Takes connections from servers that have never answered, while others wait for one."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from crawlproject.clock import CLOCK
from crawlproject.download.few_lines import FewLines
from crawlproject.frontier.observed_times import quantile

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlproject.crawl_frontier import CrawlFrontier

logger = logging.getLogger(__name__)

#: Seconds between two looks whether another server waits.
PERIOD = 1.0

#: A first answer may take this many times as long as nearly all answers of the crawl so far.
SLOWER = 3.0
NEARLY_ALL = 0.99


class Patience:
    """Gives a server that has never answered ``seconds`` for its first answer, from the opening of the connection.

    After that its session ends as soon as another server waits for the place, and ``abort`` is called with its key; its
    request returns to the frontier.  The time is longer in a crawl of slow servers, and each failure doubles it, up to
    the usual time-outs: a slow server is reached in the end.  Stats: ``frontier/sessions/put_off``.

    While ``is_closing``, the crawl itself waits: its end does not take as long as the usual time-outs.  That is no
    failure of the server.
    """

    def __init__(
        self,
        crawl: CrawlFrontier,
        seconds: float,
        abort: Callable[[str], None],
        count: Callable[[str], None],
        is_closing: Callable[[], bool],
    ) -> None:
        self._crawl = crawl
        self._is_closing = is_closing
        self._seconds = seconds
        self._abort = abort
        self._count = count
        self._lines = FewLines(logger)

    def watch(self, key: str) -> asyncio.Task[None] | None:
        """Watch over a request to the server ``key`` that is sent now: to be cancelled when it ends. None if the server
        has answered before, or has no session. O(1)."""
        server = self._crawl.frontier.server(key)
        if server is None or server.answered or server.session is None:
            return None
        return asyncio.get_running_loop().create_task(self._watch(key))

    async def _watch(self, key: str) -> None:
        started = CLOCK()
        while True:
            left = started + self._time_for(key) - CLOCK()  # others may have answered meanwhile
            if left <= 0 and self._put_off(key):
                return
            await asyncio.sleep(left if left > 0 else PERIOD)

    def _time_for(self, key: str) -> float:
        """Seconds that the server ``key`` has for its first answer. O(classes of times)."""
        slow = quantile(self._crawl.times.response.counts, NEARLY_ALL) or 0.0
        server = self._crawl.frontier.server(key)
        failures = 0 if server is None else server.failures
        return max(self._seconds, SLOWER * slow) * 2.0**failures

    def _put_off(self, key: str) -> bool:
        """End the session of the server ``key`` if it keeps another waiting; whether it does. O(log servers)."""
        crawl = self._crawl
        if self._is_closing() and crawl.abandon(key):
            self._lines.log(logging.INFO, "%s has not answered: the crawl ends without it", key)
        elif crawl.outage is None and crawl.put_off(key):
            self._count("frontier/sessions/put_off")
            server = crawl.frontier.servers[key]
            wait = max(0.0, server.ready_at - CLOCK())
            line = "%s: %s, while others wait for a connection; try %d in %.0f s"
            self._lines.log(logging.INFO, line, key, server.last_error, server.failures + 1, wait)
        else:
            return False
        self._abort(key)
        crawl.wake()
        return True
