"""Takes this worker's share of the partitions, and gives back what others should own.

Who should own a partition follows from the names of the live workers alone (``assignment``); nobody assigns.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from crawlproject.storage.errors import StoreError
from crawlproject.workers.assignment import assign
from crawlproject.workers.control import AWAY, may_run
from crawlproject.workers.lease import GRACE, MAX_LAG, is_buried
from crawlproject.workers.loading import read_partition
from crawlproject.workers.part import Part, PartState
from crawlproject.workers.snapshots import write_snapshot
from crawlproject.workers.times import boot_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from crawlproject.workers.control import Beat, Record
    from crawlproject.workers.holdings import Holdings
    from crawlproject.workers.ports import Journal

logger = logging.getLogger(__name__)

#: Partitions with data taken in one tick, at most.
MAX_TAKEN = 64


class Shares:
    """``beat``: makes a beat now."""

    def __init__(self, holdings: Holdings, writer: Journal, beat: Callable[[], Awaitable[Beat]]) -> None:
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
        self._checked_at = boot_time()
        self._loading: dict[int, asyncio.Task[None]] = {}
        self.taken = self.released = self.snapshots = 0

    async def step(self, beat: Beat) -> None:
        """Take and give back what the last ``beat`` says. Raises what a call to Redis raises."""
        await self._bury_dead(beat)
        wanted: set[int] = set()
        if not self._crawl.is_closing() and self._control.id in beat.workers:
            owners = assign(self._count, beat.workers)
            wanted = {number for number, owner in enumerate(owners) if owner == self._control.id}
        for part in self._parts.values():
            if part.number not in wanted and part.state is PartState.OWN:
                part.state = PartState.LEAVING
                self._outbox.set_own(part.number, own=False)
        await self._give_back()
        await self._give_back_unknown()
        await self._writer.unload()
        missing = sorted(wanted - self._parts.keys() - self._writer.dropped.keys() - self._loading.keys())
        if missing and len(self._loading) < MAX_TAKEN:
            await self._take(missing)
        await self._write_snapshot()

    async def stop(self) -> None:
        """Stop loading."""
        tasks = list(self._loading.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _bury_dead(self, beat: Beat) -> None:
        """Remove workers whose lease was over long ago; nobody is removed soon after Redis was started."""
        now = beat.now + boot_time() - beat.at
        for worker, until in beat.workers.items():
            is_dead = worker != self._control.id and is_buried(until, now, beat.now - beat.uptime, self._lease)
            if is_dead and await self._control.bury(worker, GRACE):
                logger.warning("The worker %s does not answer: others take over", worker)

    # taking

    async def _take(self, missing: list[int]) -> None:
        worker = self._control.id
        records = dict(zip(missing, await self._control.records(missing), strict=True))
        beat = await self._beat()  # after the records: an owner that lives is in this answer
        if worker not in beat.workers:  # it was buried
            return
        is_settled = beat.uptime > self._lease + GRACE
        free = {
            number: record
            for number, record in records.items()
            if record.owner in ("", self._control.id) or (record.owner not in beat.workers and is_settled)
        }
        full = [number for number, record in free.items() if record.seq or record.gen]
        later = set(full[MAX_TAKEN:])
        some = {number: record for number, record in free.items() if number not in later}
        taken = await self._control.take(some)
        if self._control.id != worker:  # buried meanwhile: whoever wants them takes them again
            return
        for number, record in taken.items():
            part = self._parts[number] = Part(number, record.epoch, record.seq, record.gen)
            self.taken += 1
            if record.seq or record.gen:
                load = self._load(part, record, some[number], beat)
                self._loading[number] = asyncio.get_running_loop().create_task(load)
            else:
                for keys in self._local.restore(number, {}):
                    self._came(keys, record, 0.0)
                self._is_loaded(part)

    async def _closed_at(self, former: Record, beat: Beat) -> float:
        """When the former owner's connections are closed for sure, on Redis's clock; 0 if they are."""
        if former.owner in ("", self._control.id) or not may_run(former.owner):
            return 0.0
        until = await self._control.buried_at(former.owner) or beat.now
        return until - (1 - MAX_LAG) * self._lease + self._download_timeout

    async def _load(self, part: Part, record: Record, former: Record, beat: Beat) -> None:
        try:
            await self._read(part, record, former, beat)
        except (ValueError, KeyError, StoreError) as error:
            logger.critical("Partition %d cannot be read, the crawl ends: %s", part.number, error)
            self._crawl.fail("store_failed")
            return
        finally:
            del self._loading[part.number]
        if not self._is_lost(part):
            self._is_loaded(part)
        else:
            self._writer.dropped[part.number] = None  # also what was read after it was lost

    async def _read(self, part: Part, record: Record, former: Record, beat: Beat) -> None:
        while not self._is_lost(part):
            try:
                closed_at = await self._closed_at(former, beat)
                await read_partition(self._control, self._local, part, record)
                break
            except AWAY as error:
                logger.debug("Partition %d cannot be loaded now: %s", part.number, error)
                await asyncio.sleep(self._lease / 10)
        steps = self._local.restore(part.number, record.extra)
        while not self._is_lost(part) and (keys := next(steps, None)) is not None:
            self._came(keys, record, closed_at)
            await asyncio.sleep(0)

    def _is_lost(self, part: Part) -> bool:
        return self._parts.get(part.number) is not part

    def _came(self, keys: list[str], record: Record, closed_at: float) -> None:
        """Rest those of the servers ``keys`` whose connections the former owner may still have open."""
        opened = set(record.open) if closed_at else set()
        until = self._local.on_frontier_clock(closed_at)
        self._crawl.came(keys, closed_at={key: until for key in keys if self._local.number(key) in opened})

    def _is_loaded(self, part: Part) -> None:
        part.state = PartState.OWN
        self._outbox.set_own(part.number, own=True)
        self._crawl.wake()

    # giving back

    async def _give_back(self) -> None:
        """Release partitions that are leaving, once nothing of them is in progress and all is confirmed."""
        leaving = [part for part in self._parts.values() if part.state is PartState.LEAVING]
        if not leaving:
            return
        closed = [part for part in leaving if self._crawl.release(self._local.keys_of(part.number))]
        busy = self._writer.busy_partitions()
        ready = [part for part in closed if part.number not in busy and not part.applied]
        await self._control.release({part.number: part.epoch for part in ready})
        self.released += len(ready)
        for part in ready:
            self._writer.drop(part)

    async def _give_back_unknown(self) -> None:
        """Release what Redis says is this worker's and it does not hold: the answer to a call was lost."""
        if boot_time() < self._checked_at + self._lease:
            return
        self._checked_at = boot_time()
        others = [number for number in range(self._count) if number not in self._parts]
        records: Mapping[int, Record] = dict(zip(others, await self._control.records(others), strict=True))
        mine = {number: record.epoch for number, record in records.items() if record.owner == self._control.id}
        await self._control.release({number: epoch for number, epoch in mine.items() if number not in self._parts})

    async def _write_snapshot(self) -> None:
        """Replace the longest journal, if it has become long."""
        part = max(self._parts.values(), key=lambda part: part.journal, default=None)
        if part is None or part.state is not PartState.OWN or not part.needs_snapshot:
            return
        self.snapshots += 1
        if not await write_snapshot(self._control, self._local, part):
            self._writer.lose(part)
