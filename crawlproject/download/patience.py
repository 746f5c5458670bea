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

#: Seconds by which a timer is late if the process was held up.
LATE = 0.2

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

    def is_known(self, key: str) -> bool:
        """Whether the server ``key`` needs no watch: it has answered, or has no session. O(1)."""
        server = self._crawl.frontier.server(key)
        return server is None or server.answered or server.session is None

    def time_for(self, key: str) -> float:
        """Seconds that the server ``key`` has for its first answer. O(classes of times)."""
        slow = quantile(self._crawl.times.response.counts, NEARLY_ALL) or 0.0
        server = self._crawl.frontier.server(key)
        failures = 0 if server is None else server.failures
        return max(self._seconds, SLOWER * slow) * 2.0**failures

    def put_off(self, key: str) -> bool:
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


class Watch:
    """A timer over one request that is sent now; ``cancel`` must be called when it ends.

    If the timer is called late, this process was held up, and the answer may have come meanwhile: the server gets the
    lost seconds again, at most about as many as it had in the first place, because a process may always be late.
    """

    __slots__ = ("_due", "_key", "_late", "_patience", "_started", "_timer")

    def __init__(self, patience: Patience, key: str) -> None:
        self._patience, self._key = patience, key
        self._started = CLOCK()
        self._late = 0.0
        self._wait(patience.time_for(key))

    def cancel(self) -> None:
        """The request has ended."""
        self._timer.cancel()

    def _wait(self, seconds: float) -> None:
        self._due = CLOCK() + seconds
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        now = CLOCK()
        late = now - self._due
        has = self._patience.time_for(self._key)
        left = self._started + has - now  # others have answered meanwhile
        if left > 0:
            self._wait(left)
        elif late > LATE and self._late < has:
            self._late += late
            self._wait(late)
        elif not self._patience.put_off(self._key):
            self._wait(PERIOD)
