"""Bounds the memory used by all response bodies: above the limit, reading pauses.

A body counts from its first byte until its response is released, so responses queued for the spider count, too.  A
response that the spider keeps (in a list, in the ``cb_kwargs`` of later requests) stops counting, because waiting
would not free it.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, finalize

from scrapy import signals

from crawlproject.clock import CLOCK
from crawlproject.download.endings import causes
from crawlproject.engine import stats_of, unfinished_requests
from crawlproject.options.network import NetworkOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Set as AbstractSet
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

#: Seconds to wait, above the limit, for finished bodies to be released before one body continues anyway: a callback may
#: hold a finished body while it waits for another download.  A response that still exists this long after its arrival,
#: and whose request has ended, is considered kept by the spider.
GRACE = 5.0

#: Minimum bytes that the one active body must receive per ``GRACE`` above the limit; otherwise its download is aborted,
#: because all others wait for it. A fortieth of the median server's rate.
MIN_PROGRESS = 80_000

#: The release of responses with smaller bodies (bytes) is not tracked: 64 of them are 4 MB.
MIN_WATCHED = 1 << 16


class Share:
    """The part of the budget used by one body (bytes).

    ``awaited``: a callback may be waiting for this body while it holds another one.
    """

    def __init__(self, budget: BodyBudget, *, awaited: bool) -> None:
        self._budget = budget
        self.awaited = awaited
        self.size = 0
        self.finished_at: float | None = None  # on CLOCK; from then on a response holds it
        self.turn: asyncio.Future[None] | None = None
        self.give_up: Callable[[], None] | None = None  # aborts its download

    def grow(self, size: int) -> bool:
        """Add ``size`` bytes; False: call ``wait`` before reading more. O(1)."""
        self.size += size
        self._budget.total += size
        return self._budget.total <= self._budget.limit

    def reads(self, give_up: Callable[[], None] | None) -> None:
        """Reading begins, and ``give_up`` aborts it; None: it has ended."""
        self.give_up = give_up

    async def wait(self) -> None:
        """Return when it may grow: see ``BodyBudget.wait``."""
        await self._budget.wait(self)

    def end(self) -> None:
        """Reading has ended: release the share unless a response holds it. O(waiting)."""
        if self.finished_at is None:
            self._budget.forget(self)


class BodyBudget:
    """A limit of ``limit`` bytes for all bodies; above it, only one body (the leader) is read on, to its end.

    Even the leader waits while finished bodies are held, because they are about to be released, unless none is released
    for ``GRACE`` seconds.  An ``awaited`` body waits only for other awaited bodies: the rest may be held by the
    callback that waits for it.  Therefore the total stays below ``limit`` plus two bodies, whatever servers send, and
    there is always progress.  ``unfinished`` returns the requests whose callbacks have not ended.
    Stats: ``downloader/bodies_paused`` (waits), ``downloader/bodies_given_up``.
    """

    def __init__(
        self, limit: int, count: Callable[[str], None], unfinished: Callable[[], AbstractSet[Request]]
    ) -> None:
        self.limit = limit
        self.total = 0
        self._count = count
        self._unfinished = unfinished
        self._shares: set[Share] = set()  # of bodies being read, and of finished ones
        self._with_turn: set[Share] = set()  # whose ``turn`` is set
        self._held: WeakKeyDictionary[Response, tuple[Share, finalize[..., Response]]] = WeakKeyDictionary()
        self._leader: Share | None = None
        self._leader_size: int | None = None  # at the last check
        self._shrank = False  # since the last check
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """By the settings."""
        limit = NetworkOptions.of(crawler).max_active_size
        budget = cls(limit, stats_of(crawler).inc_value, partial(unfinished_requests, crawler))
        crawler.signals.connect(budget.callback_raised, signals.spider_error)
        return budget

    def share(self, *, awaited: bool = False) -> Share:
        """A share for a body that is about to be read."""
        share = Share(self, awaited=awaited)
        self._shares.add(share)
        return share

    async def wait(self, share: Share) -> None:
        """Return when ``share`` may grow. O(1) below the limit, O(bodies) above it."""
        if self.total <= self.limit:
            return
        self._forget_kept()
        if self.total <= self.limit:
            return
        self._count("downloader/bodies_paused")
        loop = asyncio.get_running_loop()
        if self._timer is None:
            self._timer = loop.call_later(GRACE, self._look)
        if self._leader is None and self._leading([share]):
            self._lead(share)
        while self.total > self.limit and share is not self._leader:
            share.turn = loop.create_future()
            self._with_turn.add(share)
            try:
                await share.turn
            finally:
                share.turn = None
                self._with_turn.discard(share)

    def hold(self, response: Response, share: Share) -> None:
        """The body is complete: it counts until ``response`` is released."""
        if share.size < MIN_WATCHED:
            self.forget(share)
            return
        share.finished_at = CLOCK()
        if self._leader is share:
            self._leader = None
        end = finalize(response, self.forget, share)
        end.atexit = False
        self._held[response] = share, end
        self._wake()

    @contextmanager
    def resumed(self, response: Response) -> Iterator[Share]:
        """The share of a finished body that is being replaced by another; closed unless ``hold`` is called for that."""
        share, end = self._held.pop(response, (None, None))
        if share is None or end is None:
            share = self.share()
        else:
            end.detach()
            share.finished_at = None
        try:
            yield share
        finally:
            share.end()

    def forget(self, share: Share) -> None:
        """The body of ``share`` has been released."""
        if share in self._shares:
            self._shares.remove(share)
            self.total -= share.size
            self._shrank = self._shrank or share.size > 0
            share.size = 0
            if self._leader is share:
                self._leader = None
            self._wake()

    def callback_raised(self, failure: Failure, response: Response) -> None:
        """Release a large ``response`` after all error handlers have run.

        Scrapy leaves it in a reference cycle with the traceback's frames, which lives until the next garbage
        collection.
        """
        if response in self._held and failure.value is not None:
            asyncio.get_running_loop().call_soon(_drop_tracebacks, failure.value)

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _forget_kept(self) -> None:
        """Stop counting responses that only the spider still uses: it may never release them."""
        unfinished, before = self._unfinished(), CLOCK() - GRACE
        for response, (share, end) in list(self._held.items()):
            if share.finished_at is not None and share.finished_at <= before and response.request not in unfinished:
                del self._held[response]
                end.detach()
                self.forget(share)

    def _leading(self, shares: Iterable[Share]) -> list[Share]:
        """Those of ``shares`` that need not wait for the release of finished bodies. O(bodies)."""
        held = {share.awaited for share in self._shares if share.finished_at is not None}
        return [share for share in shares if True not in held and (share.awaited or not held)]

    def _lead(self, leader: Share | None) -> None:
        self._leader = leader
        self._leader_size = None

    def _waiting(self) -> list[Share]:
        """Shares that wait, the largest first."""
        waiting = (share for share in self._with_turn if share in self._shares)
        return sorted(waiting, key=attrgetter("size"), reverse=True)

    def _wake(self) -> None:
        """Resume the bodies that may be read. O(waiting): called for each page."""
        if self.total <= self.limit:
            self._leader = None
            for share in self._with_turn:
                _go_on(share)
        else:
            if self._leader is None:
                self._lead(next(iter(self._leading(self._waiting())), None))
            _go_on(self._leader)

    def _look(self) -> None:
        """Called every ``GRACE`` seconds while bodies wait: choose a leader, or abort one without progress."""
        self._timer = None
        waiting = self._waiting()
        if not waiting:
            return
        self._timer = asyncio.get_running_loop().call_later(GRACE, self._look)
        self._forget_kept()
        leader = self._leader
        if leader is None:
            if not self._shrank:
                self._lead(waiting[0])
        elif (
            leader.give_up is not None
            and self._leader_size is not None
            and leader.size - self._leader_size < MIN_PROGRESS
        ):
            self._count("downloader/bodies_given_up")
            leader.give_up()
        else:
            self._leader_size = leader.size
        self._shrank = False
        self._wake()


def _drop_tracebacks(error: BaseException) -> None:
    """Remove the tracebacks of ``error`` and its causes: their frames refer to ``error``."""
    for each in causes(error):
        each.__traceback__ = None


def _go_on(share: Share | None) -> None:
    if share is not None and share.turn is not None and not share.turn.done():
        share.turn.set_result(None)
