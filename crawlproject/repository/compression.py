"""Records one by one compressed, so that each can be read by itself (WARC 1.1, annex D; WARC-zstd 1.0)."""

from __future__ import annotations

import threading
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import zstandard
from isal import isal_zlib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Levels at which more time brings hardly any more space (scripts/bench_repository.py).  That of gzip is ISA-L's: it
#: needs a fifth of zlib's time for the same size.
GZIP_LEVEL = 2
ZSTD_LEVEL = 3

CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Compression:
    """How records are compressed; safe for threads."""

    name: str
    #: Of the file's name, behind ``.warc``.
    suffix: str
    #: A whole record, compressed. O(its length).
    compress: Callable[[bytes], bytes]
    #: A new decompressor, with ``eof`` and ``unused_data`` as zlib's.
    decompressor: Callable[[], Any]
    error: type[Exception]
    #: What a compressed record begins with.
    magic: bytes


class _Zstd(threading.local):
    """A compressor is for one thread at a time, and takes a third of the time to make."""

    def __init__(self) -> None:
        # each frame must have its size and a checksum (WARC-zstd 1.0)
        self.compressor = zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True, write_content_size=True)


_zstd = _Zstd()


def _compress_gzip(data: bytes) -> bytes:
    return isal_zlib.compress(data, GZIP_LEVEL, wbits=31)


def _compress_zstd(data: bytes) -> bytes:
    return _zstd.compressor.compress(data)


GZIP = Compression("gzip", ".gz", _compress_gzip, lambda: zlib.decompressobj(wbits=31), zlib.error, b"\x1f\x8b\x08")
ZSTD = Compression(
    "zstd",
    ".zst",
    _compress_zstd,
    lambda: zstandard.ZstdDecompressor().decompressobj(),
    zstandard.ZstdError,
    b"\x28\xb5\x2f\xfd",
)

COMPRESSIONS = {compression.name: compression for compression in (GZIP, ZSTD)}


@dataclass(frozen=True, slots=True)
class Member:
    """A record as it lies in a file: ``length`` bytes from ``offset`` on, which unpack to ``data``."""

    offset: int
    length: int
    data: bytes


def members(file: BinaryIO, compression: Compression, start: int = 0) -> Iterator[Member]:
    """The whole records of a file from ``start`` on, up to its end or to the first that is not whole.

    O(bytes); in memory is one record at a time.
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
    """Where a WARC record seems to begin at ``start`` or behind it; None if there is none. O(bytes).

    Finds the records behind a damaged one.
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
