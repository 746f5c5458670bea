"""Writes the snapshot of a partition, so that its journal can be dropped."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from crawlproject.workers.blobs import encode_rows, encode_seen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlproject.workers.control import Control
    from crawlproject.workers.part import Part
    from crawlproject.workers.ports import Copy

#: Rows of a blob: 3 ms to encode.
ROWS = 1_000
SEEN_KEYS = 4_000
#: Bytes of a blob's rows, about.
BYTES = 1 << 20


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
            yield True, encode_seen([key for key, _ in found])
        else:
            yield False, encode_rows(table, found)
