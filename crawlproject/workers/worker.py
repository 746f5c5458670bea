"""One worker of a crawl: takes its share of the partitions, keeps Redis up to date, gives partitions back.

Two loops run while the crawl does: the *beat* extends the worker's lease, the *tick* exchanges changes with Redis.
A tick commits the changes of all partitions locally (the *cut*), sends them together with the URLs for other partitions,
and waits until Redis has confirmed everything.  Only then are pages acknowledged whose links were in that cut; these
acknowledgements are part of the next one.  So at any time either the page or its links are in Redis.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from crawlproject.workers.assignment import assign
from crawlproject.workers.blobs import BlobError, decode_message, encode_journal
from crawlproject.workers.control import AWAY, Beat, Commit, Record, may_run, new_id
from crawlproject.workers.ending import EndDetector, Scan
from crawlproject.workers.lease import GRACE, Lease, is_buried
from crawlproject.workers.loading import load
from crawlproject.workers.local import merged
from crawlproject.workers.part import Part, PartState
from crawlproject.workers.snapshots import write_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crawlproject.frontier.entry import Entry
    from crawlproject.workers.blobs import Tables
    from crawlproject.workers.control import Control
    from crawlproject.workers.local import LocalCopy
    from crawlproject.workers.outbox import Outbox

logger = logging.getLogger(__name__)

#: URLs in the outbox, or changes not confirmed for this share of the lease, that stop the hand-out of requests.
MAX_OUTBOX = 50_000
#: Seconds between two copies of what was learned from all servers.
LEARNED_EVERY = 10.0
#: Messages applied in one tick, at most: then the next cut.
MAX_MESSAGES = 200
#: Partitions taken in one tick, at most.
MAX_TAKEN = 64


def boot_time() -> float:
    """Seconds on a clock that also runs while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Crawl(Protocol):
    """What a worker asks of the process that it runs in."""

    def finished(self) -> list[Entry]:
        """Entries of pages that are done since the last call; their links are in the frontier or the outbox."""

    def acknowledge(self, entry: Entry) -> None:
        """Delete an entry from the frontier's store."""

    def urls_in_progress(self) -> Iterable[str]:
        """URLs of requests handed out and not done."""

    def receive(self, entries: Sequence[Entry]) -> Iterator[None]:
        """Queue URLs that other workers found, in steps of at most 0.1 s."""

    def release(self, keys: Sequence[str]) -> bool:
        """Let the servers ``keys`` get no further request; returns whether none has a connection any more."""

    def abandon(self, keys: Sequence[str]) -> None:
        """Close the connections to the servers ``keys`` at once."""

    def loaded(self, keys: Sequence[str], *, closed_at: dict[str, float]) -> None:
        """Servers that came with a partition; ``closed_at``: when the connections of their old owner are gone."""

    def info(self) -> dict[str, Any]:
        """Counts for people, and ``busy``: whether something is kept in memory only."""

    def is_closing(self) -> bool:
        """Whether the crawl of this process ends."""

    def wake(self) -> None:
        """Requests may have become possible, or impossible."""

    def fail(self, reason: str) -> None:
        """End the crawl of this process: it cannot go on."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Times in seconds."""

    #: Id of the crawl.
    crawl: str
    #: Seconds between two ticks.
    interval: float
    lease: float
    #: How long a connection of a worker that disappeared may last.
    download_timeout: float
    #: Wait for more start URLs instead of ending.
    keep_running: bool


@dataclass(slots=True)
class Cut:
    """What is sent in one tick."""

    messages: list[tuple[int, bytes]] = field(default_factory=list)
    commits: dict[int, Commit] = field(default_factory=dict)
    #: Changes by partition, in case the partition is lost.
    tables: dict[int, Tables] = field(default_factory=dict)
    #: Pages to acknowledge when all this is confirmed.
    done: list[Entry] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.messages or self.commits or self.done)


