"""One page in the browser: its requests, and its errors."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager
from secrets import token_hex
from typing import TYPE_CHECKING

from crawlproject.clock import CLOCK

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from scrapy import Request

    from crawlproject.download.rendering.proxy import Answer
    from crawlproject.options.rendering import RenderOptions

#: Alert boxes, pop-ups and attempts to leave after which a page is given up.
MAX_NUISANCES = 20

#: Requests of a page at once; each may be answered by all the bytes that the page may still load.
AT_ONCE = 8

#: Requests of a page that are the same in all, after which it polls: nobody waits for further ones, which never end.
POLLS = 3


class RenderError(Exception):
    """A page was not rendered; ``kind`` names the stat."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class PageJob:
    """A page that is being rendered, in a context of its own, whose name, and user of the proxy, is ``user``."""

    def __init__(self, request: Request, document: Answer, options: RenderOptions) -> None:
        self.request = request
        self.url = request.url.partition("#")[0]
        self.document: Answer | None = document  # until it was served
        self._options = options
        self.user, self.password = f"render-{token_hex(8)}", token_hex(16)
        #: Raises RenderError when the page is given up; never returns.
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.started = CLOCK()
        self.requests = 0
        self.has_missed = False  # something that it asked for could not be fetched
        self.loaded = 0  # bytes
        self.in_flight = 0
        self.places = asyncio.Semaphore(AT_ONCE)
        self.changes = 0  # of the network: a request that is waited for began or ended
        self._asked: Counter[int] = Counter()  # hash of a request -> how often; a body may be long
        self._awaited = 0  # requests in flight that are no polls
        self._idle = asyncio.Event()
        self._idle.set()
        self.nuisances: dict[str, int] = {}  # kind -> number of alert boxes, pop-ups, ...
        self.has_begun = False  # the browser asked for the page itself
        self.redirect: str | None = None  # where a script wanted to go
        self.network_time = 0.0  # with at least one request in flight
        self._busy_since = 0.0

    @contextmanager
    def asking(self, request: Hashable) -> Iterator[None]:
        """Around each request to a server; equal ones are polls from the fourth on."""
        self._asked[hash(request)] += 1
        is_awaited = self._asked[hash(request)] <= POLLS
        if not self.in_flight:
            self._busy_since = CLOCK()
        self.in_flight += 1
        self._await(is_awaited)
        try:
            yield
        finally:
            self.in_flight -= 1
            self._await(-is_awaited)
            if not self.in_flight:
                self.network_time += CLOCK() - self._busy_since

    def _await(self, requests: int) -> None:
        self._awaited += requests
        self.changes += abs(requests)
        if self._awaited:
            self._idle.clear()
        else:
            self._idle.set()

    def may_ask(self) -> bool:
        """Count a request; False if the page has had its share of requests or bytes."""
        self.requests += 1
        return self.requests <= self._options.max_requests and self.may_load()

    def may_load(self) -> bool:
        """Whether the page may load more bytes."""
        return self.loaded < self._options.max_loaded

    def load(self, size: int) -> bool:
        """Count the bytes of an answer; False if they are more than the page may still load."""
        if size > self._options.max_loaded - self.loaded:
            return False
        self.loaded += size
        return True

    async def idle(self) -> None:
        """Return when no request is in flight, polls apart."""
        await self._idle.wait()

    def count_nuisance(self, nuisance: str) -> None:
        """Count an alert box, a pop-up, ...; the page is given up after ``MAX_NUISANCES`` of a kind."""
        count = self.nuisances[nuisance] = self.nuisances.get(nuisance, 0) + 1
        if count > MAX_NUISANCES:
            self.fail(nuisance, f"more than {MAX_NUISANCES} {nuisance.replace('_', ' ')}")

    def begin(self, url: str) -> None:
        """The browser asks for the page; ``url`` is how it writes that of the page."""
        self.has_begun = True
        self.url = url.partition("#")[0]

    def leave(self, url: str, method: str) -> None:
        """A script wants to go to ``url``; the first such URL that is another one counts."""
        if self.redirect is not None:
            return
        self.count_nuisance("navigations")
        target = url.partition("#")[0]
        if method == "GET" and target != self.url and target.startswith("http"):
            self.redirect = url

    def fail(self, kind: str, message: str) -> None:
        """Give the page up: ``failure`` raises."""
        if not self.failure.done():
            self.failure.set_exception(RenderError(kind, message))

    def close(self) -> None:
        """Nobody waits for the failure any longer."""
        if not self.failure.done():
            self.failure.cancel()
        elif not self.failure.cancelled():
            self.failure.exception()
