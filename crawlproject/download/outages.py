"""Tells what this machine lacks, its network, name servers or open files, from servers that fail.

During an outage every request fails: without this, servers would be given up and requests lost, one after the other.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import random
import resource
from contextlib import suppress
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crawlproject.clock import CLOCK
from crawlproject.compat import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    normalize_bind_address,
)
from crawlproject.crawl_frontier import frontier_of
from crawlproject.download.address_guard import AddressGuard
from crawlproject.download.endings import causes
from crawlproject.download.lookup import FINAL, NameLookup, is_address
from crawlproject.engine import Crawl, stats_of
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.urls.server_key import domain_of_server, host_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator
    from typing import Self

    from scrapy.crawler import Crawler

    from crawlproject.crawl_frontier import CrawlFrontier

logger = logging.getLogger(__name__)

#: Servers (names) that answered last, remembered to be asked in an outage: more than one operator has, who might
#: answer for a while, and then no longer.
REMEMBERED = 1000

#: Of these, the last ones are asked first, then any: the outage is over when one answers.
ASKED, MAX_ASKED = 3, 20

#: Seconds that each has to accept a connection.
PROBE_TIME = 5.0

#: Seconds between two rounds, at first and at most.
PAUSE, MAX_PAUSE = 2.0, 30.0

#: Seconds within which requests that wait for the end notice that the crawl closes.
CHECK = 1.0

#: Seconds without new requests when the process has no file descriptor left.
NO_FILES_PAUSE = 1.0

#: Open files for everything but sessions: look-ups (two each), stores, feeds, logs, the console.
OTHERS = 600

#: What a crawl with few sessions needs at least.
FEW = 50

#: A request that ends by one of these during an outage would have failed whatever the server.
_FAILURES = (DownloadTimeoutError, DownloadConnectionRefusedError, CannotResolveHostError, DownloadFailedError)

#: Errors of the system that may be an outage, besides time-outs; with the last one, our own address is gone.
_UNREACHABLE = frozenset(
    (errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ETIMEDOUT, errno.EADDRNOTAVAIL)
)

_NO_FILES = frozenset((errno.EMFILE, errno.ENFILE))


class Route:
    """What is known of one way out: failures since the last answer, and ``known`` to have answered, latest last."""

    def __init__(self, name: str, least: int, probe: Callable[[str, str | None], Awaitable[bool]]) -> None:
        self.name = name
        self.probe = probe
        self._least = self._limit = least
        self.failures = 0
        self.known: dict[str, str | None] = {}

    def answered(self, key: str, address: str | None) -> None:
        """``key`` has answered. O(1)."""
        if self.failures:
            self.failures = 0
            self._limit = self._least
        self.known.pop(key, None)
        self.known[key] = address
        if len(self.known) > REMEMBERED:
            del self.known[next(iter(self.known))]

    def answered_before(self, key: str, address: str | None) -> None:
        """``key`` has answered, perhaps in an earlier run. O(1)."""
        if len(self.known) < REMEMBERED:
            self.known.setdefault(key, address)

    def failed(self) -> bool:
        """One has failed; returns whether that makes an outage likely. O(1)."""
        self.failures += 1
        return self.failures >= self._limit and len(self.known) >= ASKED

    def refuted(self) -> None:
        """Others do answer: twice as many must fail in a row before they are asked again."""
        self.failures = 0
        self._limit *= 2

    def rounds(self) -> Iterator[list[tuple[str, str | None]]]:
        """Those known to be asked together, for ever. O(REMEMBERED) a round."""
        yield list(reversed(self.known.items()))[:ASKED]
        while True:
            yield random.sample(list(self.known.items()), min(MAX_ASKED, len(self.known)))


class Outages:
    """Pauses the crawl while this machine's network, or its name servers, do not work; requests then return unsent.

    An outage is likely when ``least`` requests in a row have failed without an answer from any server (or ``least``
    look-ups of names), and certain if none of ``ASKED`` that answered before can be reached now.  Then more
    of them are asked every few seconds until one answers.  0: never.  Refused connections and missing names are
    answers.  Nothing is decided of requests through proxies.

    ``connects(key, address)`` and ``resolves(name)`` ask once.
    Stats: ``frontier/outages``, ``frontier/outage_time`` (seconds), ``frontier/out_of_files``.
    """

    def __init__(
        self,
        crawl: CrawlFrontier,
        least: int,
        connects: Callable[[str, str | None], Awaitable[bool]],
        resolves: Callable[[str], Awaitable[bool]],
        count: Callable[..., None],
    ) -> None:
        self._crawl = crawl
        self._is_watching = least > 0
        self._network = Route("no server can be reached", least, connects)
        self._names = Route("no name server answers", least, lambda _, name: resolves(name or ""))
        self._count = count
        self._asking: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._said_files = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """By the settings; of a crawl with a frontier."""
        parts, frontier = Crawl.of(crawler), frontier_of(crawler)
        assert frontier is not None
        lookup = parts.part(NameLookup)
        local = normalize_bind_address(crawler.settings.get("DOWNLOAD_BIND_ADDRESS"))
        connects = partial(accepts, lookup, parts.part(AddressGuard), local)
        least = FrontierOptions.of(crawler).outage_failures
        return cls(frontier, least, connects, lookup.answers, stats_of(crawler).inc_value)

    @property
    def is_on(self) -> bool:
        """Whether the crawl is paused: an outage is likely or certain, or the process has no file descriptor left."""
        return self._crawl.outage is not None

    async def over(self, is_closing: Callable[[], bool]) -> None:
        """Return when no outage is likely, or within ``CHECK`` seconds after the crawl begins to close."""
        while self._asking is not None and not is_closing():
            await asyncio.wait((self._asking,), timeout=CHECK)

    def close(self) -> None:
        self._is_watching = False
        if self._asking is not None:
            self._asking.cancel()
        if self._timer is not None:
            self._timer.cancel()

    def answered(self, key: str, address: str) -> None:
        """The server ``key`` has answered from ``address``, not through a proxy. O(1)."""
        if self._is_watching:
            self._network.answered(key, address)

    def explain(self, key: str, error: BaseException) -> bool:
        """Whether an outage explains ``error``, by which a request to the server ``key`` ended. O(1)."""
        number = next((each.errno for each in causes(error) if isinstance(each, OSError) and each.errno), None)
        if number in _NO_FILES:
            self._no_files(error)
            return True
        if isinstance(error, DownloadTimeoutError) or number in _UNREACHABLE:
            self.failed(key)
        return self.is_on and isinstance(error, _FAILURES)

    def failed(self, key: str) -> None:
        """The server ``key`` could not be reached. O(1)."""
        self._learn(self._network, key, None, (key,))

    def looked_up(self, name: str, failure: str | None) -> bool:
        """The name servers were asked for ``name``; returns whether an outage explains their ``failure``. O(labels)."""
        if not self._is_watching:
            return False
        domain = domain_of_server(f"http://{name}")
        if failure is None or failure in FINAL:
            self._names.answered(domain, name)
            return False
        self._learn(self._names, domain, name, (f"https://{name}", f"http://{name}"))
        return self.is_on

    def _learn(self, route: Route, key: str, address: str | None, servers: tuple[str, ...]) -> None:
        if not self._is_watching or self._crawl.admits_any:  # proxies resolve names, and connect
            return
        if any(server is not None and server.answered for server in map(self._crawl.frontier.server, servers)):
            route.answered_before(key, address)
        if route.failed() and self._asking is None:
            self._crawl.hold_back(f"the network: {route.failures} failures in a row, others are asked")
            self._asking = asyncio.get_running_loop().create_task(self._find_out(route))

    def _no_files(self, error: BaseException) -> None:
        self._count("frontier/out_of_files", 1)
        if not self._said_files:
            self._said_files = True
            logger.error("%s: raise the limit (ulimit -n), or lower FRONTIER_MAX_SESSIONS", error)
        if self._crawl.outage is None:
            self._crawl.hold_back("the process: too many open files (ulimit -n)")
            self._timer = asyncio.get_running_loop().call_later(NO_FILES_PAUSE, self._try_again)

    def _try_again(self) -> None:
        if self._asking is None:  # else there is an outage besides
            self._crawl.hold_back(None)
            self._crawl.wake()

    async def _find_out(self, route: Route) -> None:
        """Ask until one answers; then the crawl goes on."""
        started, pause, is_certain = CLOCK(), PAUSE, False
        try:
            for asked in route.rounds():
                if await _any(route.probe(*each) for each in asked):
                    break
                if not is_certain:
                    is_certain = True
                    self._crawl.cut_off(inf)
                    self._count("frontier/outages", 1)
                    logger.warning(
                        "Outage: %s, not even those that answered before (%s); the crawl waits, nothing is given up",
                        route.name,
                        ", ".join(key for key, _ in asked),
                    )
                self._crawl.hold_back(f"the network: {route.name}")
                await asyncio.sleep(pause)
                pause = min(MAX_PAUSE, 1.5 * pause)
        finally:
            self._asking = None
            self._crawl.hold_back(None)
            if is_certain:
                self._crawl.cut_off(CLOCK())
                self._count("frontier/outage_time", round(CLOCK() - started, 3))
        if is_certain:
            route.failures = 0
            logger.warning("The outage is over after %.0f s", CLOCK() - started)
        else:
            route.refuted()
        self._crawl.wake()


async def _any(results: Iterable[Awaitable[bool]]) -> bool:
    """Whether one of ``results`` is true; the others are no longer awaited."""
    tasks = [asyncio.ensure_future(each) for each in results]
    try:
        for task in asyncio.as_completed(tasks):
            if await task:
                return True
        return False
    finally:
        for each in tasks:
            each.cancel()


async def accepts(lookup: NameLookup, guard: AddressGuard, local: Any, key: str, address: str | None) -> bool:
    """Whether the server ``key``, last seen at ``address``, can be reached now from ``local``; sends no request."""
    url = urlsplit(key)
    try:
        async with asyncio.timeout(PROBE_TIME):
            if address is None:
                host = host_of(key)
                address = host if is_address(host) else (await lookup.look_up(host)).addresses[0]
            if guard.refusal(address) is not None:
                return False
            port = url.port or (443 if url.scheme == "https" else 80)
            transport, _ = await asyncio.get_running_loop().create_connection(
                asyncio.Protocol, address, port, local_addr=local
            )
    except (ConnectionRefusedError, ConnectionResetError):
        return True
    except OSError:
        return False
    transport.close()
    return True


def affordable_sessions(sessions: int) -> int:
    """The number of sessions, at most ``sessions``, for which there are enough files; raises the soft limit if needed.

    If the hard limit is too low, sessions get half of what is left.
    """
    limit, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = sessions + OTHERS
    if limit != resource.RLIM_INFINITY and limit < needed:
        wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with suppress(ValueError, OSError):  # macOS has a lower limit that is not told
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            limit = wanted
    if limit == resource.RLIM_INFINITY or limit >= needed:
        return sessions
    return max(1, min(sessions, (limit - FEW) // 2))