class Worker:
    """See the module. ``start_urls``: moves start URLs from their key into the crawl; returns whether some are left."""

    def __init__(
        self, control: Control, local: LocalCopy, outbox: Outbox, crawl: Crawl, count: int, options: WorkerOptions
    ) -> None:
        self.control = control
        self.local = local
        self.outbox = outbox
        self.crawl = crawl
        self.options = options
        self.parts: dict[int, Part] = {}
        self.lease = Lease(options.lease)
        self.has_ended = False
        self.counts = {"taken": 0, "released": 0, "lost": 0, "received": 0, "bad": 0, "snapshots": 0, "away": 0}
        self._count = count
        self._beat = Beat("ok")
        self._beat_at = 0.0
        self._changes: dict[int, Tables] = {}  # of cuts not sent yet
        self._cut: Cut | None = None
        self._done: list[Entry] = []  # pages that are in no cut
        self._confirmed: list[Entry] = []  # pages whose links Redis has
        #: Cuts that Redis has confirmed.
        self.cuts = 0
        self._confirmed_at = boot_time()
        self._sent: deque[tuple[float, tuple[int, bytes]]] = deque()  # messages that Redis may still lose
        self._tasks: set[asyncio.Task[None]] = set()
        self._end = EndDetector()
        self._is_away = False
        self._must_replay = False
        self._learned_at = 0.0
        self._checked_at = boot_time()
        self._joined_at = boot_time()
        self._stop = asyncio.Event()
        self._now = asyncio.Event()

    # for the scheduler

    def may_start(self) -> bool:
        """Whether a request may be handed out now."""
        now = boot_time()
        late = now - self._confirmed_at > self.lease.length * 0.8
        return not late and self.lease.may_start(now) and self.outbox.length < MAX_OUTBOX

    def goes_on(self) -> bool:
        """Whether the crawl has not ended for all workers."""
        return not self.has_ended and not self._stop.is_set()

    @property
    def lag(self) -> float:
        """Seconds since Redis confirmed the latest changes."""
        return boot_time() - self._confirmed_at

    # life

    async def start(self) -> None:
        """Begin with what other workers learned; start both loops. Raises what a call to Redis raises."""
        learned = await self.control.learned()
        if learned:
            try:
                self.local.learn(learned)
            except (ValueError, KeyError, TypeError) as error:
                logger.warning("What other workers learned cannot be read: %s", error)
        self._run(self._repeat(self._tick, self.options.interval))
        self._run(self._repeat(self._beat_once, min(1.0, self.options.lease / 5)))

    async def stop(self) -> None:
        """Send what is left and release all partitions; gives up when the lease is over."""
        self._stop.set()
        self._now.set()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        end = boot_time() + self.options.lease
        while boot_time() < end:
            try:
                await self._beat_once()
                await self._send()
                if not (self._confirmed or self._collect_done() or self.outbox.length):
                    await self.control.release({part.number: part.epoch for part in self.parts.values()})
                    await self.control.leave()
                    self.counts["released"] += len(self.parts)
                    break
            except AWAY as error:
                self._redis_is_away(error)
                await asyncio.sleep(min(1.0, self.options.lease / 10))
        else:
            logger.error("Redis did not answer: other workers take over when the lease of this one is over")
        with suppress(*AWAY):
            await self.control.close()

    async def _repeat(self, step: Callable[[], Any], interval: float) -> None:
        while not self._stop.is_set():
            started = boot_time()
            try:
                await step()
                self._is_away = False
            except AWAY as error:
                self._redis_is_away(error)
            except Exception:
                logger.exception("A step of this worker failed")
                self.crawl.fail("worker_failed")
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(max(interval / 10, started + interval - boot_time())):
                    await self._stop.wait()

    def _run(self, coroutine: Any) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _redis_is_away(self, error: Exception) -> None:
        if not self._is_away:
            self._is_away = True
            self.counts["away"] += 1
            logger.warning("Redis does not answer, the crawl waits for it: %s", str(error) or type(error).__name__)
        if boot_time() > self._confirmed_at + self.options.lease * 0.8:
            self.crawl.wake()

    # the beat

    async def _beat_once(self) -> None:
        sent_at = boot_time()
        beat = await self.control.beat(self.options.lease, self._info())
        if beat.status == "gone" or (beat.crawl and beat.crawl != self.options.crawl):
            logger.critical("Redis has lost this crawl, or it is another one of the same name: this worker ends")
            self.crawl.fail("redis_lost")
            self._stop.set()
            return
        if beat.status == "dead":
            await self._start_again()
            return
        if self._beat.run_id not in ("", beat.run_id):
            logger.warning("Redis was started again: changes of the last seconds are sent again")
            self._must_replay = True
        could_start = self.may_start()
        self._beat, self._beat_at = beat, sent_at
        self.lease.beat_confirmed(sent_at)
        self.local.follow_clock(beat.now)
        if not could_start:
            self.crawl.wake()
        if beat.state == "ended" and not self.options.keep_running:
            if self._is_idle():
                self._ended()
            else:  # it joined meanwhile, with new URLs
                await self.control.set_state(self.options.crawl, "running")

    def _info(self) -> dict[str, Any]:
        busy = bool(self._cut or self._confirmed or self.outbox.length)
        info = self.crawl.info()
        return info | {
            "partitions": len(self.parts),
            "lag": round(self.lag, 1),
            "busy": busy or bool(info.get("busy")),
            "sent": self.outbox.total,
            "received": self.counts["received"],
        }

    async def _start_again(self) -> None:
        """Others took this worker for dead: it comes back under another id, without partitions."""
        logger.warning("Other workers took over: this one did not reach Redis for longer than its lease")
        self._collect()
        for part in list(self.parts.values()):
            self._lose(part)
        self.control.id = new_id()

    # the tick

    async def _tick(self) -> None:
        if self._must_replay:
            await self._replay()
        await self._send()
        await self._receive()
        await self._share()
        await self._keep_learned()
        await self._look_for_end()

    async def _send(self) -> None:
        """Make a cut, unless one is under way, and send it."""
        if self._cut is None:
            self._cut = self._make_cut()
        cut = self._cut
        if cut:
            for number, (result, seq) in zip(
                list(cut.commits), await self.control.send(cut.messages, list(cut.commits.values())), strict=True
            ):
                part = self.parts.get(number)
                if part is None or part.epoch != cut.commits[number].epoch:
                    continue
                if result == "lost":
                    self._lose(part)
                elif result == "gap":
                    await self._fill_gap(part, seq)
                else:
                    part.confirmed(cut.commits[number], boot_time())
            now = boot_time()
            self._sent.extend((now, message) for message in cut.messages)
            while self._sent and self._sent[0][0] < now - 2 * self.options.lease:
                self._sent.popleft()
        self._confirmed += cut.done
        self._cut = None
        self.cuts += 1
        self._confirmed_at = boot_time()

    def _make_cut(self) -> Cut:
        confirmed, self._confirmed = self._confirmed, []
        for entry in confirmed:
            self.crawl.acknowledge(entry)
        done, self._done = self._collect_done(), []
        self._collect()
        cut = Cut(self.outbox.take(), done=done)
        sessions = self.local.sessions()
        changes, self._changes = self._changes, {}
        for number, part in self.parts.items():
            tables = changes.get(number)
            opened = sessions.get(number, [])
            if part.state is PartState.LOADING or not (tables or part.applied or opened != part.open):
                continue
            cut.tables[number] = tables or {}
            cut.commits[number] = self._commit(part, tables or {}, opened)
        return cut

    def _commit(self, part: Part, tables: Tables, opened: list[int]) -> Commit:
        part.seq += 1
        part.open = opened
        applied, part.applied = part.applied, []
        return Commit(
            part.number,
            part.epoch,
            part.seq,
            encode_journal(part.seq, tables),
            self._stored(part),
            self.local.server_count(part.number),
            opened,
            self.local.arrivals(),
            applied,
        )

    def _collect(self) -> None:
        """Commit locally; keep the changes for the next cut."""
        for number, tables in self.local.commit().items():
            self._changes[number] = merged(self._changes.get(number), tables)

    def _collect_done(self) -> list[Entry]:
        """Pages that are done and not yet in a cut."""
        self._done += self.crawl.finished()
        return self._done

    async def _fill_gap(self, part: Part, seq: int) -> None:
        """Redis has lost the commits after ``seq``: send them again, or a snapshot."""
        commits = part.missing(seq)
        assert self._cut is not None
        current = self._cut.commits[part.number]
        logger.warning("Redis has lost changes of partition %d: they are sent again", part.number)
        if commits is not None:
            results = await self.control.send([], [*commits, current])
            if all(result in ("ok", "old") for result, _ in results):
                part.confirmed(current, boot_time())
                return
        if not await write_snapshot(self.control, self.local, part):
            self._lose(part)

    async def _replay(self) -> None:
        """Redis was started again and may have lost the last seconds: fill all gaps, send all messages again."""
        records = await self.control.records(list(self.parts))
        for part, record in zip(list(self.parts.values()), records, strict=True):
            if record.owner == self.control.id and record.epoch == part.epoch:
                confirmed = part.kept[-1][1].seq if part.kept else 0
                commits = part.missing(record.seq) if record.seq < confirmed else []
                if commits:
                    await self.control.send([], commits)
                elif commits is None and not await write_snapshot(self.control, self.local, part):
                    self._lose(part)
            elif record.epoch < part.epoch:  # it has lost that the partition was taken
                taken = await self.control.take({part.number: record})
                if part.number in taken:
                    part.epoch = taken[part.number].epoch
                    self._forget_cut(part)
                    if not await write_snapshot(self.control, self.local, part):
                        self._lose(part)
            else:
                self._lose(part)
        await self.control.send([message for _, message in self._sent], [])
        self.outbox.forget_sent()
        self._must_replay = False

    def _forget_cut(self, part: Part) -> None:
        """A snapshot will contain the part's commit that is under way."""
        if self._cut is not None:
            self._cut.commits.pop(part.number, None)

    # inboxes

    async def _receive(self) -> None:
        """Apply messages of the own partitions; they are deleted with the commit of what they changed."""
        last = {part.number: part.last for part in self.parts.values() if part.state is PartState.OWN}
        if not last:
            return
        applied = 0
        for number, messages in (await self.control.messages(last)).items():
            for name, blob in messages:
                part = self.parts.get(number)
                if part is None or part.state is not PartState.OWN or applied >= MAX_MESSAGES:
                    break
                try:
                    entries, bad = decode_message(blob)
                except BlobError as error:
                    logger.error("A message of another worker cannot be read: %s", error)
                    entries, bad = [], 1
                for _ in self.crawl.receive(entries):
                    await asyncio.sleep(0)
                part.last = name
                part.applied.append(name)
                applied += 1
                self.counts["received"] += len(entries)
                self.counts["bad"] += bad
        if applied:
            self.crawl.wake()

    # shares

    async def _share(self) -> None:
        """Take partitions that this worker should own, and give others back."""
        alive = set(self._beat.workers)
        await self._bury_dead()
        wanted: set[int] = set()
        if not self.crawl.is_closing() and self.control.id in alive:
            wanted = {number for number, owner in enumerate(assign(self._count, alive)) if owner == self.control.id}
        for part in self.parts.values():
            if part.number not in wanted and part.state is PartState.OWN:
                part.state = PartState.LEAVING
                self.outbox.set_own(part.number, own=False)
        await self._give_back()
        await self._give_back_unknown()
        missing = sorted(wanted - self.parts.keys())
        if missing and len(self.parts) - self._loaded() < MAX_TAKEN:
            await self._take(missing)
        await self._snapshots()

    def _loaded(self) -> int:
        return sum(part.state is not PartState.LOADING for part in self.parts.values())

    async def _bury_dead(self) -> None:
        """Remove workers whose lease was over long ago; nobody is removed soon after Redis was started."""
        now = self._beat.now + boot_time() - self._beat_at
        up_since = self._beat.now - self._beat.uptime
        for worker, until in self._beat.workers.items():
            if worker != self.control.id and is_buried(until, now, up_since, self.options.lease):
                if await self.control.bury(worker, GRACE):
                    logger.warning("The worker %s does not answer: others take over", worker)

    async def _take(self, missing: list[int]) -> None:
        records = dict(zip(missing, await self.control.records(missing), strict=True))
        await self._beat_once()  # after the records: an owner named there that lives is in this answer
        alive, is_settled = self._beat.workers, self._beat.uptime > self.options.lease + GRACE
        free = {
            number: record
            for number, record in records.items()
            if record.owner in ("", self.control.id) or (record.owner not in alive and is_settled)
        }
        some = dict(list(free.items())[:MAX_TAKEN])
        for number, record in (await self.control.take(some)).items():
            part = Part(number, record.epoch, record.seq, record.gen)
            self.parts[number] = part
            self.counts["taken"] += 1
            if not record.seq and not record.gen:
                self._is_loaded(part, record, {})
                continue
            closed_at = await self._closed_at(some[number])
            self._run(self._load(part, record, closed_at))

    async def _closed_at(self, record: Record) -> float:
        """When the connections of the former owner are closed for sure, on Redis's clock; 0 if they are."""
        if record.owner in ("", self.control.id) or not may_run(record.owner):
            return 0.0
        until = await self.control.buried_at(record.owner) or self._beat.now
        return until - self.options.lease + self.options.download_timeout

    async def _load(self, part: Part, record: Record, closed_at: float) -> None:
        while self.parts.get(part.number) is part:
            try:
                await load(self.control, self.local, part, record)
            except AWAY as error:
                self._redis_is_away(error)
                await asyncio.sleep(self.options.interval)
                continue
            except BlobError as error:
                logger.critical("Partition %d cannot be read: %s", part.number, error)
                self.crawl.fail("store_failed")
                return
            break
        if self.parts.get(part.number) is part:
            self._is_loaded(part, record, dict.fromkeys(record.open, closed_at) if closed_at else {})

    def _is_loaded(self, part: Part, record: Record, closed_at: dict[int, float]) -> None:
        self.local.raise_arrivals(record.extra)
        servers = {server.key: server for server in self.local.servers_of(part.number)}
        numbers = {number: self.local.key_of(number) for number in closed_at}
        by_key = {key: self.local.on_frontier_clock(closed_at[number]) for number, key in numbers.items() if key}
        self.crawl.loaded(list(servers), closed_at=by_key)
        part.state = PartState.OWN
        self.outbox.set_own(part.number, own=True)
        self.crawl.wake()

    async def _give_back(self) -> None:
        """Release partitions that are leaving, once nothing of them is in progress."""
        leaving = [part for part in self.parts.values() if part.state is PartState.LEAVING]
        if not leaving:
            return
        of_url = self.local.partition_of_url
        busy = {of_url(entry.url) for entry in (*self._confirmed, *self._collect_done())}
        busy |= {of_url(url) for url in self.crawl.urls_in_progress()}
        ready = []
        for part in leaving:
            keys = [server.key for server in self.local.servers_of(part.number)]
            has_closed = self.crawl.release(keys)
            if has_closed and part.number not in busy and part.number not in self._changes and not part.applied:
                ready.append(part)
        self._collect()
        ready = [part for part in ready if part.number not in self._changes and not part.is_in_snapshot]
        if ready:
            await self.control.release({part.number: part.epoch for part in ready})
            self.counts["released"] += len(ready)
            for part in ready:
                self._drop(part)

    async def _give_back_unknown(self) -> None:
        """Release what Redis says is this worker's and it does not hold: the answer to a call was lost."""
        if boot_time() < self._checked_at + self.options.lease:
            return
        self._checked_at = boot_time()
        others = [number for number in range(self._count) if number not in self.parts]
        records = await self.control.records(others)
        mine = {
            number: record.epoch
            for number, record in zip(others, records, strict=True)
            if record.owner == self.control.id and number not in self.parts
        }
        if mine:
            await self.control.release(mine)

    def _lose(self, part: Part) -> None:
        """Another worker owns the partition: drop it, and send it what it does not know yet."""
        logger.warning("Partition %d was taken over by another worker", part.number)
        self.counts["lost"] += 1
        self.crawl.abandon([server.key for server in self.local.servers_of(part.number)])
        self._collect()
        tables = self._changes.pop(part.number, None)
        if self._cut is not None:
            tables = merged(self._cut.tables.pop(part.number, None), tables)
            self._cut.commits.pop(part.number, None)
            self._done += self._cut.done  # some of their links wait in the outbox from now on
            self._cut.done = []
        self.outbox.send(self.local.entries(tables or {}))
        self._drop(part)

    def _drop(self, part: Part) -> None:
        del self.parts[part.number]
        self.outbox.set_own(part.number, own=False)
        for _ in self.local.unload(part.number):
            pass

    async def _snapshots(self) -> None:
        for part in list(self.parts.values()):
            if part.needs_snapshot and part.state is PartState.OWN and not part.is_in_snapshot:
                part.is_in_snapshot = True
                try:
                    if not await write_snapshot(self.control, self.local, part):
                        self._lose(part)
                finally:
                    part.is_in_snapshot = False
                self.counts["snapshots"] += 1
                return

    async def _keep_learned(self) -> None:
        if boot_time() > self._learned_at + LEARNED_EVERY:
            self._learned_at = boot_time()
            await self.control.set_learned(self.local.state())

    # the end

    def _is_idle(self) -> bool:
        """Whether no partition of this worker has a URL, and nothing is in memory only."""
        return not self._info()["busy"] and not any(self._stored(part) for part in self.parts.values())

    def _stored(self, part: Part) -> int:
        return max(0, self.local.rows(part.number) - part.unwanted)

    async def _look_for_end(self) -> None:
        if not self._is_idle() or self.options.keep_running or self.has_ended:
            self._end.reset()
            return
        rows = await self.control.scan(range(self._count))
        others = {worker: info for worker, info in self._beat.infos.items() if worker != self.control.id}
        is_busy = any(info.get("busy", True) for info in others.values()) or await self.start_urls()
        scan = Scan(...)
        if self._end.look(scan):
            await self.control.set_state(self.options.crawl, "ended")
            self._ended()

    def _ended(self) -> None:
        self.has_ended = True
        self.crawl.wake()

    async def has_start_urls(self) -> None:
        """Let a crawl that has ended go on."""
        if self.has_ended:
            self.has_ended = False
            await self.control.set_state(self.options.crawl, "running")

    def summary(self) -> dict[str, float]:
        """Counts for the stats."""
        pages = sum(int(info.get("pages", 0)) for info in self._beat.infos.values())
        return self.counts | {
            "sent": self.outbox.total,
            "calls": self.control.calls,
            "pages": pages,
        }
