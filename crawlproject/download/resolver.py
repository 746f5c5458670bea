"""One caching resolver for all connections of a crawl."""

from __future__ import annotations

import asyncio
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from cachetools import TLRUCache

from crawlproject.clock import CLOCK
from crawlproject.download.lookup import NameLookup, NameLookupError, is_address
from crawlproject.engine import Crawl, stats_of
from crawlproject.options.network import NetworkOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

#: Maximum number of concurrent look-ups; each has one or two sockets open.
MAX_IN_FLIGHT = 200

#: No look-up in advance starts while this many look-ups are in progress.
MAX_AHEAD = 100

#: An answer is kept for its TTL within these limits, seconds.  Content networks give 20 to 60 s to move load within a
#: minute; their old addresses still answer.  A server that moved is found within a day, whatever its old answer said.
MIN_TTL, MAX_TTL = 300.0, 86_400.0


class Found(NamedTuple):
    """The result of a look-up, valid until ``expires``: addresses, or the kind of failure."""

    addresses: tuple[str, ...]
    failure: str | None
    expires: float
    #: Of which it is an alias.
    names: tuple[str, ...] = ()


class CachingResolver:
    """Resolves names and caches results for their TTL, within limits; one look-up per name at a time.

    Stats: ``dns/lookups``, ``dns/failures/<kind>`` (look-ups at name servers or in hosts(5)), ``dns/cached`` and
    ``dns/waited`` (connections opened with a cached address, and after a wait for one), ``dns/wait_time`` (seconds in
    total), ``dns/prefetched``.
    """

    def __init__(
        self, options: NetworkOptions, stats: StatsCollector, lookup: NameLookup, clock: Callable[[], float] = CLOCK
    ) -> None:
        self._options = options
        self._stats = stats
        self._lookup = lookup
        self._explains: Callable[[str, str | None], bool] = lambda _name, _failure: False
        self._clock = clock
        self._wait_time = 0.0
        self._cache: TLRUCache[str, Found] = TLRUCache(
            max(1, options.cache_size), ttu=lambda _name, found, _now: found.expires, timer=clock
        )
        self._places = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._in_flight: dict[str, asyncio.Task[Found]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """By the settings; only in a running event loop."""
        return cls(NetworkOptions.of(crawler), stats_of(crawler), Crawl.of(crawler).part(NameLookup))

    def explain_by(self, explains: Callable[[str, str | None], bool]) -> None:
        """Call ``explains`` with each name that the name servers were asked for, and the kind of failure or None.

        It returns whether the failure is not to be cached.
        """
        self._explains = explains

    @property
    def in_flight(self) -> int:
        """Number of look-ups in progress."""
        return len(self._in_flight)

    async def addresses(self, host: str) -> tuple[str, ...]:
        """Addresses of ``host``; if ``host`` is an address, itself. O(1) if cached; raises NameLookupError."""
        if is_address(host):
            return (host,)
        found = self._cache.get(host.lower())
        if found is None:
            started = self._clock()
            found = await asyncio.shield(self._task(host.lower()))
            self._stats.inc_value("dns/waited")
            self._wait_time += self._clock() - started
            self._stats.set_value("dns/wait_time", self._wait_time)
        else:
            self._stats.inc_value("dns/cached")
        if found.failure is not None:
            raise NameLookupError(host, found.failure)
        return found.addresses

    @property
    def may_ask(self) -> bool:
        """Whether a look-up in advance may start."""
        return len(self._in_flight) < MAX_AHEAD

    def ask(self, host: str, then: Callable[[Found], None]) -> None:
        """Call ``then`` with the result of a look-up of ``host``, now if it is known; never after ``close``."""
        name = host.lower()
        found = Found((host,), None, inf) if is_address(host) else self._cache.get(name)
        if found is not None:
            then(found)
            return
        self._stats.inc_value("dns/prefetched")
        self._task(name).add_done_callback(lambda task: None if task.cancelled() else then(task.result()))

    def prefetch(self, host: str, until: float) -> bool:
        """Look ``host`` up in the background unless it is cached until ``until``; False: too many in progress."""
        name = host.lower()
        found = self._cache.get(name)
        is_known = found is not None and (found.expires >= until or found.failure is not None)
        if is_known or is_address(host) or name in self._in_flight:
            return True
        if not self.may_ask:
            return False
        self._stats.inc_value("dns/prefetched")
        self._task(name)
        return True

    async def close(self) -> None:
        """Cancel the look-ups in progress."""
        tasks = list(self._in_flight.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _task(self, name: str) -> asyncio.Task[Found]:
        task = self._in_flight.get(name)
        if task is None:
            task = self._in_flight[name] = asyncio.get_running_loop().create_task(self._look_up(name))
        return task

    async def _look_up(self, name: str) -> Found:
        options = self._options
        is_unexplained = True
        try:
            async with self._places:
                self._stats.inc_value("dns/lookups")
                answer = await self._lookup.look_up(name)
            expires = self._clock() + min(max(answer.ttl, MIN_TTL), MAX_TTL)
            found = Found(answer.addresses, None, expires, answer.names)
            if answer.ttl != inf:  # else hosts(5) has it
                self._explains(name, None)
        except NameLookupError as error:
            self._stats.inc_value(f"dns/failures/{error.kind}")
            found = Found((), error.kind, self._clock() + options.failure_ttl)
            is_unexplained = not self._explains(name, error.kind)
        finally:
            del self._in_flight[name]
        if options.cache_size and is_unexplained:
            self._cache[name] = found
        return found
