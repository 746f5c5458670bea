"""One worker of a crawl: two loops that run while the crawl does.

The *beat* extends the worker's lease.  The *tick* sends what changed (``writer``), reads the inboxes, takes and gives
back partitions (``shares``), and looks whether the crawl has ended for all.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawlproject.workers.blobs import BlobError, decode_message
from crawlproject.workers.control import AWAY, Beat, new_id
from crawlproject.workers.ending import EndDetector, PartitionState, Scan
from crawlproject.workers.lease import MAX_LAG, Lease
from crawlproject.workers.part import PartState
from crawlproject.workers.shares import Shares
from crawlproject.workers.times import boot_time
from crawlproject.workers.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from crawlproject.workers.holdings import Holdings

logger = logging.getLogger(__name__)

#: URLs in the outbox that stop the hand-out of requests.
MAX_OUTBOX = 50_000
#: Seconds between two copies of what was learned from all servers.
LEARNED_EVERY = 10.0
#: Messages applied in one tick, at most: then the next cut.
MAX_MESSAGES = 200


class Worker:
    """See the module."""

    def __init__(self, holdings: Holdings) -> None:
        self.control = holdings.control
        self.parts = holdings.parts
        self._local = holdings.local
        self._outbox = holdings.outbox
        self._crawl = holdings.crawl
        self._options = options = holdings.options
        self._writer = Writer(holdings)
        self._shares = Shares(holdings, self._writer, self._beat_once)
        self._lease = Lease(options.lease, margin=(1 - MAX_LAG) * options.lease)
        self._beat = Beat("ok")
        self._end = EndDetector()
        self._has_ended = False
        self._is_away = False
        self._must_replay = False
        self._learned_at = 0.0
        self._counts = {"received": 0, "received/bad": 0, "redis_away": 0}
        self._tasks: list[asyncio.Task[None]] = []
        self._stop = asyncio.Event()
        #: Moves start URLs into the crawl; whether there are any.
        self.move_start_urls: Callable[[], Awaitable[bool]] = _none

    # for the backend

    def may_start(self) -> bool:
        """Whether a request may be handed out now. O(1)."""
        now = boot_time()
        is_late = now - self._writer.confirmed_at > MAX_LAG * self._options.lease
        return not is_late and self._lease.may_start(now) and self._outbox.length < MAX_OUTBOX

    def goes_on(self) -> bool:
        """Whether the crawl has not ended for all workers. O(1)."""
        return not self._has_ended and not self._stop.is_set()

    def unwanted(self, url: str) -> None:
        """A stored URL will not be fetched in this run: the crawl does not wait for it. O(1)."""
        part = self.parts.get(self._local.partition_of_url(url))
        if part is not None:
            part.unwanted += 1

    def confirmed(self, partition: int) -> int | None:
        """Number of cuts that Redis has confirmed; None if another worker crawls ``partition``."""
        part = self.parts.get(partition)
        return None if part is None or part.state is not PartState.OWN else self._writer.cuts

    def summary(self) -> dict[str, int]:
        """Counts for the stats, by name."""
        pages = self._beat.pages + sum(_number(info.get("pages")) for info in self._beat.infos.values())
        return self._counts | {
            "taken": self._shares.taken,
            "released": self._shares.released,
            "lost": self._writer.lost,
            "snapshots": self._shares.snapshots,
            "sent": self._outbox.total,
            "calls": self.control.calls,
            "cuts": self._writer.cuts,
            "pages": pages,
        }

    # life

    async def start(self) -> None:
        """Begin with what other workers learned, take free partitions, start both loops.

        Raises what a call to Redis raises.
        """
        learned = await self.control.learned()
        if learned:
            try:
                self._local.learn(learned)
            except (ValueError, KeyError, TypeError) as error:
                logger.warning("What other workers learned cannot be read: %s", error)
        await self._shares.step(await self._beat_once())
        interval = self._options.interval
        for loop in (self._repeat(self._tick, interval), self._repeat(self._beat_once, min(1.0, interval))):
            self._tasks.append(asyncio.get_running_loop().create_task(loop))

    async def stop(self) -> None:
        """Send what is left and release all partitions; gives up when the lease is over."""
        self._stop.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, self._shares.stop(), return_exceptions=True)
        end = boot_time() + self._options.lease
        while not await self._leave():
            if boot_time() > end:
                logger.error("Redis did not answer: other workers take over when the lease of this one is over")
                break
            await asyncio.sleep(min(0.1, self._options.lease / 10))
        with suppress(*AWAY):
            await self.control.close()

    async def _leave(self) -> bool:
        """Send what is left; when nothing is, release all partitions and return True."""
        try:
            await self._beat_once()
            await self._writer.send()
            if not self._writer.is_clean:
                return False
            await self.control.release({part.number: part.epoch for part in self.parts.values()})
            await self.control.leave()
        except AWAY as error:
            self._redis_is_away(error)
            return False
        self._shares.released += len(self.parts)
        return True

    async def _repeat(self, step: Callable[[], Coroutine[Any, Any, object]], interval: float) -> None:
        while not self._stop.is_set():
            started = boot_time()
            try:
                await step()
            except AWAY as error:
                self._redis_is_away(error)
            except Exception:
                logger.exception("A step of this worker failed, it ends")
                self._crawl.fail("worker_failed")
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(max(interval / 10, started + interval - boot_time())):
                    await self._stop.wait()

    def _redis_is_away(self, error: BaseException) -> None:
        if not self._is_away:
            self._is_away = True
            self._counts["redis_away"] += 1
            logger.warning("Redis does not answer, the crawl waits for it: %s", str(error) or type(error).__name__)

    # the beat

    async def _beat_once(self) -> Beat:
        sent_at, worker = boot_time(), self.control.id
        self._lease.beat_sent(sent_at)
        beat = replace(await self.control.beat(self._options.lease, self._info()), at=sent_at)
        if beat.status == "gone" or (beat.status == "ok" and beat.crawl != self._options.crawl):
            logger.critical("Redis has lost this crawl, or has another one of this name: the worker ends")
            self._crawl.fail("redis_lost")
            self._stop.set()
            return self._beat
        if beat.status == "dead":
            if self.control.id == worker:  # else another beat has brought this news
                self._begin_again()
            return self._beat
        if self._beat.run_id not in ("", beat.run_id):
            logger.warning("Redis was started again: the changes of the last seconds are sent again")
            self._must_replay = True
        if self._is_away:
            self._is_away = False
            logger.info("Redis answers again")
        could_start = self.may_start()
        self._beat = beat
        self._lease.beat_confirmed(sent_at)
        self._local.follow_clock(beat.now)
        if not could_start:
            self._crawl.wake()
        if beat.state == "ended" and not self._has_ended and not self._options.keep_running:
            if self._is_idle():
                self._ended()
            else:  # this worker joined meanwhile, with new URLs
                await self.control.set_state(self._options.crawl, "running")
        return beat

    def _info(self) -> dict[str, Any]:
        """What this worker says of itself."""
        info = self._crawl.info()
        return info | {
            "partitions": len(self.parts),
            "lag": round(boot_time() - self._writer.confirmed_at, 1),
            "busy": bool(info.get("busy")) or not self._writer.is_clean,
            "sent": self._outbox.total,
            "received": self._counts["received"],
        }

    def _begin_again(self) -> None:
        """Others took this worker for dead: it comes back under another name, without partitions."""
        logger.warning("Other workers took over: this one did not reach Redis for longer than its lease")
        for part in list(self.parts.values()):
            self._writer.lose(part)
        self.control.id = new_id()

    # the tick

    async def _tick(self) -> None:
        if self._must_replay:
            await self._writer.replay()
            self._must_replay = False
        await self._writer.send()
        await self._receive()
        await self._shares.step(self._beat)
        has_start_urls = await self.move_start_urls()
        if has_start_urls and self._has_ended:
            self._has_ended = False
            await self.control.set_state(self._options.crawl, "running")
        await self._keep_learned()
        if not has_start_urls:
            await self._look_for_end()

    async def _receive(self) -> None:
        """Apply messages of own partitions; they are deleted with the commit of what they changed."""
        last = {part.number: part.last for part in self.parts.values() if part.state is PartState.OWN}
        applied = 0
        for number, messages in (await self.control.messages(last)).items():
            for name, blob in messages:
                part = self.parts.get(number)
                if part is None or part.state is not PartState.OWN or applied >= MAX_MESSAGES:
                    break
                await self._apply(blob)
                part.last = name
                part.applied.append(name)
                applied += 1
        if applied:
            self._crawl.wake()

    async def _apply(self, blob: bytes) -> None:
        try:
            entries, bad = decode_message(blob)
        except BlobError as error:
            logger.error("A message of another worker cannot be read: %s", error)
            entries, bad = [], 1
        for _ in self._crawl.receive(entries):
            await asyncio.sleep(0)
        self._counts["received"] += len(entries)
        self._counts["received/bad"] += bad

    async def _keep_learned(self) -> None:
        if boot_time() > self._learned_at + LEARNED_EVERY:
            self._learned_at = boot_time()
            await self.control.set_learned(self._local.state())

    # the end

    def _is_idle(self) -> bool:
        """Whether no partition of this worker has a URL, and nothing is in memory only."""
        return not self._info()["busy"] and not any(map(self._writer.stored, self.parts.values()))

    async def _look_for_end(self) -> None:
        """Call it when no start URLs wait."""
        if self._options.keep_running or self._has_ended or not self._is_idle():
            self._end = EndDetector()
            return
        if self._end.look(await self._scan()):
            await self.control.set_state(self._options.crawl, "ended")
            self._ended()

    async def _scan(self) -> Scan:
        beat = self._beat
        rows = await self.control.scan(range(self._options.partitions))
        states = (
            PartitionState(beat.run_id, record.owner, record.epoch, record.seq, record.stored, inbox)
            for record, inbox in rows
        )
        busy = {worker: bool(info.get("busy", True)) for worker, info in beat.infos.items()}
        busy[self.control.id] = False  # looked at just now
        return Scan(tuple(states), frozenset(beat.workers), busy, start_urls=False)

    def _ended(self) -> None:
        self._has_ended = True
        self._crawl.wake()


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


async def _none() -> bool:
    return False
