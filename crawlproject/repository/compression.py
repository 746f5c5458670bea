"""Compresses each record separately, so that each can be read alone (WARC 1.1, annex D; WARC-zstd 1.0)."""

from __future__ import annotations

import threading
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import zstandard
from isal import isal_zlib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Levels above which more time saves hardly any space (docs/research/repository.md).  The gzip level is ISA-L's, which
#: needs a fifth of zlib's time for the same size.
GZIP_LEVEL = 2
ZSTD_LEVEL = 3

CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Compression:
    """A method of compression; thread-safe."""

    name: str
    #: Suffix of file names, after ``.warc``.
    suffix: str
    #: Compresses a whole record. O(length).
    compress: Callable[[bytes], bytes]
    #: Returns a new decompressor with ``eof`` and ``unused_data``, like zlib's.
    decompressor: Callable[[], Any]
    error: type[Exception]
    #: First bytes of a compressed record.
    magic: bytes


class _Zstd(threading.local):
    """One compressor per thread (it is not thread-safe), reused: creating one takes a third of the time per record."""

    def __init__(self) -> None:
        # each frame must have its size and a checksum (WARC-zstd 1.0)
        self.compressor = zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True, write_content_size=True)


_zstd = _Zstd()


GZIP = Compression(
    "gzip",
    ".gz",
    lambda data: isal_zlib.compress(data, GZIP_LEVEL, wbits=31),
    lambda: zlib.decompressobj(wbits=31),
    zlib.error,
    b"\x1f\x8b\x08",
)
ZSTD = Compression(
    "zstd",
    ".zst",
    lambda data: _zstd.compressor.compress(data),
    lambda: zstandard.ZstdDecompressor().decompressobj(),
    zstandard.ZstdError,
    b"\x28\xb5\x2f\xfd",
)

COMPRESSIONS = {compression.name: compression for compression in (GZIP, ZSTD)}


@dataclass(frozen=True, slots=True)
class Member:
    """A compressed record in a file: ``length`` bytes at ``offset``, which decompress to ``data``."""

    offset: int
    length: int
    data: bytes


def members(file: BinaryIO, compression: Compression, start: int = 0) -> Iterator[Member]:
    """The records of a file from ``start`` up to its end or to the first incomplete or damaged record.

    O(bytes); one record in memory at a time.
    """
    file.seek(start)
    rest = b""
    while True:
        unpacker, parts, length = compression.decompressor(), [], 0
        while not unpacker.eof:
            chunk = rest or file.read(CHUNK)
            if not chunk:
                return
            rest = b""
            length += len(chunk)
            try:
                parts.append(unpacker.decompress(chunk))
            except compression.error:
                return
        rest = unpacker.unused_data
        length -= len(rest)
        yield Member(start, length, b"".join(parts))
        start += length


def next_record(file: BinaryIO, compression: Compression, start: int) -> int | None:
    """Offset of the next apparent WARC record at or after ``start``; None if there is none. O(bytes).

    Used to continue after a damaged record.
    """
    place, data = start, b""
    while True:
        file.seek(place + len(data))
        chunk = file.read(CHUNK)
        data += chunk
        found = data.find(compression.magic)
        while found >= 0:
            if _begins_record(file, compression, place + found):
                return place + found
            found = data.find(compression.magic, found + 1)
        if not chunk:
            return None
        overlap = len(compression.magic) - 1
        place, data = place + len(data) - overlap, data[-overlap:]


def _begins_record(file: BinaryIO, compression: Compression, place: int) -> bool:
    file.seek(place)
    try:
        return bool(compression.decompressor().decompress(file.read(CHUNK)).startswith(b"WARC/"))
    except compression.error:
        return False
