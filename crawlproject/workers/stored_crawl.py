"""Reads a crawl in Redis for display, and how its workers describe themselves.

Nothing is written for it, not even a sign of life: who reads need not have joined the crawl.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from crawlproject.seen.fingerprint import KEY_BYTES
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.errors import StoreError
from crawlproject.workers.blobs import BlobError, decode_message
from crawlproject.workers.connection import reason_of
from crawlproject.workers.control import AWAY, Control, texts, worker_info
from crawlproject.workers.loading import read_partition
from crawlproject.workers.orders import Action
from crawlproject.workers.part import Part
from crawlproject.workers.partitions import Partitions
from crawlproject.workers.ports import Copy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawlproject.workers.connection import RedisConnector
    from crawlproject.workers.control import Record
    from crawlproject.workers.keys import Keys
    from crawlproject.workers.loading import Rows


#: Partitions that are read at the same time: one after the other, a Redis that is far away takes minutes; all at once,
#: large ones would exceed the timeout on a slow line.
PARTITIONS_AT_ONCE = 16
#: Times that a partition is read whose owner replaces the snapshot meanwhile.
TRIES = 10
#: Numbers in a worker's description of itself, and texts.
FIGURES = (
    *("pid", "pages", "urls", "servers", "partitions", "sessions", "sent", "received", "lag", "actions", "console"),
    *("elapsed", "queued", "seen", "blocked", "bytes", "items", "failed", "session_limit", "pages_per_second"),
    *("quality_gathered", "quality_queued"),
    *(f"servers/{state}" for state in ("known", "ready", "resting", "leased", "given_up")),
)
TEXTS = ("host", "held_back")
#: Values of a tally that are read, and characters of each.
MAX_VALUES, MAX_VALUE = 100, 100
#: Number of the operator's last actions that are shown.
ACTIONS = 20


class ReadableCopy(Copy, Protocol):
    """A copy for people, not for a worker: ``local.LocalCopy``."""

    servers: Any

    def close(self) -> None: ...


#: Makes a copy on a clock that stands still: of the partitions, in a path, with a label, at a time.
NewCopy = Callable[[Partitions, Path, StoreLabel, float], ReadableCopy]


@dataclass(slots=True)
class StoredCrawl:
    """A crawl as Redis holds it; each partition at a moment of its own."""

    copy: ReadableCopy
    label: StoreLabel
    #: Redis's clock when the reading began, seconds.
    now: float
    #: Fields of the crawl.
    meta: Mapping[str, str]
    workers: list[WorkerState]
    #: Sums of the stats of the workers that left.
    stats: Mapping[str, str]
    #: Partition -> its fields, and the messages in its inbox.
    records: dict[int, tuple[Record, int]] = field(default_factory=dict)
    #: What became of URLs (``fates.encoded``; 0: not ended) -> seen keys.
    marks: Counter[int] = field(default_factory=Counter)
    #: Of the URL that was asked for: its seen key; what became of it, None: its key is not seen; and whether a message
    #: with it waits in an inbox.
    url_key: bytes = b""
    url_mark: int | None = None
    url_waits: bool = False

    @property
    def pages(self) -> int:
        """Pages that all workers have fetched; of those killed, up to their last sign of life."""
        return number_of(self.meta.get("pages"))

    def owner_of(self, server: str) -> tuple[int, str]:
        """The partition of the server with this key, and its owner's id; "": nobody."""
        partition = self.copy.partition_of_url(server)
        return partition, self.records[partition][0].owner


