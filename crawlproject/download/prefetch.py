"""Resolves the names of servers before their sessions open, so that few connections wait for DNS."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from crawlproject.clock import CLOCK
from crawlproject.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crawlproject.download.resolver import CachingResolver

#: Seconds between the opening of a connection and the query of the frontier, so that one query serves all connections
#: opened meanwhile.
PAUSE = 0.05

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
