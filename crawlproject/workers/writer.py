"""Keeps Redis up to date: cuts, their order, and what to do when Redis has lost something.

A *cut* is what changed since the last one: a commit for each changed partition, messages for other partitions, and the
pages that were done by then.  A page is acknowledged only when the cut with its links is confirmed: by the next cut.
So at any time Redis has either the page or its links.

That also holds for a Redis that lacks its last seconds: a worker sends again everything that it wrote itself in them,
and nothing that others wrote.  So an acknowledgement comes back only with its links.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from crawlproject.workers.blobs import BlobError, decode_journal, encode_journal
from crawlproject.workers.control import Commit
from crawlproject.workers.lease import boot_time
from crawlproject.workers.loading import write_snapshot
from crawlproject.workers.part import KEPT, PartState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlproject.frontier.entry import Entry
    from crawlproject.workers.blobs import Tables
    from crawlproject.workers.holdings import Holdings
    from crawlproject.workers.part import Part

#: A partition and what is sent to its inbox.
Message = tuple[int, bytes]

logger = logging.getLogger(__name__)

#: Rows of a commit, at most: 0.1 s to encode. More of them, or more bytes than a blob may have, become a snapshot.
MAX_ROWS = 50_000
#: Seconds of a tick for the removal of dropped partitions.
UNLOADING = 0.5


@dataclass(slots=True)
class Cut:
    """The changes sent in one tick."""

    messages: list[Message] = field(default_factory=list)
    commits: dict[int, Commit] = field(default_factory=dict)
    #: Partitions with more changes than a commit may have: all that they have is sent.
    snapshots: list[Part] = field(default_factory=list)
    #: Changes by partition, in case the partition is lost.
    tables: dict[int, Tables] = field(default_factory=dict)
    #: Pages to acknowledge when all this is confirmed.
    done: list[Entry] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.messages or self.commits or self.snapshots or self.done)


class Writer:
    """Sends what changes in ``holdings``."""

    def __init__(self, holdings: Holdings) -> None:
        self._control = holdings.control
        self._local = holdings.local
        self._outbox = holdings.outbox
        self._crawl = holdings.crawl
        self._parts = holdings.parts
        self._changes: dict[int, Tables] = {}  # committed locally, in no cut yet
        self._done: list[Entry] = []  # pages that are in no cut yet
        self._cut: Cut | None = None  # sent, not confirmed
        self._messages: list[Message] = []  # to be sent before the next cut
        self._confirmed: list[Entry] = []  # pages whose links Redis has
        self._sent: deque[tuple[float, Message]] = deque()  # messages that Redis may still lose
        self._ends: deque[float] = deque()  # when cuts were confirmed, from that of the oldest such message on
        self._kept_since = self._replayed_at = -inf
        #: Cuts that Redis has confirmed, and the time of the last one (``boot_time``).
        self.cuts = 0
        self.confirmed_at = boot_time()
        self.lost = 0
        #: Partitions of which the local copy still has rows: they cannot be taken again yet.
        self.dropped: dict[int, Part] = {}

    @property
    def is_clean(self) -> bool:
        """Whether nothing waits to be sent, confirmed or acknowledged, as far as the last cut tells."""
        if self._cut or self._changes or self._done or self._confirmed or self._messages or self._outbox.length:
            return False
        return not any(part.is_read and part.stored < 0 for part in self._parts.values())

    async def send(self) -> None:
        """Make a cut, unless one is under way, and send it. Raises what a call to Redis raises; then call it again."""
        if self._cut is None:
            self._cut = self._make_cut()
        cut = self._cut
        if not await self._sent_all(cut):
            logger.warning("Redis has lost changes: they are sent again")
            await self.replay()
            if not await self._sent_all(cut):
                raise ConnectionError("Redis has lost changes once more")
        while cut.snapshots:
            part = cut.snapshots[0]
            if self._parts.get(part.number) is part:
                await self._snapshot(part)
                self._keep(cut.tables.get(part.number, {}), part.number)
            del cut.snapshots[0]
        self._confirmed += cut.done
        self._cut = None
        self.cuts += 1
        self.confirmed_at = boot_time()
        self._ends.append(self.confirmed_at)
        if self._replayed_at < self.confirmed_at - KEPT:  # else what was sent again may be lost again
            self._forget(self.confirmed_at - KEPT)

    async def _sent_all(self, cut: Cut) -> bool:
        """Send the messages and commits of ``cut``; False if commits before one of them are missing."""
        is_missing = False
        for messages, commits in self._calls(cut.messages, list(cut.commits.values())):
            answers = await self._control.send(messages, commits)
            self._remember(messages)
            del cut.messages[: len(messages)]  # even if a later call fails
            for commit, result in zip(commits, answers, strict=True):
                if result == "gap":
                    is_missing = True
                    continue
                cut.commits.pop(commit.partition, None)
                part = self._parts.get(commit.partition)
                if part is not None and part.epoch == commit.epoch:
                    if result == "lost":
                        self.lose(part)
                    else:
                        part.confirmed(commit, boot_time())
        return not is_missing

    def _calls(
        self, messages: Iterable[Message], commits: Iterable[Commit]
    ) -> Iterator[tuple[list[Message], list[Commit]]]:
        """All of them in order, in parts for one call each."""
        call: tuple[list[Any], list[Any]] = [], []
        size = 0
        rows = [*((0, each, each[1]) for each in messages), *((1, each, each.blob) for each in commits)]
        for kind, each, blob in rows:
            if size and size + len(blob) > self._control.at_once:
                yield call
                call, size = ([], []), 0
            call[kind].append(each)
            size += len(blob)
        if rows:
            yield call

    async def send_messages(self) -> None:
        """Send the outbox before the next cut is due. Raises what a call to Redis raises; then the cut sends it."""
        if self._cut is None:
            self._messages += self._outbox.take()
            for messages, _ in self._calls(self._messages, []):
                await self._control.send(messages, [])
                self._remember(messages)
                del self._messages[: len(messages)]

    async def flush(self) -> bool:
        """Send all there is; returns whether nothing is left. Raises what a call to Redis raises."""
        if self._cut is not None:  # one under way when the tick was cancelled: it lacks what came since
            await self.send()
        await self.send()
        return self.is_clean

    def _make_cut(self) -> Cut:
        confirmed, self._confirmed = self._confirmed, []
        for entry in confirmed:
            self._crawl.acknowledge(entry)
        self._done += self._crawl.finished()
        self.collect()
        cut = Cut([*self._messages, *self._outbox.take()], done=self._done)
        self._messages = []
        changes, extra = self._changes, self._local.arrivals()
        sessions = self._local.numbers(self._crawl.served())
        for number, part in self._parts.items():
            if not part.is_read:
                continue
            opened, stored = sessions.get(number, []), self.stored(part)
            settles = part.is_heir and part.state is not PartState.LOADING
            if part.is_heir and not settles:
                opened = sorted({*opened, *part.inherited})
            if number in changes or part.applied or opened != part.open or stored != part.stored or settles:
                part.open, part.stored = opened, stored
                tables = cut.tables[number] = changes.pop(number, {})
                part.seq += 1
                blob = _encoded(part.seq, tables)
                if blob is None:
                    cut.snapshots.append(part)
                else:
                    servers = self._local.server_count(number)
                    cut.commits[number] = Commit(
                        number, part.epoch, part.seq, blob, stored, servers, opened, extra, part.applied, settles
                    )
                    part.applied = []
        self._done = []
        return cut

    def stored(self, part: Part) -> int:
        """URLs of ``part`` that are queued or in progress, as of the last cut; 0 if only blocked ones are left.

        Those stay in Redis, but the crawl does not wait for them.
        """
        if part.state is not PartState.LOADING and not self._done and self._crawl.are_all_blocked():
            return 0
        return max(0, self._local.rows(part.number) - part.unwanted)

    def collect(self) -> None:
        """Commit locally; keep the changes for the next cut. O(changes)."""
        for number, tables in self._local.commit().items():
            if number in self._parts:  # else it was dropped
                self._changes[number] = _merged(self._changes.get(number), tables)

    def unsent_partitions(self) -> set[int]:
        """Partitions with changes, or with pages that are done and not acknowledged. O(such pages + partitions)."""
        self._done += self._crawl.finished()
        done = [*self._confirmed, *self._done]
        if self._cut is not None:
            done += self._cut.done
        self.collect()
        lacking = {part.number for part in self._parts.values() if part.applied or (part.is_read and part.stored < 0)}
        return self._local.partitions_of(entry.url for entry in done) | self._changes.keys() | lacking

    def _remember(self, messages: Iterable[Message]) -> None:
        now = boot_time()
        self._sent.extend((now, message) for message in messages)

    def _keep(self, tables: Tables, partition: int) -> None:
        """If Redis loses the changes ``tables``, send the URLs in them as messages: no commit has them."""
        self._remember((partition, message) for message in self._outbox.encoded(self._local.entries(tables)))

    def _forget(self, before: float) -> None:
        """Keep nothing that was confirmed earlier, except links of pages whose acknowledgement is kept. O(partitions).

        It is part of the next cut.
        """
        self._kept_since = before
        while len(self._ends) > 1 and self._ends[1] < before:
            end = self._ends.popleft()
            while self._sent and self._sent[0][0] <= end:
                self._sent.popleft()
        for part in self._parts.values():
            part.forget(before)

    # partitions that go

    def lose(self, part: Part) -> None:
        """Drop ``part``, which is another's or nobody's; send it what Redis does not have yet, or may have lost."""
        if self._parts.get(part.number) is not part:
            return  # lost before, while something else was waited for
        logger.debug("Partition %d does not belong to this worker any more", part.number)
        self.lost += 1
        self._crawl.abandon(self._local.keys_of(part.number))
        self.collect()
        tables = self._changes.pop(part.number, None)
        if self._cut is not None:
            tables = _merged(self._cut.tables.pop(part.number, None), tables)
            self._cut.commits.pop(part.number, None)
            self._done += self._cut.done  # some of their links wait in the outbox from now on
            self._cut.done = []
        for changes in (*self._kept(part), tables or {}):
            self._outbox.send(self._local.entries(changes))
        self.drop(part)

    def drop(self, part: Part) -> None:
        """Forget ``part``, which has no connection open; ``unload`` then removes its rows. O(1)."""
        del self._parts[part.number]
        self._outbox.set_own(part.number, own=False)
        self._changes.pop(part.number, None)
        self._local.close_partition(part.number)
        if part.loading is not None:
            part.loading.cancel()
        self.dropped[part.number] = part

    def give_away(self, part: Part) -> None:
        """``drop`` it after its release; if Redis loses its last commits, the URLs in them are sent as messages."""
        for tables in self._kept(part):
            self._keep(tables, part.number)
        self.drop(part)

    @staticmethod
    def _kept(part: Part) -> Iterator[Tables]:
        return (decode_journal(commit.blob)[1] for _, commit in part.kept)

    async def unload(self) -> None:
        """Remove dropped partitions from the frontier and the local store, in steps; the last ones later."""
        end = boot_time() + UNLOADING
        for number, part in list(self.dropped.items()):
            if part.loading is not None and not part.loading.done():
                await asyncio.wait([part.loading])  # it was cancelled, but may still write rows
            for _ in self._local.unload(number):
                await asyncio.sleep(0)
            del self.dropped[number]
            if boot_time() > end:
                break

    # what Redis has lost

    async def _snapshot(self, part: Part) -> None:
        part.stored = -1  # the next commit says it
        if not await write_snapshot(self._control, self._local, part):
            self.lose(part)

    async def replay(self, since: float = inf) -> None:
        """Redis was restarted and may have lost its last seconds: send again everything that this worker wrote in them.

        ``since``: Redis still has what was confirmed before this time (``boot_time``), as far as is known.

        Cuts are sent in their old order, the messages of each before its commits, so that no page is acknowledged
        before its links are stored.  All inboxes are read again from the beginning, because messages that were deleted
        may have come back.

        Redis may also have forgotten that this worker took a partition.  The rows here were then loaded from writes of
        the former owner that Redis may have lost, too: they lack pages that it had acknowledged, whose links may be
        lost.  So this worker drops these rows, and the partition is loaded again from Redis.  It does the same with all
        partitions if Redis has lost more than this worker keeps.

        Raises what a call to Redis raises; then call it again.
        """
        parts = [part for part in self._parts.values() if part.is_read]
        records = await self._control.records([part.number for part in parts])
        lacks_forgotten = any(record.seq < part.forgotten for part, record in zip(parts, records, strict=True))
        if is_too_old := since < self._kept_since or lacks_forgotten:
            logger.error("Redis lacks more than the last %.0f s: the crawl goes on from what it has", KEPT)
        lacking: list[tuple[float, Commit]] = []
        gaps: list[Part] = []
        for part, record in zip(parts, records, strict=True):
            if self._parts.get(part.number) is not part:
                continue
            part.last = b""
            if is_too_old or (record.owner, record.epoch) != (self._control.id, part.epoch):
                self.lose(part)
            elif (commits := part.missing(record.seq)) is not None:
                lacking += commits
            elif record.seq < part.known:
                gaps.append(part)
        self._messages += self._outbox.take()
        messages = [*(message for _, message in self._sent), *self._messages]
        for call in self._calls(messages, [commit for _, commit in sorted(lacking, key=itemgetter(0))]):
            await self._control.send(*call)
        self._remember(self._messages)
        self._messages = []
        for part in gaps:
            if self._parts.get(part.number) is part:
                await self._snapshot(part)
        self._outbox.forget_sent()
        self._replayed_at = boot_time()


def _encoded(seq: int, tables: Tables) -> bytes | None:
    """The blob of a commit; None if the changes are too many for one."""
    if sum(map(len, tables.values())) > MAX_ROWS:
        return None
    try:
        return encode_journal(seq, tables)
    except BlobError:
        return None


def _merged(older: Tables | None, newer: Tables | None) -> Tables:
    if not older or not newer:
        return older or newer or {}
    found: dict[str, dict[bytes, bytes | None]] = {}
    for tables in (older, newer):
        for table, rows in tables.items():
            found.setdefault(table, {}).update(rows)
    return found