@contextmanager
def stored_crawl(
    connector: RedisConnector, keys: Keys, timeout: float, new_copy: NewCopy, url: str = ""
) -> Iterator[StoredCrawl]:
    """Read the crawl ``keys``, which may be running, into a copy, which the end of the block closes.

    ``timeout``: seconds of a call; ``url``: a canonical URL, to read its partition only (of the others just the
    fields).  About 5 µs for each URL and 200 µs for each server, and the memory of ``PARTITIONS_AT_ONCE`` blobs, 150
    bytes for each URL seen of as many partitions, and of the servers.  Raises StoreError if Redis cannot be asked, or
    if the crawl is missing or damaged.
    """
    with tempfile.TemporaryDirectory(prefix="crawlproject-frontier-") as folder, ExitStack() as stack:

        def made(partitions: Partitions, label: StoreLabel, now: float) -> ReadableCopy:
            copy = new_copy(partitions, Path(folder, "store"), label, now)
            stack.callback(copy.close)
            copy.follow_clock(now, 0.0)  # so the frontier's clock is Redis's
            return copy

        try:
            crawl = asyncio.run(_read(connector, keys, timeout, made, url))
        except AWAY as error:
            raise StoreError(connector.name, reason_of(error)) from error
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(connector.name, f"the crawl {keys.name!r} cannot be read: {error}") from error
        yield crawl


async def _read(
    connector: RedisConnector,
    keys: Keys,
    timeout: float,
    new_copy: Callable[[Partitions, StoreLabel, float], ReadableCopy],
    url: str,
) -> StoredCrawl:
    """Raises what a call to Redis raises, StoreError, ValueError for damaged data."""
    try:
        control = Control(connector.client(), keys, timeout)
        commands = (("TIME",), *(("HGETALL", key) for key in (keys.meta, keys.workers, keys.info, keys.stats)))
        (seconds, micros), *hashes = await control.commands(commands)
        meta, leases, infos, stats = map(texts, hashes)
        if "crawl" not in meta:
            raise StoreError(connector.name, f"there is no crawl {keys.name!r}: name it by --key")
        now, partitions = int(seconds) + int(micros) / 1e6, Partitions(int(meta["partitions"]))
        label = StoreLabel(meta.get("spider", ""), meta.get("order", "quality"))
        copy = new_copy(partitions, label, now)
        if learned := await control.learned():
            copy.learn(learned)
        crawl = StoredCrawl(copy, label, now, meta, workers_of(leases, infos, now), stats)
        chosen: Sequence[int] = range(partitions.count)
        if url:
            chosen = [partitions.of_url(url)]
            crawl.url_key = partitions.url_key(url).to_bytes(KEY_BYTES, "big")
            crawl.url_waits = await _is_in_inbox(
                control, chosen[0], url
            )  # before: it is applied, and deleted, meanwhile
        crawl.records = dict(enumerate(await control.scan(range(partitions.count))))
        for first in range(0, len(chosen), PARTITIONS_AT_ONCE):
            reads = (_read_partition(control, crawl, number) for number in chosen[first : first + PARTITIONS_AT_ONCE])
            for failure in await asyncio.gather(*reads, return_exceptions=True):  # none goes on after the first
                if failure is not None:
                    raise failure
        return crawl
    finally:
        await connector.close()


async def _is_in_inbox(control: Control, number: int, url: str) -> bool:
    last = b""
    while messages := (await control.messages({number: last})).get(number):
        for last, blob in messages:  # noqa: B007 - the id of the last one
            with suppress(BlobError):
                if any(entry.url == url for entry in decode_message(blob)[0]):
                    return True
    return False


