"""Reads a crawl in Redis for display, without joining it: nothing is written, not even a sign of life."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from crawlproject.seen.fingerprint import KEY_BYTES
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.errors import StoreError
from crawlproject.workers.blobs import BlobError, decode_message
from crawlproject.workers.connection import reason_of
from crawlproject.workers.control import AWAY, Control, texts
from crawlproject.workers.loading import read_partition
from crawlproject.workers.part import Part
from crawlproject.workers.partitions import Partitions
from crawlproject.workers.ports import Copy
from crawlproject.workers.roster import WorkerState, number_of, workers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.storage.urls import DiskUrlRows
    from crawlproject.workers.connection import RedisConnector
    from crawlproject.workers.control import Record
    from crawlproject.workers.keys import Keys
    from crawlproject.workers.loading import Rows

#: Makes the copy to read into, from the partitions, a path, a label and a clock.
NewCopy = Callable[[Partitions, Path, StoreLabel, Callable[[], float]], "ReadableCopy"]

#: Partitions that are read at the same time: one after the other, a Redis that is far away takes minutes; all at once,
#: large ones would exceed the timeout on a slow line.
PARTITIONS_AT_ONCE = 16
#: Times that a partition is read whose owner replaces the snapshot meanwhile.
TRIES = 10


class ReadableCopy(Copy, Protocol):
    """A copy for people, not for a worker; implemented in ``local``."""

    frontier: Frontier

    @property
    def url_rows(self) -> DiskUrlRows:
        """The queued URLs."""

    def close(self) -> None:
        """Throw the copy away."""


@dataclass(slots=True)
class StoredCrawl:
    """A crawl as Redis holds it; each partition at a moment of its own."""

    frontier: Frontier
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
    #: Of the URL that was asked for: what became of it, None: its key is not seen; and whether a message with it waits
    #: in an inbox.
    url_mark: int | None = None
    url_waits: bool = False

    @property
    def keys_seen(self) -> int:
        """Number of seen keys."""
        return self.marks.total()

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
    """Read the crawl ``keys`` into a temporary directory, which the end of the block deletes; it may be running.

    ``timeout``: seconds of a call; ``new_copy``: see ``NewCopy``; ``url``: a canonical URL, to read its partition only
    (of the others just the fields).  About 5 µs for each URL and 200 µs for each server, and the memory of
    ``PARTITIONS_AT_ONCE`` blobs, 150 bytes for each URL seen of as many partitions, and of the servers.  Raises
    StoreError if Redis cannot be asked, or if the crawl is missing or damaged.
    """
    folder = tempfile.mkdtemp(prefix="crawlproject-frontier-")
    copies: list[ReadableCopy] = []
    try:
        reader = _Reader(connector, keys, timeout, new_copy, Path(folder) / "store", copies, url)
        try:
            crawl = asyncio.run(reader.read())
        except AWAY as error:
            raise StoreError(connector.name, reason_of(error)) from error
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(connector.name, f"the crawl {keys.name!r} cannot be read: {error}") from error
        yield crawl
    finally:
        for copy in copies:
            copy.close()
        shutil.rmtree(folder, ignore_errors=True)


class _Reader:
    def __init__(  # noqa: PLR0913
        self,
        connector: RedisConnector,
        keys: Keys,
        timeout: float,
        new_copy: NewCopy,
        path: Path,
        copies: list[ReadableCopy],
        url: str,
    ) -> None:
        self._connector = connector
        self._keys = keys
        self._timeout = timeout
        self._new_copy = new_copy
        self._path = path
        self._copies = copies
        self._url = url
        self._url_key = b""

    async def read(self) -> StoredCrawl:
        """Raises what a call to Redis raises, StoreError, ValueError for damaged data."""
        try:
            control = Control(self._connector.client(), self._keys, self._timeout)
            crawl = await self._begin(control)
            count = _partitions(crawl.meta)
            if self._url:
                await self._read_for_url(control, crawl, count)
                return crawl
            for first in range(0, count, PARTITIONS_AT_ONCE):
                numbers = range(first, min(count, first + PARTITIONS_AT_ONCE))
                crawl.records.update(zip(numbers, await control.scan(numbers), strict=True))
                reads = (self._read_partition(control, crawl, number) for number in numbers)
                for failure in await asyncio.gather(*reads, return_exceptions=True):  # none goes on after the first
                    if failure is not None:
                        raise failure
        finally:
            await self._connector.close()
        return crawl

    async def _read_for_url(self, control: Control, crawl: StoredCrawl, count: int) -> None:
        numbers, number = range(count), crawl.copy.partition_of_url(self._url)
        self._url_key = Partitions(count).url_key(self._url).to_bytes(KEY_BYTES, "big")
        crawl.url_waits = await self._is_in_inbox(control, number)  # before: it is applied, and deleted, meanwhile
        crawl.records.update(zip(numbers, await control.scan(numbers), strict=True))
        await self._read_partition(control, crawl, number)

    async def _is_in_inbox(self, control: Control, number: int) -> bool:
        last = b""
        while messages := (await control.messages({number: last})).get(number):
            for last, blob in messages:  # noqa: B007 - the id of the last one
                with suppress(BlobError):
                    if any(entry.url == self._url for entry in decode_message(blob)[0]):
                        return True
        return False

    async def _begin(self, control: Control) -> StoredCrawl:
        keys = self._keys
        commands = (("TIME",), *(("HGETALL", key) for key in (keys.meta, keys.workers, keys.info, keys.stats)))
        (seconds, micros), *hashes = await control.commands(commands)
        meta, leases, infos, stats = map(texts, hashes)
        if "crawl" not in meta:
            raise StoreError(self._connector.name, f"there is no crawl {keys.name!r}: name it by --key")
        now = int(seconds) + int(micros) / 1e6
        workers = workers_of(leases, infos, now)
        label = StoreLabel(meta.get("spider", ""), meta.get("order", "quality"))
        copy = self._new_copy(Partitions(_partitions(meta)), self._path, label, lambda: now)
        self._copies.append(copy)
        copy.follow_clock(now, 0.0)  # so the frontier's clock is Redis's
        learned = await control.learned()
        if learned:
            copy.learn(learned)
        return StoredCrawl(copy.frontier, copy, label, now, meta, workers, stats)

    async def _read_partition(self, control: Control, crawl: StoredCrawl, number: int) -> None:
        """Add a partition to ``crawl``, with the fields that were valid all the time."""
        copy, (record, inbox) = crawl.copy, crawl.records[number]
        for _ in range(TRIES):
            seen: dict[bytes, bytes] = {}

            def write(tables: Rows, seen: dict[bytes, bytes] = seen) -> None:
                seen.update((key, mark or seen.get(key, b"")) for key, mark in tables.get("seen", ()))
                copy.write(tables)

            try:
                await read_partition(control, write, Part(number, record.epoch, record.seq, record.gen), record)
                failure = None
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
                if self._url_key in seen:
                    crawl.url_mark = int.from_bytes(seen[self._url_key], "big")
                return
            record = now
            for _ in copy.unload(number):
                pass
        raise StoreError(self._connector.name, f"partition {number} changes too fast, try again")


def _partitions(meta: Mapping[str, str]) -> int:
    return int(meta["partitions"])
