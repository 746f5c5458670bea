"""Reads a partition that was taken from Redis into the local copy."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from crawlproject.workers.blobs import BlobError, decode_journal, decode_rows, decode_seen
from crawlproject.workers.control import ELEMENTS

#: Rows of a journal that are written at once: 5 ms.
ROWS = 1_000

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from crawlproject.workers.blobs import Tables
    from crawlproject.workers.control import Control, Record
    from crawlproject.workers.part import Part

    Rows = Mapping[str, Iterable[tuple[bytes, bytes | None]]]
    Write = Callable[[Rows], None]

Result = TypeVar("Result")


async def read_partition(control: Control, write: Write, part: Part, record: Record) -> int:
    """``write`` (``Copy.write``) the snapshot and the journal of ``part``; its servers are not in the frontier yet.

    Returns the number of commits in the journal.  About 5 µs a row, in steps of some milliseconds.  Raises what a call
    to Redis raises; then call it again: the same rows are written.  Raises BlobError for damaged data, StoreError.
    """
    part.journal = part.snapshot = commits = 0
    keys = [*control.snapshot_keys(part.number, record.gen), control.journal_key(part.number)]
    heads = await control.elements(keys, 0)
    rows_key, seen_key, journal_key = keys
    rows, seen, journal = (_elements(control, key, blobs) for key, blobs in zip(keys, heads, strict=True))
    async for blob in rows:
        table, found = _read(rows_key, decode_rows, blob)
        write({table: found})
        part.snapshot += len(blob)
        await asyncio.sleep(0)
    async for blob in seen:
        write({"seen": [(key, b"") for key in _read(seen_key, decode_seen, blob)]})
        part.snapshot += len(blob)
        await asyncio.sleep(0)
    changes: Tables = {}
    async for blob in journal:
        for table, more in _read(journal_key, decode_journal, blob)[1].items():
            changes.setdefault(table, {}).update(more)
        part.journal += len(blob)
        commits += 1
        if sum(map(len, changes.values())) > ROWS:
            _write(write, changes)
            await asyncio.sleep(0)
    _write(write, changes)
    return commits


def _read(key: str, decode: Callable[[bytes], Result], blob: bytes) -> Result:
    try:
        return decode(blob)
    except BlobError as error:
        raise BlobError(f"{key}: {error}") from error


def _write(write: Write, changes: Tables) -> None:
    write({table: list(rows.items()) for table, rows in changes.items()})
    changes.clear()


async def _elements(control: Control, key: str, blobs: list[bytes]) -> AsyncIterator[bytes]:
    """All elements of a list that begins with ``blobs``."""
    start = 0
    while True:
        for blob in blobs:
            yield blob
        if len(blobs) < ELEMENTS:
            return
        start += ELEMENTS
        blobs = (await control.elements([key], start))[0]