async def _read_partition(control: Control, crawl: StoredCrawl, number: int) -> None:
    """Add a partition to ``crawl``, with the fields that were valid all the time."""
    copy, (record, inbox) = crawl.copy, crawl.records[number]
    for _ in range(TRIES):
        seen: dict[bytes, bytes] = {}

        def write(tables: Rows, seen: dict[bytes, bytes] = seen) -> None:
            seen.update((key, mark or seen.get(key, b"")) for key, mark in tables.get("seen", ()))
            copy.write({table: rows for table, rows in tables.items() if table != "seen"})

        failure = None
        try:
            await read_partition(control, write, Part(number, record.epoch, record.seq, record.gen), record)
        except ValueError as error:  # of a snapshot that is being deleted?
            failure = error
        now = (await control.records([number]))[0]
        if now.gen == record.gen:
            if failure is not None:
                raise failure
            for _ in copy.restore(number, record.extra):
                pass
            crawl.records[number] = now, inbox
            crawl.marks.update(int.from_bytes(mark, "big") for mark in seen.values())
            if crawl.url_key in seen:
                crawl.url_mark = int.from_bytes(seen[crawl.url_key], "big")
            return
        record = now
        for _ in copy.unload(number):
            pass
    raise StoreError(f"partition {number}", "changes too fast, try again")


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A worker that is not buried."""

    id: str
    #: Seconds until its lease ends; negative: since it has ended.
    lease: float
    #: Its description of itself: host, pid, started, pages, ...
    info: Mapping[str, Any]


def worker_facts(worker: WorkerState) -> dict[str, Any]:
    """A worker's description of itself (``FIGURES``, ``TEXTS``); None for a value of another type."""
    figures = {name: _number(worker.info.get(name)) for name in FIGURES}
    texts = {
        name: text[:100] if isinstance(text := worker.info.get(name), str) and text.isprintable() else None
        for name in TEXTS
    }
    started = _number(worker.info.get("started"))
    since = None if started is None else datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds")
    return {"worker": worker.id, **texts, **figures, "since": since, "lease": round(worker.lease, 1)}


def worker_tallies(worker: WorkerState) -> dict[str, dict[str, int]]:
    """What became of a worker's URLs, in parts (``Fates.tallies``, and ``ends``); without what is damaged."""
    given = worker.info.get("tallies")
    return {
        str(name)[:MAX_VALUE]: {
            str(value)[:MAX_VALUE]: count
            for value, count in islice(tally.items(), MAX_VALUES)
            if isinstance(_number(count), int)
        }
        for name, tally in islice(given.items() if isinstance(given, dict) else (), 10)
        if isinstance(tally, dict)
    }


def _number(value: Any) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e11
    return value if is_number else None


async def read_workers(control: Control, keys: Keys) -> dict[str, Any]:
    """The state of the crawl, the pages of all workers, and ``worker_facts`` of those not buried; the operator's last
    actions, the latest first, with the number of workers that have applied each.

    O(workers): no partition is read, nothing is written.  Raises what a call to Redis raises, and ValueError for
    damaged data.
    """
    hashes = (("HGETALL", key) for key in (keys.meta, keys.workers, keys.info))
    commands = (("TIME",), ("LRANGE", keys.actions, -ACTIONS, -1), *hashes)
    (seconds, micros), rows, *found = await control.commands(commands)
    meta, leases, infos = map(texts, found)
    states = workers_of(leases, infos, int(seconds) + int(micros) / 1e6)
    workers = [worker_facts(each) for each in states]
    numbers = [worker["actions"] or 0 for worker in workers]
    actions = [action for action in map(Action.read, reversed(rows)) if action is not None]
    return {
        "state": meta.get("state", ""),
        "pages": number_of(meta.get("pages")),
        "own": control.id,
        "workers": workers,
        "tallies": [worker_tallies(each) for each in states],
        "actions": [
            {
                "number": action.number,
                "at": action.at,
                "by": action.by,
                "changes": action.changes,
                "applied": sum(number >= action.number for number in numbers),
            }
            for action in actions
        ],
    }


def workers_of(leases: Mapping[str, str], infos: Mapping[str, str], now: float) -> list[WorkerState]:
    """From the ends of their leases (ms) and their descriptions of themselves, by id."""
    return [
        WorkerState(name, int(until) / 1000 - now, worker_info(infos.get(name, ""))) for name, until in leases.items()
    ]


def number_of(value: object) -> int:
    """A count that another process has written; 0 for anything else."""
    try:
        return int(str(value or 0))
    except ValueError:
        return 0
