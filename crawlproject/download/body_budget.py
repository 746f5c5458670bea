"""How much memory the bodies under way take in all: above the bound, reading waits.

A body counts from its first byte until its response is no longer used, so what waits for the spider counts, too.  A
response that a spider keeps (in a list, in the ``cb_kwargs`` of later requests) stops counting: waiting frees nothing.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, finalize

from scrapy import signals

from crawlproject.clock import CLOCK
from crawlproject.engine import stats_of, unfinished_requests
from crawlproject.options.network import NetworkOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

#: Above the bound, finished bodies are waited for so long (seconds) before one body goes on all the same: a callback
#: may hold one of them while it waits for another download.  A response that is still there so long after it came, but
#: whose request is over, is kept by the spider.
GRACE = 5.0

#: Above the bound, the body that goes on has to bring so many bytes in each ``GRACE``, or it is given up: it would hold
#: up all others. A fortieth of the median server's rate.
MIN_PROGRESS = 80_000

#: Responses with smaller bodies are not watched for their end: 64 of them are 4 MB.
MIN_WATCHED = 1 << 16


class Share:
    """What one body takes of the budget, bytes; ``give_up`` ends its download.

    ``awaited``: a callback may wait for the body while it holds another one.
    """

    def __init__(self, budget: BodyBudget, give_up: Callable[[], None] | None = None, *, awaited: bool = False) -> None:
        self._budget = budget
        self.give_up = give_up
        self.awaited = awaited
        self.size = 0
        self.finished = False
        self.finished_at = 0.0  # by CLOCK
        self.turn: asyncio.Future[None] | None = None

    def grow(self, size: int) -> bool:
        """Take ``size`` bytes more; False: wait before the next. O(1)."""
        self.size += size
        self._budget.total += size
        return self._budget.total <= self._budget.limit

    def close(self) -> None:
        """Give all of it back. O(waiting)."""
        self._budget.forget(self)

    def end(self) -> None:
        """Nothing is read any more: give it back unless a response holds it. O(waiting)."""
        if not self.finished:
            self.close()


class BodyBudget:
    """``limit`` bytes for all bodies: while there are more, only one of those being read goes on, to its end.

    Not even that one goes on while finished bodies are held, which are about to be released, unless none is released
    for ``GRACE`` seconds.  An ``awaited`` one waits for other awaited ones only: the rest may be held by the callback
    that waits for it.  So the sum stays below ``limit`` and two bodies, whatever servers send, and something always
    goes on.  ``paused`` and ``given_up`` are called for each wait, and for each body given up.  ``unfinished`` gives
    the requests whose callbacks have not ended.
    """

    def __init__(
        self,
        limit: int,
        paused: Callable[[], None],
        given_up: Callable[[], None],
        unfinished: Callable[[], AbstractSet[Request]],
    ) -> None:
        self.limit = limit
        self.total = 0
        self._paused = paused
        self._given_up = given_up
        self._unfinished = unfinished
        self._shares: set[Share] = set()  # of bodies that are being read, or finished
        self._held: WeakKeyDictionary[Response, tuple[Share, finalize[..., Response]]] = WeakKeyDictionary()
        self._leader: Share | None = None
        self._leader_size: int | None = None  # when it was last looked
        self._shrank = False  # since it was last looked
        self._timer: asyncio.TimerHandle | None = None

    def share(self, give_up: Callable[[], None] | None = None, *, awaited: bool = False) -> Share:
        """One for a body that is about to be read."""
        share = Share(self, give_up, awaited=awaited)
        self._shares.add(share)
        return share

    async def wait(self, share: Share) -> None:
        """Return when ``share`` may grow. O(1) below the bound, above it O(bodies)."""
        if self.total <= self.limit:
            return
        self._forget_kept()
        if self.total <= self.limit:
            return
        self._paused()
        loop = asyncio.get_running_loop()
        if self._timer is None:
            self._timer = loop.call_later(GRACE, self._look)
        if self._leader is None and self._leading([share]):
            self._lead(share)
        while self.total > self.limit and share is not self._leader:
            share.turn = loop.create_future()
            try:
                await share.turn
            finally:
                share.turn = None

    def hold(self, response: Response, share: Share) -> None:
        """The body is read: it counts until ``response`` is released."""
        if share.size < MIN_WATCHED:
            share.close()
            return
        share.finished = True
        share.finished_at = CLOCK()
        share.give_up = None
        if self._leader is share:
            self._leader = None
        end = finalize(response, share.close)
        end.atexit = False
        self._held[response] = share, end
        self._wake()

    @contextmanager
    def resumed(self, response: Response) -> Iterator[Share]:
        """The share of a finished body that becomes another one, which ``hold`` is called for; if not, it is closed."""
        share = self._resume(response)
        try:
            yield share
        finally:
            share.end()

    def forget(self, share: Share) -> None:
        """The body of ``share`` is gone."""
        if share in self._shares:
            self._shares.remove(share)
            self.total -= share.size
            self._shrank = self._shrank or share.size > 0
            share.size = 0
            if self._leader is share:
                self._leader = None
            self._wake()

    def callback_raised(self, failure: Failure, response: Response) -> None:
        """Release a large ``response`` after all handlers of the error: Scrapy leaves it in a cycle of the traceback's
        frames, where it takes memory until Python looks for cycles."""
        if response in self._held:
            asyncio.get_running_loop().call_soon(_drop_tracebacks, failure.value)

    def close(self) -> None:
        """The crawl has ended."""
        if self._timer is not None:
            self._timer.cancel()

    def _resume(self, response: Response) -> Share:
        share, end = self._held.pop(response, (None, None))
        if share is None or end is None:
            return self.share()
        end.detach()
        share.finished = False
        return share

    def _forget_kept(self) -> None:
        """Leave out the responses that only the spider still uses: nothing tells when it will release them."""
        unfinished, before = self._unfinished(), CLOCK() - GRACE
        for response, (share, end) in list(self._held.items()):
            if share.finished_at <= before and response.request not in unfinished:
                del self._held[response]
                end.detach()
                share.close()

    def _leading(self, shares: Iterable[Share]) -> list[Share]:
        """Those of ``shares`` that need not wait for finished bodies to be released. O(bodies)."""
        held = {share.awaited for share in self._shares if share.finished}
        return [share for share in shares if True not in held and (share.awaited or not held)]

    def _lead(self, leader: Share | None) -> None:
        """Let ``leader`` go on above the bound."""
        self._leader = leader
        self._leader_size = None

    def _waiting(self) -> list[Share]:
        return [share for share in self._shares if share.turn]

    def _wake(self) -> None:
        """Let go on what may."""
        if self.total <= self.limit:
            self._leader = None
            for share in self._shares:
                _go_on(share)
        else:
            if self._leader is None:
                self._lead(max(self._leading(self._waiting()), key=_size, default=None))
            _go_on(self._leader)

    def _look(self) -> None:
        """``GRACE`` seconds more have gone by: where it is still above the bound, nobody may hold up the others."""
        self._timer = None
        waiting = max(self._waiting(), key=_size, default=None)
        if waiting is None:
            return
        self._timer = asyncio.get_running_loop().call_later(GRACE, self._look)
        self._forget_kept()
        leader = self._leader
        if leader is None:
            if not self._shrank:
                self._lead(waiting)
        elif (
            leader.give_up is not None
            and self._leader_size is not None
            and leader.size - self._leader_size < MIN_PROGRESS
        ):
            self._given_up()
            leader.give_up()
        else:
            self._leader_size = leader.size
        self._shrank = False
        self._wake()


def _drop_tracebacks(error: BaseException | None) -> None:
    """Take the traceback off ``error``, and off those that it came from: the frames in it hold ``error``, too."""
    met: set[int] = set()
    while error is not None and id(error) not in met:
        met.add(id(error))
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def _size(share: Share) -> int:
    return share.size


def _go_on(share: Share | None) -> None:
    if share is not None and share.turn is not None and not share.turn.done():
        share.turn.set_result(None)


_budgets: WeakKeyDictionary[Crawler, BodyBudget] = WeakKeyDictionary()


def crawl_budget(crawler: Crawler) -> BodyBudget:
    """The budget that all parts of a crawl share.

    Stats: ``downloader/bodies_paused``, ``downloader/bodies_given_up``.
    """
    budget = _budgets.get(crawler)
    if budget is None:
        count = stats_of(crawler).inc_value
        limit = NetworkOptions.of(crawler).max_active_size
        budget = _budgets[crawler] = BodyBudget(
            limit,
            lambda: count("downloader/bodies_paused"),
            lambda: count("downloader/bodies_given_up"),
            partial(unfinished_requests, crawler),
        )
        crawler.signals.connect(budget.callback_raised, signals.spider_error)
    return budget
