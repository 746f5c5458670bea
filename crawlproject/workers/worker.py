"""One worker of a crawl: three loops that run while the crawl does.

The *beat* extends the worker's lease; the *watch* closes all connections when it is over.  The *tick* sends what
changed (``writer``), reads the inboxes, takes and gives back partitions (``shares``), and looks whether the crawl has
ended for all.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from crawlproject.storage.errors import StoreError
from crawlproject.workers.blobs import BlobError, decode_message
from crawlproject.workers.connection import reason_of
from crawlproject.workers.control import AWAY, Beat, new_id
from crawlproject.workers.ending import EndDetector, PartitionState, Scan
from crawlproject.workers.lease import MAX_LAG, Lease
from crawlproject.workers.part import PartState
from crawlproject.workers.shares import Shares, staying
from crawlproject.workers.times import boot_time
from crawlproject.workers.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from crawlproject.frontier.entry import Entry
    from crawlproject.workers.holdings import Holdings
    from crawlproject.workers.part import Part
    from crawlproject.workers.ports import StartUrlKey

logger = logging.getLogger(__name__)

#: URLs in the outbox that stop the hand-out of requests.
MAX_OUTBOX = 50_000
#: Seconds between two copies of what was learned from all servers.
LEARNED_EVERY = 10.0
#: Time after a beat until the beat loop makes one, unless a tick does: intervals of ticks, of 1 s at most.
BEAT_WAIT = 1.5
#: Ticks are so many times as frequent while partitions go from one worker to another.
HASTE = 4
#: Seconds without a confirmed beat, as a share of the lease, after which others may have missed beats as well.
BREAK = 0.5
#: Seconds after the start in which a worker declares nobody dead: others may be about to reach Redis again.
SETTLING = 3.0
#: URLs received in one tick, about: then the next cut.
MAX_RECEIVED = 20_000
#: URLs received in one step of the event loop, about: a message may add 500 to them.
RECEIVED_AT_ONCE = 250
#: Seconds between two log lines on a Redis that does not answer.
LOG_EVERY = 60.0


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
        self._beat_sent = -inf
        self._end = EndDetector()
        self._looked_at = boot_time()
        self._has_ended = False
        self._is_gone = False
        self._has_released = False  # all partitions, at the end
        self._is_beginning = False
        self._failing: set[str] = set()  # loops whose last step Redis did not answer
        self._logged_at = 0.0
        self._must_replay = False
        self._run_id = ""  # of Redis at the first beat
        self._lost = 0
        self._learned_at = 0.0
        self._counts = {"received": 0, "received/bad": 0, "redis_away": 0}
        self._tasks: list[asyncio.Task[None]] = []
        self._stop = asyncio.Event()
        #: Sums of the stats of all workers that left, if this one was the last.
        self.totals: dict[str, float] = {}
        self._hurry = asyncio.Event()  # the next tick should come at once
        #: Start URLs that others put into Redis.
        self.start_urls: StartUrlKey | None = None

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

    def summary(self) -> dict[str, float]:
        """Counts for the stats, by name."""
        pages = self._beat.pages + sum(_number(info.get("pages")) for info in self._beat.infos.values())
        return self._counts | {
            "taken": self._shares.taken,
            "released": self._shares.released,
            "lost": self._writer.lost,
            "snapshots": self._shares.snapshots,
            "sent": self._outbox.total,
            "sent/refused": self._outbox.refused,
            "calls": self.control.calls,
            "cuts": self._writer.cuts,
            "pages": pages,
            "partitions": len(self.parts),
            "lag": self._lag(),
        }

    def _lag(self) -> float:
        """Seconds since Redis confirmed a cut."""
        return round(boot_time() - self._writer.confirmed_at, 1)

    # life

    async def start(self) -> None:
        """Begin with what other workers learned, take free partitions, start the loops."""
        try:
            await self._learn()
            await self._shares.step(await self._beat_once())
        except AWAY as error:
            self._redis_is_away(error, "_tick")
        except (_GoneError, _BuriedError):
            pass
        except StoreError as error:  # the loops will find that, too
            logger.debug("The first step failed: %s", error)
        tick = self._repeat(self._tick, self._next_tick, self._hurry)
        beat = self._repeat(self._beat_if_due, self._next_beat, asyncio.Event())
        for loop in (tick, beat, self._watch()):
            self._tasks.append(asyncio.get_running_loop().create_task(loop))

    async def _learn(self) -> None:
        learned = await self.control.learned()
        if learned:
            try:
                self._local.learn(learned)
            except (ValueError, KeyError, TypeError) as error:
                logger.warning("What other workers learned cannot be read: %s", error)

    async def stop(self) -> None:
        """Send what is left and release all partitions; gives up when the lease is over."""
        self._stop.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, self._shares.stop(), return_exceptions=True)
        end = boot_time() + self._options.lease
        while not self._is_gone and not await self._leave():
            if boot_time() > end:
                logger.error("Redis did not answer: other workers take over when the lease of this one is over")
                break
            await asyncio.sleep(min(0.1, self._options.lease / 10))
        if not self._is_gone:
            with suppress(*AWAY):
                self.totals = await self.control.add_stats(self._crawl.stats())
        with suppress(*AWAY):
            await self.control.close()

    async def _leave(self) -> bool:
        """Send what is left; when nothing is, release all partitions and return True."""
        try:
            if not self._has_released and not await self._release_all():
                return False
            await self.control.leave()  # no beat before it is repeated: that would join again, and leave twice
        except AWAY as error:
            self._redis_is_away(error, "_leave")
            return False
        except (_GoneError, _BuriedError):
            return True
        self._shares.released += len(self.parts)
        return True

    async def _release_all(self) -> bool:
        """False if something was left to be sent."""
        await self._beat_once()
        await self._replay()
        try:
            if not await self._writer.flush():
                return False
        except StoreError as error:
            logger.critical("The last changes are lost, their pages are fetched again: %s", error)
        await self.control.release({part.number: part.epoch for part in self.parts.values()})
        self._has_released = True
        return True

    def _next_tick(self, started: float) -> float:
        return started + self._options.interval / (HASTE if self._shares.is_moving else 1)

    def _next_beat(self, started: float) -> float:
        """When a beat is due unless a tick makes one before: ticks begin with one."""
        return max(started, self._beat_sent) + BEAT_WAIT * min(1.0, self._options.interval)

    async def _repeat(
        self,
        step: Callable[[], Coroutine[Any, Any, object]],
        next_at: Callable[[float], float],
        event: asyncio.Event,
    ) -> None:
        """Until cancelled: ``step``, then wait until the time that follows from its start, or for ``event``."""
        while not self._stop.is_set():
            started = boot_time()
            try:
                await step()
                self._redis_answers(step.__name__)
            except AWAY as error:
                self._redis_is_away(error, step.__name__)
            except _BuriedError:
                pass
            except _GoneError:
                self._crawl.fail("redis_lost")
            except StoreError as error:
                logger.critical("The local copy of the frontier cannot be used, the crawl ends: %s", error)
                self._crawl.fail("store_failed")
                return
            except Exception:
                logger.exception("A step of this worker failed, it ends")
                self._crawl.fail("worker_failed")
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(max(self._options.interval / 40, next_at(started) - boot_time())):
                    await event.wait()
            event.clear()

    async def _watch(self) -> None:
        """Close all connections whenever the lease is over: others may take the servers from then on."""
        while True:
            left = self._lease.until - boot_time()
            if left > 0:
                await asyncio.sleep(min(1.0, left))
                continue
            if self._lease.has_begun:
                self._crawl.disconnect()
            await asyncio.sleep(min(1.0, self._options.interval))

    def _redis_is_away(self, error: BaseException, loop: str) -> None:
        """Say so, once a minute; the crawl waits."""
        now = boot_time()
        self._counts["redis_away"] += not self._failing
        if not self._failing or now > self._logged_at + LOG_EVERY:
            self._logged_at = now
            logger.warning("Redis does not answer, the crawl waits for it: %s", reason_of(error))
        self._failing.add(loop)

    def _redis_answers(self, loop: str) -> None:
        if loop in self._failing:
            self._failing.discard(loop)
            if not self._failing:
                logger.info("Redis answers again")

    # the beat

    async def _beat_if_due(self) -> None:
        if boot_time() >= self._next_beat(-inf):
            await self._beat_once()

    async def _beat_once(self) -> Beat:
        if self._is_beginning:
            raise _BuriedError
        self._beat_sent = sent_at = boot_time()
        worker = self.control.id
        self._lease.beat_sent(sent_at)
        beat = replace(await self.control.beat(self._options.lease, self._info()), at=sent_at)
        if self.control.id != worker:
            raise _BuriedError  # as another beat has found out meanwhile
        if beat.status == "gone" or (beat.status == "ok" and beat.crawl != self._options.crawl):
            if not self._is_gone:
                logger.critical("Redis has lost this crawl, or has another one of this name: the worker ends")
            self._is_gone = True
            raise _GoneError
        if beat.status == "dead":
            await self._begin_again()
            raise _BuriedError
        if self._beat.run_id not in ("", beat.run_id):
            logger.warning("Redis was started again: the changes of the last seconds are sent again")
            self._must_replay = True
        could_start = self.may_start()
        self._run_id = self._run_id or beat.run_id
        if staying(beat) != staying(self._beat):
            self._hurry.set()
        self._beat = replace(beat, since=self._reached_since(sent_at))
        self._lease.beat_confirmed(sent_at)
        self._local.follow_clock(beat.now)
        if not could_start:
            self._crawl.wake()
        self._crawl.report(self.summary())
        if beat.state == "running":
            self._has_ended = False  # new start URLs, or another worker that was not idle
        elif not self._has_ended and not self._options.keep_running:
            if self._is_idle():
                self._ended()
            else:  # this worker joined meanwhile, with new URLs
                await self.control.set_state(self._options.crawl, "running")
        return self._beat

    def _reached_since(self, sent_at: float) -> float:
        lease = self._options.lease
        if not self._beat.at:
            return sent_at - lease + min(SETTLING, lease)
        return self._beat.since if sent_at - self._beat.at < BREAK * lease else sent_at

    def _info(self) -> dict[str, Any]:
        """What this worker says of itself."""
        info = self._crawl.info()
        return info | {
            "partitions": len(self.parts),
            "lag": self._lag(),
            "busy": self._is_busy(info),
            "run": self._run_id,
            "leaving": self._crawl.is_closing(),
            "sent": self._outbox.total,
            "received": self._counts["received"],
        }

    def _is_busy(self, info: Mapping[str, Any]) -> bool:
        """Whether this worker has work, of which Redis may not know yet."""
        return bool(info.get("busy")) or not self._writer.is_clean or any(map(self._writer.stored, self.parts.values()))

    async def _begin_again(self) -> None:
        """Others took this worker for dead: it comes back under another name, without partitions."""
        logger.warning("Other workers took over: this one did not reach Redis for longer than its lease")
        self._is_beginning = True
        self._lease.lost()
        self.control.id = new_id()
        self._crawl.disconnect()
        for part in list(self.parts.values()):
            self._writer.lose(part)
            await asyncio.sleep(0)
        self._is_beginning = False

    # the tick

    async def _tick(self) -> None:
        if self._is_gone:
            raise _GoneError
        await self._beat_once()  # a Redis started again gets what it has lost before anything is acknowledged
        await self._replay()
        could_start = self.may_start()
        self.control.read_along(self._inboxes(), self._start_urls_ahead())
        await self._writer.send()
        if not could_start:
            self._crawl.wake()
        if self._writer.lost > self._lost:
            logger.warning("%d partitions were taken over by other workers", self._writer.lost - self._lost)
            self._lost = self._writer.lost
        await self._receive()
        if boot_time() - self._beat.at < BREAK * self._options.lease:  # else it says nothing about the other workers
            await self._shares.step(self._beat)
        has_start_urls = await self._move_start_urls()
        if has_start_urls and self._has_ended:
            self._has_ended = False
            await self.control.set_state(self._options.crawl, "running")
        await self._keep_learned()
        if not has_start_urls:
            await self._look_for_end()

    async def _replay(self) -> None:
        must_replay, self._must_replay = self._must_replay, False
        if must_replay:
            try:
                await self._writer.replay()
            except BaseException:
                self._must_replay = True
                raise

    def _inboxes(self) -> dict[int, bytes]:
        """Partition -> id of the last message read, for those whose messages may be applied."""
        return {part.number: part.last for part in self.parts.values() if part.state is PartState.OWN}

    async def _receive(self) -> None:
        """Apply messages of own partitions; they are deleted with the commit of what they changed."""
        inboxes = await self.control.messages(self._inboxes())
        found = [(number, *message) for number, messages in inboxes.items() for message in messages]
        names: list[tuple[Part, bytes]] = []
        entries: list[Entry] = []
        received = 0
        for number, name, blob in found:
            if len(entries) >= RECEIVED_AT_ONCE:
                received += len(entries)
                self._apply(names, entries)
                names, entries = [], []
                await asyncio.sleep(0)  # here a partition may be lost
                if received >= MAX_RECEIVED:
                    break
            part = self.parts.get(number)
            if part is not None and part.state is PartState.OWN:
                entries += self._decoded(number, blob)
                names.append((part, name))
        self._apply(names, entries)
        if found:
            self._crawl.wake()

    def _apply(self, names: list[tuple[Part, bytes]], entries: list[Entry]) -> None:
        """Queue the ``entries`` of the messages ``names``."""
        for _ in self._crawl.receive(entries):
            pass
        self._counts["received"] += len(entries)
        for part, name in names:
            part.last = name
            part.applied.append(name)

    def _decoded(self, partition: int, blob: bytes) -> list[Entry]:
        try:
            entries, bad = decode_message(blob)
        except BlobError as error:
            if not self._counts["received/bad"]:
                logger.error("A message to partition %d cannot be read (others are only counted): %s", partition, error)
            entries, bad = [], 1
        own = [entry for entry in entries if self._belongs(entry.url, partition)]
        self._counts["received/bad"] += bad + len(entries) - len(own)
        return own

    def _belongs(self, url: str, partition: int) -> bool:
        try:
            return self._local.partition_of_url(url) == partition
        except ValueError:
            return False

    def _start_urls_ahead(self) -> Sequence[tuple[Any, ...]]:
        """Commands that save a round trip if they are part of another one."""
        return () if self.start_urls is None else self.start_urls.ahead()

    async def _move_start_urls(self) -> bool:
        """Whether start URLs wait, if this worker moves them, or has to know it: has the crawl ended?"""
        source = self.start_urls
        if source is None or not (source.partition in self.parts or self._has_ended or self._is_idle()):
            return False
        return await source.move(self.control.told())

    async def _keep_learned(self) -> None:
        if boot_time() > self._learned_at + LEARNED_EVERY:
            self._learned_at = boot_time()
            await self.control.set_learned(self._local.state())

    # the end

    def _is_idle(self) -> bool:
        """Whether no partition of this worker has a URL, and nothing is in memory only."""
        return not self._is_busy(self._crawl.info())

    async def _look_for_end(self) -> None:
        """Call it when no start URLs wait."""
        if self._options.keep_running or self._has_ended or not self._is_idle():
            self._end = EndDetector()
            return
        if boot_time() < self._looked_at + self._options.interval:  # others may be about to join
            return
        self._looked_at = boot_time()
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


class _BuriedError(Exception):
    """Other workers took this one for dead."""


class _GoneError(Exception):
    """Redis has lost the crawl."""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
