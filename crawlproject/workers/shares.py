"""Takes this worker's share of the partitions, and gives back what others should own.

The names of the live workers determine who should own a partition (``assignment``); there is no coordinator.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlproject.storage.errors import StoreError
from crawlproject.workers.control import AWAY, may_run
from crawlproject.workers.lease import GRACE, MAX_LAG, boot_time, is_buried
from crawlproject.workers.loading import read_partition, write_snapshot
from crawlproject.workers.part import Part, PartState
from crawlproject.workers.partitions import assign

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from crawlproject.workers.control import Beat, Record
    from crawlproject.workers.holdings import Holdings
    from crawlproject.workers.ports import Journal

logger = logging.getLogger(__name__)

#: Partitions with data taken in one tick, at most.
MAX_TAKEN = 64
#: Partitions loaded at the same time: one step of each, some milliseconds, runs before anything else does.
LOADED_AT_ONCE = 16


class Shares:
    """``beat``: makes a beat now. ``stays``: partitions that cannot go to another worker yet."""

    def __init__(
        self,
        holdings: Holdings,
        writer: Journal,
        beat: Callable[[], Awaitable[Beat]],
        stays: Callable[[], set[int]] = set,
    ) -> None:
        self._control = holdings.control
        self._local = holdings.local
        self._outbox = holdings.outbox
        self._crawl = holdings.crawl
        self._parts = holdings.parts
        self._count = holdings.options.partitions
        self._lease = holdings.options.lease
        self._download_timeout = holdings.options.download_timeout
        self._writer = writer
        self._beat = beat
        self._stays = stays
        self._checked_at = boot_time()
        self._loading: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(LOADED_AT_ONCE)
        self._is_leaving = False
        self._joined = 0.0  # when this worker made its first step, on Redis's clock
        self._buried: dict[str, float] = {}  # worker -> end of its lease, on Redis's clock
        self.taken = self.released = self.snapshots = 0
        #: Whether partitions go from one live worker to another: then look again soon.
        self.is_moving = False

    async def step(self, beat: Beat) -> None:
        """Take and give back what the last ``beat`` says. Raises what a call to Redis raises."""
        self._joined = self._joined or beat.now
        buried = await self._bury_dead(beat)
        wanted: set[int] = set()
        if self._crawl.is_closing() and not self._is_leaving:
            self._is_leaving = True
            beat = await self._beat()  # so that the others want its partitions
        workers = staying(beat) - buried
        if not self._is_leaving and self._control.id in workers:
            owners = assign(self._count, workers)
            wanted = {number for number, owner in enumerate(owners) if owner == self._control.id}
        for part in self._parts.values():
            if part.number not in wanted and part.state is PartState.OWN:
                part.state = PartState.LEAVING
                part.leaving_at = boot_time()
                self._outbox.set_own(part.number, own=False)
        await self._give_back()
        await self._give_back_unknown(beat)
        await self._writer.unload()
        missing = sorted(wanted - self._parts.keys() - self._writer.dropped.keys())
        self.is_moving = self._is_overdue(beat) or any(part.state is PartState.LEAVING for part in self._parts.values())
        if missing:
            await self._take(missing)
        await self._write_snapshot()

    async def stop(self) -> None:
        for task in self._loading:
            task.cancel()
        await asyncio.gather(*self._loading, return_exceptions=True)

    async def _bury_dead(self, beat: Beat) -> set[str]:
        """Remove workers whose lease was over long ago; returns them.

        Nobody is removed soon after Redis was started, or after this worker could not reach it: the others may not
        have reached it either.
        """
        if beat.at - beat.since < self._lease:
            return set()
        buried = set()
        now = beat.now + boot_time() - beat.at
        for worker, until in beat.over.items():
            is_dead = worker != self._control.id and is_buried(until, now, changed_at(beat), self._lease)
            if is_dead and await self._control.bury(worker, GRACE):
                logger.warning("The worker %s does not answer: others take over", worker)
                buried.add(worker)
        return buried

    def _is_overdue(self, beat: Beat) -> bool:
        now = beat.now + boot_time() - beat.at
        return any(until < now for worker, until in beat.over.items() if worker != self._control.id)

    # taking

    async def _take(self, missing: list[int]) -> None:
        worker = self._control.id
        records = dict(zip(missing, await self._control.records(missing), strict=True))
        beat = await self._beat()  # after the records: an owner that lives is in this answer
        # nobody else can own them, even if Redis has lost its last seconds
        others = beat.members.keys() - {worker}
        is_settled = self._is_settled(beat)
        free = {number: each for number, each in records.items() if is_settled and each.owner not in others}
        self.is_moving |= any(record.owner in others for record in records.values())
        full = [number for number, record in free.items() if record.seq or record.gen]
        later = set(full[MAX_TAKEN:])
        self.is_moving |= bool(later)
        some = {number: record for number, record in free.items() if number not in later}
        taken = await self._control.take(some)
        if self._control.id != worker:
            return  # this worker was buried: others may have taken them again
        for number, record in taken.items():
            part = self._parts[number] = Part(number, record.epoch, record.seq, record.gen)
            part.is_heir, part.inherited = bool(record.formers), record.open
            self.taken += 1
            if record.seq or record.gen:
                part.loading = asyncio.get_running_loop().create_task(self._load(part, record, beat))
                self._loading.add(part.loading)
                part.loading.add_done_callback(self._loading.discard)
            else:
                for _ in self._local.restore(number, {}):
                    pass  # it has no servers
                self._is_loaded(part)

    def _is_settled(self, beat: Beat) -> bool:
        """Whether no worker owns a partition that is another's, or nobody's, in a Redis that has lost writes.

        A worker that lives has noticed the loss, and what it owns was taken again; or its lease is over.
        """
        return not any(
            member.get("run") != beat.run_id or _changed(member) + self._lease + GRACE >= beat.now
            for member in beat.members.values()
        )

    async def _load(self, part: Part, record: Record, beat: Beat) -> None:
        try:
            async with self._slots:
                left = await self._read(part, record, beat)
                if self._parts.get(part.number) is not part:  # lost meanwhile, and cancelled too late
                    return
                steps = self._local.restore(part.number, record.extra)
                part.is_read = True
                for keys in steps:
                    self._came(keys, record, left)
                    await asyncio.sleep(0)
                    if self._parts.get(part.number) is not part:  # lost meanwhile
                        return
        except _ChangedError:
            self._writer.lose(part)
        except (ValueError, KeyError, StoreError) as error:
            logger.critical("Partition %d cannot be read, the crawl ends: %s", part.number, error)
            self._crawl.fail("store_failed")
        except Exception:
            logger.exception("Loading partition %d failed, the crawl ends", part.number)
            self._crawl.fail("worker_failed")
        else:
            self._is_loaded(part)

    async def _read(self, part: Part, record: Record, beat: Beat) -> _Left:
        """Read ``part`` into the local copy, however long Redis is unavailable; returns ``_left``.

        Raises ``_ChangedError`` if Redis has lost that it was taken, what ``read_partition`` raises for damaged data.
        """
        while True:
            try:
                left = await self._left(record, beat)
                commits = await read_partition(self._control, self._local.write, part, record)
                found = (await self._control.records([part.number]))[0]
            except AWAY as error:
                logger.debug("Partition %d cannot be loaded now: %s", part.number, error)
                await asyncio.sleep(self._lease / 10)
                continue
            if (found.owner, found.epoch, found.seq) != (record.owner, record.epoch, record.seq):
                raise _ChangedError  # also if Redis has lost nothing else: ``replay`` is about partitions that are read
            if commits == record.seq - record.first + 1:
                return left
            raise ValueError(f"its journal has {commits} commits instead of {record.first} to {record.seq}")

    async def _left(self, record: Record, beat: Beat) -> _Left:
        """Contacts and connections that former owners may have left behind."""
        contacted = changed_at(beat) + self._lease + GRACE  # by an owner that Redis has forgotten
        if beat.now < self._joined + self._lease:  # nobody may have told yet that Redis's clock was set just before
            contacted = max(contacted, self._joined)
        closed_at = 0.0
        for former in record.formers:
            ended = min(await self._end_of(former) or beat.now, beat.now)  # Redis's clock may have been set back
            contacted = max(contacted, ended + GRACE)  # Redis may have lost the last beats
            if may_run(former, self._control.id):
                closed_at = max(closed_at, ended - (1 - MAX_LAG) * self._lease + self._download_timeout)
        contacted = min(beat.now, contacted)
        return _Left(contacted, max(contacted, closed_at))

    async def _end_of(self, worker: str) -> float:
        """End of the lease of a worker that was buried, on Redis's clock; 0 if it was not."""
        if worker not in self._buried:
            ended = await self._control.buried_at(worker)
            if not ended:
                return 0.0
            self._buried[worker] = ended
        return self._buried[worker]

    def _came(self, keys: list[str], record: Record, left: _Left) -> None:
        """Rest those of the servers ``keys`` that former owners may have contacted, or be connected to."""
        opened, until = set(record.open), self._local.on_frontier_clock(left.closed_at)
        closed_at = {key: until for key in keys if self._local.number(key) in opened}
        self._crawl.came(keys, closed_at=closed_at, contacted=self._local.on_frontier_clock(left.contacted))

    def _is_loaded(self, part: Part) -> None:
        part.is_read = True
        part.state = PartState.OWN
        self._outbox.set_own(part.number, own=True)
        self._crawl.wake()

    # giving back

    async def _give_back(self) -> None:
        """Release partitions that are leaving, once nothing of them is in progress and all is confirmed."""
        leaving = [part for part in self._parts.values() if part.state is PartState.LEAVING]
        if not leaving:
            return
        closed = []
        for part in leaving:
            if self._crawl.release(self._local.keys_of(part.number)):
                closed.append(part)
            await asyncio.sleep(0)
        under_way = self._local.partitions_of(self._crawl.urls_in_progress())
        waiting = self._local.partitions_of(self._crawl.urls_waiting())
        patient = boot_time() - self._lease  # requests in memory may wait for servers that leave as well
        under_way |= {part.number for part in closed if part.number in waiting and part.leaving_at > patient}
        under_way |= self._stays()
        closed = [part for part in closed if part.number not in under_way]
        for _ in range(2):  # links of the last pages, then their acknowledgements
            if self._writer.unsent_partitions().isdisjoint(part.number for part in closed):
                break
            await self._writer.send()
        unsent = self._writer.unsent_partitions()
        ready = [part for part in closed if part.number not in unsent and self._parts.get(part.number) is part]
        await self._control.release({part.number: part.epoch for part in ready})
        for part in ready:
            if self._parts.get(part.number) is part:
                self.released += 1
                self._writer.give_away(part)

    async def _give_back_unknown(self, beat: Beat) -> None:
        """Release what Redis says is this worker's and it does not hold: the answer to a call was lost.

        Or Redis has lost that another took it, who then takes it again: until that is settled, nothing is released.
        """
        if boot_time() < self._checked_at + self._lease or not self._is_settled(beat):
            return
        self._checked_at = boot_time()
        others = [number for number in range(self._count) if number not in self._parts]
        records: Mapping[int, Record] = dict(zip(others, await self._control.records(others), strict=True))
        mine = {number: record.epoch for number, record in records.items() if record.owner == self._control.id}
        await self._control.release({number: epoch for number, epoch in mine.items() if number not in self._parts})

    async def _write_snapshot(self) -> None:
        part = max(self._parts.values(), key=lambda part: part.journal, default=None)
        if part is None or part.state is not PartState.OWN or not part.needs_snapshot:
            return
        self.snapshots += 1
        if not await write_snapshot(self._control, self._local, part):
            self._writer.lose(part)


def staying(beat: Beat) -> set[str]:
    """The workers that share the partitions: those that live and do not end."""
    return {worker for worker, member in beat.members.items() if not member.get("leaving")}


def changed_at(beat: Beat) -> float:
    """When Redis was started, a replica took over, or its clock was set, as far as any worker knows; on that clock."""
    started = beat.now - beat.uptime if beat.uptime >= 0 else 0.0  # negative: the clock was set back since
    return max(started, beat.changed, *map(_changed, beat.members.values()))


def _changed(member: Mapping[str, Any]) -> float:
    changed = member.get("changed")
    return float(changed) if isinstance(changed, (int, float)) else 0.0


class _Left(NamedTuple):
    """What former owners leave behind that the rows may lack; times on Redis's clock."""

    #: Until when they may have started requests.
    contacted: float
    #: When their connections are closed for sure.
    closed_at: float


class _ChangedError(Exception):
    """Another worker has taken the partition since."""
