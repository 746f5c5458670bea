"""Resolves the names of servers before their sessions open: few connections wait for DNS, and those that do not exist
cost no session."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING
from urllib.request import getproxies

from crawlproject.clock import CLOCK
from crawlproject.download.address_guard import AddressRefused
from crawlproject.download.few_lines import FewLines
from crawlproject.download.lookup import NameLookupError
from crawlproject.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy.settings import BaseSettings

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.download.address_guard import AddressGuard
    from crawlproject.download.resolver import CachingResolver, Found

logger = logging.getLogger(__name__)

#: At most ``MAX_STARTED`` names are asked for in ``PAUSE`` seconds: 400 a second, about a fifth of the event loop's
#: time if none exists, and more new servers than one process can begin with.
MAX_STARTED = 20
PAUSE = 0.05

#: The same, and how many may wait, while most of the admitted servers do not answer: 100 sessions a second that fail at
#: once, about 3 ms of CPU each.
MAX_STARTED_FAILING = 5

#: Resting servers are included if they will be ready within this many seconds.
HORIZON = 30.0


class DnsPrefetch:
    """Calls ``upcoming(count, until)`` for the keys of the next ``count`` servers when connections are opened.

    0: never.
    """

    def __init__(self, resolver: CachingResolver, upcoming: Callable[[int, float], Iterable[str]], count: int) -> None:
        self._resolver = resolver
        self._upcoming = upcoming
        self._count = count
        self._timer: asyncio.TimerHandle | None = None

    async def resolve(self, host: str) -> tuple[str, ...]:
        """The addresses of ``host``, for a connection that is about to be opened; raises NameLookupError."""
        self.soon()
        return await self._resolver.addresses(host)

    def soon(self) -> None:
        """Schedule a prefetch in ``PAUSE`` seconds. O(1)."""
        if self._timer is None and self._count:
            self._timer = asyncio.get_running_loop().call_later(PAUSE, self._look)

    def close(self) -> None:
        self._count = 0
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self._timer = None
        until = CLOCK() + HORIZON
        for key in self._upcoming(self._count, until):
            if key.startswith("http") and not self._resolver.prefetch(host_of(key), until):
                self.soon()  # too many look-ups in progress: the rest later
                return


class NewcomerNames:
    """Admits newcomers whose names have an address; at most ``ahead`` of them wait for a session or an answer.

    A name that does not exist costs its server's URLs and one line of the log, of which there are few; any other
    failure counts against the server like a refused connection.  Stats: ``frontier/failures/dns``.
    """

    def __init__(
        self,
        resolver: CachingResolver,
        guard: AddressGuard,
        crawl: CrawlFrontier,
        ahead: int,
        count: Callable[[str], None],
    ) -> None:
        self._resolver = resolver
        self._guard = guard
        self._crawl = crawl
        self._ahead = ahead
        self._count = count
        self._timer: asyncio.TimerHandle | None = None
        self._is_asking = False
        self._lines, self._seed_lines = FewLines(logger), FewLines(logger)
        crawl.admit_by(self.admit)

    def close(self) -> None:
        self._crawl.admits_all()
        if self._timer is not None:
            self._timer.cancel()

    def admit(self) -> None:
        """Ask for the names of the best newcomers. O(log servers) each."""
        if self._timer is not None:
            return
        frontier = self._crawl.frontier
        most, ahead = MAX_STARTED, self._ahead
        if frontier.queue.newcomers_fail:
            most = ahead = MAX_STARTED_FAILING
        self._is_asking = True
        try:
            for _ in range(most):
                key = frontier.ask_newcomer(CLOCK(), ahead) if self._resolver.may_ask else None
                if key is None:
                    return
                if self._has_name(key):
                    self._resolver.ask(host_of(key), partial(self._found, key))
                else:
                    frontier.admit(key)
        finally:
            self._is_asking = False
        self._timer = asyncio.get_running_loop().call_later(PAUSE, self._go_on)

    def _has_name(self, key: str) -> bool:
        """Whether the server must be looked up; not if its host is an address that will be refused, in any notation."""
        try:
            self._guard.check_url(key)
        except AddressRefused:
            return False
        return key.startswith("http")

    def _go_on(self) -> None:
        self._timer = None
        self._crawl.wake()

    def _found(self, key: str, found: Found) -> None:
        if self._crawl.admits_any:
            return  # it was admitted; or the frontier is closed
        if found.failure is None:
            if found.names:
                self._crawl.intake.has_names(key, found.names)
            self._crawl.frontier.admit(key, self._guard.limited(found.addresses[0]))
        else:
            self._failed(key, NameLookupError(host_of(key), found.failure), found.expires)
        if not self._is_asking:  # else the scheduler is about to look
            self._crawl.wake()

    def _failed(self, key: str, error: NameLookupError, until: float) -> None:
        """``until``: when the name is looked up again, at the earliest."""
        server = self._crawl.frontier.server(key)
        if server is None:
            return
        if self._crawl.outage is not None and not error.is_final:  # looked up again when it is over, by the connection
            self._crawl.frontier.admit(key)
            return
        self._count("frontier/failures/dns")
        is_seed = any(entry.depth == 0 for entry in server.urls.first(key, 1))
        wait = max(0.0, until - CLOCK())
        given_up = self._crawl.name_failed(key, error.in_words, wait, is_final=error.is_final)
        lines, level = (self._seed_lines, logging.WARNING) if is_seed else (self._lines, logging.INFO)
        if given_up:
            lines.log(level, "%s is given up: %s", key, error.in_words)
        elif server.failures == 1:
            again = max(0.0, server.ready_at - CLOCK())
            lines.log(level, "%s cannot be contacted: %s; try 2 in %.0f s", key, error.in_words, again)


def looks_up_names(settings: BaseSettings) -> bool:
    """Whether a failed look-up of its name means that a server cannot be contacted.

    Not with a proxy, which resolves names itself, and not if pages may come from elsewhere: from Scrapy's cache, or
    from a downloader middleware of the project.
    """
    if settings.getbool("HTTPCACHE_ENABLED") or (settings.getbool("HTTPPROXY_ENABLED") and getproxies()):
        return False
    own = settings.getdict("DOWNLOADER_MIDDLEWARES")
    return all(place is None or _path(each).startswith(("scrapy.", "crawlproject.")) for each, place in own.items())


def _path(component: object) -> str:
    return component if isinstance(component, str) else f"{getattr(component, '__module__', '')}."
