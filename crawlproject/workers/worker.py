"""One worker of a crawl: three loops that run while the crawl does.

The *beat* extends the worker's lease; the *watch* closes all connections when it is over.  The *tick* sends what
changed (``writer``), reads the inboxes (``receiver``), takes and gives back partitions (``shares``), and looks whether
the crawl has ended for all.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from crawlproject.storage.errors import StoreError
from crawlproject.workers.control import AWAY, NOTHING, Beat, Spent, new_id
from crawlproject.workers.ending import PartitionState, Scan, has_ended
from crawlproject.workers.lease import MAX_LAG, Lease, RedisClock, boot_time
from crawlproject.workers.loops import BuriedError, GoneError, Loops
from crawlproject.workers.orders import number_of
from crawlproject.workers.part import PartState
from crawlproject.workers.receiver import Receiver
from crawlproject.workers.shares import Shares, staying
from crawlproject.workers.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawlproject.workers.holdings import Holdings
    from crawlproject.workers.ports import StartUrlKey

logger = logging.getLogger(__name__)

#: URLs in the outbox that stop the hand-out of requests.
MAX_OUTBOX = 50_000
#: Seconds between two copies of what was learned from all servers.
LEARNED_EVERY = 10.0
#: Time after a beat until the beat loop makes one, unless a tick does: intervals of ticks, of 1 s at most.
BEAT_WAIT = 1.5
#: Ticks are this many times as frequent while partitions move between workers; so is the exchange of links while this
#: worker has few URLs.
HASTE = 4
#: URLs in the outbox above which they wait for the tick: more messages for the same URLs cost more.
FEW = 200
#: Seconds without a confirmed beat, as a share of the lease, after which others may have missed beats as well.
BREAK = 0.5
#: Seconds to wait for Redis to have what is queued.
SAVE_TIMEOUT = 10.0
#: Seconds after the start in which a worker declares nobody dead: others may be about to reach Redis again.
SETTLING = 3.0


class Worker:
    """See the module."""

    def __init__(self, holdings: Holdings) -> None:
        self.control = holdings.control
        self.parts = holdings.parts
        self._local = holdings.local
        self._outbox = holdings.outbox
        self._crawl = holdings.crawl
        self._options = options = holdings.options
        #: Its ``cuts`` tell what Redis has.
        self.writer = Writer(holdings)
        self._shares = Shares(holdings, self.writer, self._beat_once, self._stays)
        self._receiver = Receiver(holdings)
        self._loops = Loops(holdings.crawl, options.interval / 40)
        self._lease = Lease(options.lease, margin=(1 - MAX_LAG) * options.lease)
        self._beat = Beat("ok")
        self._beat_sent = -inf
        self._ticked_at = -inf
        self._reported = self._counted = NOTHING  # what was reported to Redis, and that under earlier ids
        self._last_scan: Scan | None = None
        self._looked_at = boot_time()
        self._has_ended = False
        self._is_gone = False
        self._has_released = False  # all partitions, at the end
        self._is_beginning = False
        self._lost_since = inf  # when began what Redis may have lost and was not sent again (``boot_time``)
        self._run_id = ""  # of Redis, as far as known
        self._changed = 0.0  # when that became another one, or Redis's clock was set; on that clock
        self._redis_clock = RedisClock()
        self._lost = 0
        self._learned_at = 0.0
        self._tasks: list[asyncio.Task[None]] = []
        #: Whether all workers wait for nothing but servers that fail and have never answered.
        self.only_failing = False
        #: Sums of the stats of all workers that left, if this one was the last.
        self.totals: dict[str, float] = {}
        self._hurry = asyncio.Event()  # the next step should come at once
        self._is_urgent = False  # and be a tick
        #: Keys with start URLs that others put into Redis.
        self.start_urls: Sequence[StartUrlKey] = ()

    # for the backend

    def may_start(self) -> bool:
        """Whether a request may be handed out now. O(1)."""
        now = boot_time()
        is_late = now - self.writer.confirmed_at > MAX_LAG * self._options.lease
        return not is_late and self._lease.may_start(now) and self._outbox.length < MAX_OUTBOX

    def may_send(self) -> bool:
        """Whether the servers of requests that were handed out are still this worker's. O(1)."""
        return boot_time() < self._lease.until

    def goes_on(self) -> bool:
        """Whether the crawl has not ended for all workers. O(1)."""
        return not self._has_ended and not self._loops.are_over.is_set()

    def unwanted(self, url: str) -> None:
        """A stored URL will not be fetched in this run: the crawl does not wait for it. O(1)."""
        part = self.parts.get(self._local.partition_of_url(url))
        if part is not None:
            part.unwanted += 1

    def confirmed(self, partition: int) -> int | None:
        """Number of cuts that Redis has confirmed; None if another worker crawls ``partition``."""
        part = self.parts.get(partition)
        return None if part is None or part.state is PartState.LOADING else self.writer.cuts

    def is_leaving(self, partition: int) -> bool:
        """Whether ``partition`` is about to go to another worker. O(1)."""
        part = self.parts.get(partition)
        return part is not None and part.state is PartState.LEAVING

    def _stays(self) -> set[int]:
        """Partitions that cannot go to another worker yet."""
        return {source.partition for source in self.start_urls if source.are_pending}

    async def saved(self) -> bool:
        """Wait until Redis has what is queued now; False if it does not have it within ``SAVE_TIMEOUT``."""
        cuts, end = self.writer.cuts + 2, boot_time() + SAVE_TIMEOUT  # a cut under way may lack it
        while self.writer.cuts < cuts and boot_time() < end:
            await asyncio.sleep(0.05)
        return self.writer.cuts >= cuts

    def summary(self) -> dict[str, float]:
        """Counts for the stats, by name."""
        return {
            "received": self._receiver.received,
            "received/bad": self._receiver.bad,
            "redis_away": self._loops.away,
            "taken": self._shares.taken,
            "released": self._shares.released,
            "lost": self.writer.lost,
            "snapshots": self._shares.snapshots,
            "sent": self._outbox.total,
            "sent/refused": self._outbox.refused,
            "calls": self.control.calls,
            "cuts": self.writer.cuts,
            "pages": self._beat.spent.pages,
            "partitions": len(self.parts),
            "lag": round(boot_time() - self.writer.confirmed_at, 1),
        }

    # life

    async def start(self) -> None:
        """Begin with what other workers learned, take free partitions, start the loops."""
        try:
            await self._learn()
            await self._shares.step(await self._beat_once())
        except AWAY as error:
            self._loops.redis_is_away(error, self._step.__name__)
        except (GoneError, BuriedError):
            pass
        except StoreError as error:  # the loops will find that, too
            logger.debug("The first step failed: %s", error)
        tick = self._loops.repeat(self._step, self._next_step, self._hurry)
        beat = self._loops.repeat(self._beat_if_due, self._next_beat, asyncio.Event())
        for loop in (tick, beat, self._watch()):
            self._tasks.append(asyncio.get_running_loop().create_task(loop))

    async def _learn(self) -> None:
        learned, self._run_id = await self.control.learned_in_run()
        if learned:
            try:
                self._local.learn(learned)
            except (ValueError, KeyError, TypeError) as error:
                logger.warning("What other workers learned cannot be read: %s", error)

    async def stop(self) -> None:
        """Send all remaining changes and release all partitions; gives up when the lease ends."""
        self._loops.are_over.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._shares.stop()  # not before: a tick takes partitions, and may be cancelled too late
        end = boot_time() + self._options.lease
        while not self._is_gone and not await self._leave():
            if boot_time() > end:
                logger.error("Redis did not answer: other workers take over when the lease of this one is over")
                break
            await asyncio.sleep(min(0.1, self._options.lease / 10))
        if not self._is_gone:
            with suppress(*AWAY):
                await self.control.set_learned(self._local.state())
            with suppress(*AWAY, StoreError):  # of a damaged record: the loops have told that, or the next run will
                self.totals = await self.control.add_stats(self._crawl.stats())
                if self.totals:  # nobody is left: what waits is all in Redis, not with workers that come or go
                    records = await self.control.records(range(self._options.partitions))
                    self.totals["frontier/urls"] = float(sum(record.stored for record in records))
                    self.totals["frontier/servers"] = float(sum(record.servers for record in records))

    async def _leave(self) -> bool:
        """Send the remaining changes; if there are none, release all partitions and return True."""
        try:
            if not self._has_released and not await self._release_all():
                return False
            await self.control.leave()  # no beat before it is repeated: that would join again, and leave twice
        except AWAY as error:
            self._loops.redis_is_away(error, self._leave.__name__)
            return False
        except (GoneError, BuriedError):
            return True
        self._shares.released += len(self.parts)
        return True

    async def _release_all(self) -> bool:
        """False if something was left to be sent."""
        await self._beat_once()
        await self._replay()
        try:
            if not await self.writer.flush():
                return False
        except StoreError as error:
            logger.critical("The last changes are lost, their pages are fetched again: %s", error)
        else:
            for source in self.start_urls:
                await source.remove_stored()
        await self.control.release({part.number: part.epoch for part in self.parts.values()})
        self._has_released = True
        return True

    def _next_step(self, started: float) -> float:
        interval = self._options.interval
        if self._shares.is_moving or self.is_hungry():
            return started + interval / HASTE
        return max(started, self._ticked_at) + interval

    def is_hungry(self) -> bool:
        """Whether this worker has few URLs to choose from, and other workers may send some."""
        is_alone = len(self._beat.members) < 2
        return self._crawl.is_hungry() and not is_alone and not self._loops.is_failing and self._outbox.length <= FEW

    def _next_beat(self, started: float) -> float:
        """When a beat is due unless a tick makes one before: ticks begin with one."""
        return max(started, self._beat_sent) + BEAT_WAIT * min(1.0, self._options.interval)

    async def _watch(self) -> None:
        """Close all connections whenever the lease ends: from then on others may take the servers."""
        while True:
            left = self._lease.until - boot_time()
            if left > 0:
                await asyncio.sleep(min(1.0, left))
                continue
            if self._lease.has_begun:
                self._crawl.disconnect()
            await asyncio.sleep(min(1.0, self._options.interval))

    # the beat

    async def _beat_if_due(self) -> None:
        if boot_time() >= self._next_beat(-inf):
            await self._beat_once()

    async def _beat_once(self) -> Beat:
        if self._is_beginning:
            raise BuriedError
        self._beat_sent = sent_at = boot_time()
        worker = self.control.id
        info, counts = self._crawl.info(), self.summary()
        spent = Spent(int(info.get("pages", 0)), int(info.get("bytes", 0)))
        under_this_id = Spent(spent.pages - self._counted.pages, spent.size - self._counted.size)
        beat = await self.control.beat(
            self._options.lease, self._info(info, counts), self._member(), under_this_id, self._changed
        )
        if self.control.id != worker:
            raise BuriedError  # as another beat has found out meanwhile
        if beat.status == "gone" or (beat.status == "ok" and beat.crawl != self._options.crawl):
            if not self._is_gone:
                logger.critical("Redis has lost this crawl, or has another one of this name: the worker ends")
            self._is_gone = True
            raise GoneError
        if beat.status == "dead":
            await self._begin_again()
            raise BuriedError
        self._reported = spent
        beat = self._changes_of_redis(beat, sent_at)
        could_start = self.may_start()
        if staying(beat) != staying(self._beat):
            self._tick_soon()
        self._beat = replace(beat, at=sent_at, since=self._reached_since(sent_at))
        self._lease.beat_confirmed(sent_at)
        self._local.follow_clock(beat.now, boot_time() - sent_at)
        if not could_start:
            self._crawl.wake()
        self._crawl.report(counts | {"pages": beat.spent.pages})
        self._crawl.share_limits(spent, beat.spent, len(staying(beat)))
        self._crawl.acted(beat.actions)
        if beat.state == "running":
            self._has_ended = False  # new start URLs, or another worker that was not idle
        elif not self._has_ended and not self._options.keep_running:
            if self._is_idle():
                self._ended()
            else:  # this worker joined meanwhile, with new URLs
                await self.control.set_running(self._options.crawl)
        return self._beat

    def _changes_of_redis(self, beat: Beat, sent_at: float) -> Beat:
        """Notice that it was started again, or its clock was set."""
        if self._run_id not in ("", beat.run_id):
            known = beat.before - self._options.lease if beat.before else self._beat.now
            lost = max(0.0, self._beat.now - known)
            told = max(1.0, lost)
            logger.warning("Redis was started again and lacks about the last %.0f s: they are sent again", told)
            self._lost_since = min(self._lost_since, self._beat.at - lost)
            self._changed = beat.now
        self._run_id = beat.run_id
        step = self._redis_clock.follow(beat.now, sent_at, boot_time())
        return self._clock_was_set(beat, step) if step else beat

    def _clock_was_set(self, beat: Beat, step: float) -> Beat:
        """Until all workers have known that for a lease, nobody is declared dead, and nobody takes a partition.

        Returns ``beat`` with what this worker tells the others from now on.
        """
        way = "forward" if step > 0 else "back"
        logger.warning("Redis's clock was set %s by %.0f s: no partition changes hands for a while", way, abs(step))
        self._changed = beat.now
        self._local.clock_set(step)
        self._tick_soon()  # tell the others
        for part in list(self.parts.values()):
            if part.state is PartState.LOADING:  # its rows have the times of the clock before
                self.writer.lose(part)
        return replace(beat, members={**beat.members, self.control.id: self._member()}, changed=self._changed)

    def _reached_since(self, sent_at: float) -> float:
        lease = self._options.lease
        if not self._beat.at:
            return sent_at - lease + min(SETTLING, lease)
        return self._beat.since if sent_at - self._beat.at < BREAK * lease else sent_at

    def _info(self, info: Mapping[str, Any], counts: Mapping[str, float]) -> dict[str, Any]:
        shown = {name: counts[name] for name in ("partitions", "lag", "sent", "received")}
        return {**info, **shown, "busy": self._is_busy(info)}

    def _member(self) -> dict[str, Any]:
        return {"run": self._run_id, "changed": self._changed, "leaving": self._crawl.is_closing()}

    def _is_busy(self, info: Mapping[str, Any]) -> bool:
        """Whether this worker has work, of which Redis may not know yet."""
        return bool(info.get("busy")) or not self.writer.is_clean or any(map(self.writer.stored, self.parts.values()))

    async def _begin_again(self) -> None:
        """Others took this worker for dead: it comes back under another name, without partitions."""
        logger.warning("Other workers took over: this one did not reach Redis for longer than its lease")
        self._is_beginning = True
        self._lease.lost()
        self.control.id = new_id()
        self._counted = self._reported
        self._crawl.disconnect()
        for part in list(self.parts.values()):
            self.writer.lose(part)
            await asyncio.sleep(0)
        self._is_beginning = False

    # the tick

    async def _step(self) -> None:
        """A tick if one is due, else an exchange of links."""
        is_due = boot_time() >= self._ticked_at + (1 - 1 / (2 * HASTE)) * self._options.interval
        if is_due or self._is_urgent or self._shares.is_moving:
            self._is_urgent = False
            await self._tick()
        else:
            self.control.read_along(self._receiver.inboxes())
            await self.writer.send_messages()
            await self._receiver.receive()

    def _tick_soon(self) -> None:
        self._is_urgent = True
        self._hurry.set()

    async def _tick(self) -> None:
        if self._is_gone:
            raise GoneError
        self._ticked_at = boot_time()
        await self._beat_once()  # a Redis started again gets what it has lost before anything is acknowledged
        await self._replay()
        could_start = self.may_start()
        self.control.read_along(self._receiver.inboxes())
        await self.writer.send()
        if not could_start:
            self._crawl.wake()
        if self.writer.lost > self._lost:
            logger.warning("Partitions that this worker no longer owns: %d", self.writer.lost - self._lost)
            self._lost = self.writer.lost
        await self._receiver.receive()
        if boot_time() - self._beat.at < BREAK * self._options.lease:  # else it says nothing about the other workers
            await self._shares.step(self._beat)
        has_start_urls = await self._move_start_urls()
        if has_start_urls and self._has_ended:
            self._has_ended = False
            await self.control.set_running(self._options.crawl)
        if boot_time() > self._learned_at + LEARNED_EVERY:
            self._learned_at = boot_time()
            await self.control.set_learned(self._local.state())
        await self._look_for_hope(may_end=not has_start_urls and not self._options.keep_running)
        if not has_start_urls:
            await self._look_for_end()

    async def _replay(self) -> None:
        since, self._lost_since = self._lost_since, inf
        if since < inf:
            try:
                await self.writer.replay(since)
            except BaseException:
                self._lost_since = min(since, self._lost_since)
                raise

    async def _move_start_urls(self) -> bool:
        """Whether start URLs wait, if this worker moves them, or has to know it: has the crawl ended?"""
        are_waiting = False
        for source in self.start_urls:
            if (source.partition in self.parts or self._has_ended or self._is_idle()) and await source.move():
                are_waiting = True
                if self._crawl.is_hungry() and source.partition in self.parts:
                    self._tick_soon()
        return are_waiting

    # the end

    def _is_idle(self) -> bool:
        return not self._is_busy(self._crawl.info())

    async def _look_for_end(self) -> None:
        """Call it when no start URLs wait."""
        if self._options.keep_running or self._has_ended or not self._is_idle():
            self._last_scan = None
            return
        if boot_time() < self._looked_at + self._options.interval:  # others may be about to join
            return
        self._looked_at = boot_time()
        last, self._last_scan = self._last_scan, await self._scan()
        scan = self._last_scan
        if has_ended(last, scan) and await self.control.set_ended(self._options.crawl, scan.mark):
            self._ended()

    async def _look_for_hope(self, *, may_end: bool) -> None:
        """Find out whether any worker has a server that may answer."""
        before, self.only_failing = self.only_failing, False
        are_loaded = not any(part.state is PartState.LOADING for part in self.parts.values())
        if may_end and are_loaded and self._crawl.info().get("only_failing"):
            _, infos, _ = await self.control.scan_all(())
            others = [infos.get(name, {}) for name in self._beat.members if name != self.control.id]
            self.only_failing = all(each.get("only_failing") or each.get("busy") is False for each in others)
        if self.only_failing and not before:
            self._crawl.wake()

    async def _scan(self) -> Scan:
        beat = self._beat
        mark, infos, rows = await self.control.scan_all(range(self._options.partitions))
        states = (
            PartitionState(beat.run_id, record.owner, record.epoch, record.seq, record.stored, inbox)
            for record, inbox in rows
        )
        info = self._crawl.info()
        infos[self.control.id] = {**info, "busy": self._is_busy(info)}
        busy = {worker: bool(info.get("busy", True)) for worker, info in infos.items()}
        obeyed = (number_of(mark), None)  # None: nothing in that process applies orders
        obeying = {worker for worker, info in infos.items() if info.get("actions") in obeyed}
        return Scan(tuple(states), frozenset(beat.members), busy, mark, obeying)

    def _ended(self) -> None:
        self._has_ended = True
        self._crawl.wake()
