"""Reads a partition that was taken from Redis into the local copy, and writes its snapshot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from crawlproject.workers.blobs import BlobError, decode_journal, decode_rows, decode_seen, encode_rows, encode_seen
from crawlproject.workers.control import ELEMENTS

#: Rows of a journal that are written at once: 5 ms. Rows of a blob of a snapshot: 3 ms to encode; its seen keys.
ROWS = 1_000
SEEN_KEYS = 4_000
#: Bytes of a blob's rows, about.
BYTES = 1 << 20

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping

    from crawlproject.workers.blobs import Tables
    from crawlproject.workers.control import Control, Record
    from crawlproject.workers.part import Part
    from crawlproject.workers.ports import Copy

    Rows = Mapping[str, Iterable[tuple[bytes, bytes | None]]]

Result = TypeVar("Result")


async def read_partition(control: Control, write: Callable[[Rows], None], part: Part, record: Record) -> int:
    """``write`` snapshot and journal of ``part`` into a ``LocalCopy``; its servers are not in the frontier yet.

    Returns the number of commits in the journal.  About 5 µs a row, in steps of some milliseconds.  Raises what a call
    to Redis raises; then call it again: the same rows are written.  Raises BlobError for damaged data, StoreError.
    """
    part.journal = part.snapshot = commits = 0
    keys = [*control.keys.snapshot(part.number, record.gen), control.keys.j(part.number)]
    heads = await control.elements(keys, 0)
    rows_key, seen_key, journal_key = keys
    rows, seen, journal = (_elements(control, key, blobs) for key, blobs in zip(keys, heads, strict=True))
    async for blob in rows:
        table, found = _read(rows_key, decode_rows, blob)
        write({table: found})
        part.snapshot += len(blob)
        await asyncio.sleep(0)
    async for blob in seen:
        write({"seen": _read(seen_key, decode_seen, blob)})
        part.snapshot += len(blob)
        await asyncio.sleep(0)
    changes: Tables = {}
    async for blob in journal:
        for table, rows_ in _read(journal_key, decode_journal, blob)[1].items():
            changes.setdefault(table, {}).update(rows_)
        part.journal += len(blob)
        commits += 1
        if sum(map(len, changes.values())) > ROWS:
            write({table: more.items() for table, more in changes.items()})
            changes = {}
            await asyncio.sleep(0)
    write({table: more.items() for table, more in changes.items()})
    return commits


def _read(key: str, decode: Callable[[bytes], Result], blob: bytes) -> Result:
    try:
        return decode(blob)
    except BlobError as error:
        raise BlobError(f"{key}: {error}") from error


async def _elements(control: Control, key: str, blobs: list[bytes]) -> AsyncIterator[bytes]:
    start = 0
    while True:
        for blob in blobs:
            yield blob
        if len(blobs) < ELEMENTS:
            return
        start += ELEMENTS
        blobs = (await control.elements([key], start))[0]


async def write_snapshot(control: Control, local: Copy, part: Part) -> bool:
    """Write all that is committed locally, and drop the journal up to there; False if the partition is another's.

    In steps: commits may follow meanwhile.  Raises what a call to Redis raises; then the old snapshot stays in use.
    """
    record = (await control.records([part.number]))[0]  # an earlier call may have been carried out unnoticed
    base, journal, size = part.seq, part.journal, 0
    part.attempts += 1
    gen = f"{part.epoch}-{base}-{part.attempts}"
    rows = _blobs(local.scan(part.number))
    first = next(rows, None)  # from here on a consistent view
    if not await control.begin_snapshot(part.number, part.epoch, gen, record):
        return False
    while first is not None:
        blobs, waiting = [first], len(first[1])
        while waiting < control.at_once and (blob := next(rows, None)) is not None:
            blobs.append(blob)
            waiting += len(blob[1])
            await asyncio.sleep(0)
        rows_blobs, seen_blobs = ([blob for is_seen, blob in blobs if is_seen is kind] for kind in (False, True))
        if not await control.add_to_snapshot(part.number, part.epoch, gen, rows_blobs, seen_blobs):
            return False
        size += waiting
        first = next(rows, None)
    if not await control.switch_snapshot(part.number, part.epoch, old=record.gen, gen=gen, base=base):
        return False
    part.gen, part.snapshot, part.journal = gen, size, max(0, part.journal - journal)
    part.known = max(part.known, base)
    return True


def _blobs(rows: Iterator[tuple[str, bytes, bytes]]) -> Iterator[tuple[bool, bytes]]:
    """Whether they are seen keys, and the blobs."""
    row = next(rows, None)
    while row is not None:
        table, found = row[0], list[tuple[bytes, bytes]]()
        count, size = SEEN_KEYS if table == "seen" else ROWS, 0
        while row is not None and row[0] == table and len(found) < count and size < BYTES:
            found.append(row[1:])
            size += len(row[1]) + len(row[2])
            row = next(rows, None)
        if table == "seen":
            yield True, encode_seen(found)
        else:
            yield False, encode_rows(table, found)
