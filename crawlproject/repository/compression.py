"""Compresses each record separately with gzip, so that each can be read alone (WARC 1.1, annex D)."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from isal import isal_zlib

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Above this level more time saves hardly any space (docs/research/repository.md). It is ISA-L's, which needs a fifth
#: of zlib's time for the same size.
LEVEL = 2

#: First bytes of a compressed record.
MAGIC = b"\x1f\x8b\x08"

CHUNK = 65_536


def compress(data: bytes) -> bytes:
    """A whole record, compressed. O(length); thread-safe."""
    return isal_zlib.compress(data, LEVEL, wbits=31)


@dataclass(frozen=True, slots=True)
class Member:
    """A compressed record in a file: ``length`` bytes at ``offset``, which decompress to ``data``."""

    offset: int
    length: int
    data: bytes


def members(file: BinaryIO, start: int = 0) -> Iterator[Member]:
    """The records of a file from ``start`` up to its end or to the first incomplete or damaged record.

    O(bytes); one record in memory at a time.
    """
    file.seek(start)
    rest = b""
    while True:
        unpacker, parts, length = zlib.decompressobj(wbits=31), [], 0
        while not unpacker.eof:
            chunk = rest or file.read(CHUNK)
            if not chunk:
                return
            rest = b""
            length += len(chunk)
            try:
                parts.append(unpacker.decompress(chunk))
            except zlib.error:
                return
        rest = unpacker.unused_data
        length -= len(rest)
        yield Member(start, length, b"".join(parts))
        start += length


def next_record(file: BinaryIO, start: int) -> int | None:
    """Offset of the next apparent WARC record at or after ``start``; None if there is none. O(bytes).

    Used to continue after a damaged record.
    """
    place, data = start, b""
    while True:
        file.seek(place + len(data))
        chunk = file.read(CHUNK)
        data += chunk
        found = data.find(MAGIC)
        while found >= 0:
            if _begins_record(file, place + found):
                return place + found
            found = data.find(MAGIC, found + 1)
        if not chunk:
            return None
        overlap = len(MAGIC) - 1
        place, data = place + len(data) - overlap, data[-overlap:]


def _begins_record(file: BinaryIO, place: int) -> bool:
    file.seek(place)
    try:
        return zlib.decompressobj(wbits=31).decompress(file.read(CHUNK)).startswith(b"WARC/")
    except zlib.error:
        return False
