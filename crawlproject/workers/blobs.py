"""Formats of what is stored in Redis: journal, snapshot, seen keys and messages, each a *blob*.

A blob is one byte of version, four of checksum, and columns, compressed (zstd): numbers, lengths and bytes of one kind
stand together.  Data may be damaged, or made to do harm: every function that reads raises BlobError then.  A result has
at most ``MAX_BYTES`` bytes and ``MAX_COUNT`` parts.
"""

from __future__ import annotations

import struct
import sys
import threading
from itertools import accumulate, pairwise
from math import isfinite
from typing import TYPE_CHECKING
from zlib import crc32

from crawlproject.frontier.entry import Entry

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Table -> key -> value; None removes the key.
Tables = dict[str, dict[bytes, bytes | None]]
Row = tuple[bytes, bytes]

#: Version of all blobs, their first byte.
VERSION = 1
#: Decompressed bytes of a blob, at most.
MAX_BYTES = 64 << 20
#: Rows or numbers of a column, at most.
MAX_COUNT = 1 << 20
#: Bytes of a URL in a message, at most.
MAX_URL = 65_536

_LEVEL = 3
_CRC_BYTES = 4
_NUMBER_BYTES = 4
_JOURNAL, _ROWS, _SEEN, _MESSAGE = range(4)  # kinds of blobs
_entry = struct.Struct(">diI")  # quality, priority, depth


class BlobError(ValueError):
    """A blob is of a newer version, damaged, or too large."""


def encode_journal(seq: int, tables: Tables) -> bytes:
    """The changes ``tables`` of a partition, the ``seq``-th ones. O(size log rows): 40 µs, and 1 µs a row.

    Raises BlobError if they are too large.
    """
    parts = [_row_columns(table, sorted(changes.items())) for table, changes in tables.items() if changes]
    return write_blob(_JOURNAL, [write_numbers([seq]), *(column for part in parts for column in part)])


def decode_journal(blob: bytes) -> tuple[int, Tables]:
    """The inverse of ``encode_journal``; the order of keys may differ. O(size). Raises BlobError."""
    seq, *columns = read_blob(_JOURNAL, blob)
    (number,) = read_numbers(seq, count=1)
    parts = (columns[start : start + _ROW_COLUMNS] for start in range(0, len(columns), _ROW_COLUMNS))
    return number, {table: dict(rows) for table, rows in map(_read_rows, parts)}


def encode_rows(table: str, rows: Sequence[Row]) -> bytes:
    """``rows`` of ``table``, best in key order. O(size): 1 µs a row. Raises BlobError if they are too large."""
    return write_blob(_ROWS, _row_columns(table, rows))


def decode_rows(blob: bytes) -> tuple[str, list[Row]]:
    """The inverse of ``encode_rows``; the order is kept. O(size). Raises BlobError."""
    table, rows = _read_rows(read_blob(_ROWS, blob))
    return table, [(key, row) for key, row in rows if row is not None]


def encode_seen(rows: Sequence[Row]) -> bytes:
    """Sorted seen keys, each with one byte or none. O(n): 0.5 µs a key; 8.3 bytes a key if a server has 50."""
    marks = b"".join([mark or b"\0" for _, mark in rows])
    return write_blob(_SEEN, [write_numbers([len(key) for key, _ in rows]), b"".join([key for key, _ in rows]), marks])


def decode_seen(blob: bytes) -> list[Row]:
    """The inverse of ``encode_seen``. O(n). Raises BlobError."""
    lengths, keys, marks = read_blob(_SEEN, blob, 3)
    found = split_lengths(read_numbers(lengths), keys)
    if len(marks) != len(found):
        raise BlobError("damaged: marks of seen keys")
    return [(key, bytes((mark,)) if mark else b"") for key, mark in zip(found, marks, strict=True)]


def encode_message(entries: Sequence[Entry]) -> bytes:
    """``entries`` for another worker; each payload is bytes or None, ``place`` is left out.

    O(size): 10 µs, and 1 µs an entry.  Raises ValueError for a priority or depth beyond 32 bits; BlobError if they
    are too large.
    """
    try:
        numbers = b"".join([_entry.pack(entry.quality, entry.priority, entry.depth) for entry in entries])
    except struct.error as error:
        raise ValueError(f"quality, priority or depth of an entry: {error}") from error
    urls = [(entry.url.encode("utf-8", "surrogatepass"), entry.payload) for entry in entries]
    return write_blob(_MESSAGE, [numbers, *_row_columns("", urls)])


def decode_message(blob: bytes) -> tuple[list[Entry], int]:
    """The inverse of ``encode_message``; and how many entries were skipped: those with a bad URL or number.

    O(size). Raises BlobError.
    """
    numbers, *columns = read_blob(_MESSAGE, blob)
    rows = _read_rows(columns)[1]
    if len(numbers) != len(rows) * _entry.size:
        raise BlobError("damaged: numbers of entries")
    entries = [
        Entry(url, quality, priority, depth, payload)
        for (text, payload), (quality, priority, depth) in zip(rows, _entry.iter_unpack(numbers), strict=True)
        if (url := _text(text)) and isfinite(quality) and quality >= 0.0
    ]
    return entries, len(rows) - len(entries)


def _text(url: bytes) -> str:
    try:
        return url.decode("utf-8", "surrogatepass") if len(url) <= MAX_URL else ""
    except UnicodeDecodeError:
        return ""


_ROW_COLUMNS = 5


def _row_columns(table: str, rows: Sequence[tuple[bytes, bytes | None]]) -> list[bytes]:
    """Five columns: name, lengths of keys, keys, lengths of values (0: None, else 1 more), values."""
    return [
        table.encode(),
        write_numbers([len(key) for key, _ in rows]),
        b"".join([key for key, _ in rows]),
        write_numbers([0 if row is None else len(row) + 1 for _, row in rows]),
        b"".join([row for _, row in rows if row is not None]),
    ]


def _read_rows(columns: Sequence[bytes]) -> tuple[str, list[tuple[bytes, bytes | None]]]:
    if len(columns) != _ROW_COLUMNS:
        raise BlobError("damaged: columns are missing")
    name, key_lengths, keys, value_lengths, values = columns
    sizes = read_numbers(key_lengths)
    lengths = read_numbers(value_lengths, len(sizes))
    parts = split_lengths([max(0, length - 1) for length in lengths], values)
    rows = (value if length else None for length, value in zip(lengths, parts, strict=True))
    try:
        return name.decode(), list(zip(split_lengths(sizes, keys), rows, strict=True))
    except UnicodeDecodeError as error:
        raise BlobError("damaged: name of a table") from error


# The parts of blobs


#: What a frame begins with; blobs leave it out.
_MAGIC = b"\x28\xb5\x2f\xfd"


class _Zstd(threading.local):
    """A compressor: expensive to create, and usable by one thread at a time."""

    def __init__(self) -> None:
        given = zstd.CompressionParameter
        options: dict[int, int] = {given.compression_level: _LEVEL, given.content_size_flag: 1, given.checksum_flag: 0}
        self._compressor = zstd.ZstdCompressor(options=options)

    def compress(self, data: bytes) -> bytes:
        """A frame without its magic number."""
        return self._compressor.compress(data, mode=zstd.ZstdCompressor.FLUSH_FRAME)[len(_MAGIC) :]


_zstd = _Zstd()


def _decompress(body: bytes) -> bytes:
    """Raises BlobError, ZstdError."""
    frame = _MAGIC + body
    size = zstd.get_frame_info(frame).decompressed_size
    if size is None or size > MAX_BYTES:
        raise BlobError("damaged: too large, or of unknown size")
    decompressor = zstd.ZstdDecompressor()
    data = decompressor.decompress(frame, max_length=MAX_BYTES)
    if not decompressor.eof or decompressor.unused_data:
        raise BlobError("damaged: not one frame")
    return data


def write_blob(kind: int, columns: Sequence[bytes]) -> bytes:
    """``columns`` as a blob of ``kind``: their number, their lengths, their data. O(size)."""
    data = b"".join([write_numbers([len(columns), *map(len, columns)]), *columns])
    if len(data) > MAX_BYTES:
        raise BlobError(f"too large: {len(data)} bytes")
    body = _zstd.compress(data)
    return bytes((VERSION,)) + crc32(body, kind).to_bytes(_CRC_BYTES, "big") + body


def read_blob(kind: int, blob: bytes, count: int | None = None) -> list[bytes]:
    """The columns of a blob of ``kind``, at least one; there must be ``count``, if given. O(size of the result)."""
    if not blob:
        raise BlobError("damaged: empty")
    if blob[0] > VERSION:
        raise BlobError(f"version {blob[0]}: this program knows versions up to {VERSION}; use a newer one")
    body = blob[1 + _CRC_BYTES :]
    if not blob[0] or crc32(body, kind).to_bytes(_CRC_BYTES, "big") != blob[1 : 1 + _CRC_BYTES]:
        raise BlobError("damaged, or of another kind: checksum differs")
    try:
        data = _decompress(body)
    except zstd.ZstdError as error:
        raise BlobError(f"damaged: {error}") from error
    number = int.from_bytes(data[:_NUMBER_BYTES], "little")
    head = _NUMBER_BYTES * (1 + number)
    if not number or len(data) < head or number > MAX_COUNT or (count is not None and number != count):
        raise BlobError(f"damaged: {number} columns")
    return split_lengths(read_numbers(data[_NUMBER_BYTES:head]), data[head:])


def write_numbers(numbers: Sequence[int]) -> bytes:
    """Integers below 2³², four bytes each: zstd leaves little of them. O(n). Raises BlobError if there are too many."""
    if len(numbers) > MAX_COUNT:
        raise BlobError(f"too many rows: {len(numbers)}")
    return struct.pack(f"<{len(numbers)}I", *numbers)


def read_numbers(data: bytes, count: int | None = None) -> Sequence[int]:
    """The inverse of ``write_numbers``; there must be ``count``, if given. O(n)."""
    number, rest = divmod(len(data), _NUMBER_BYTES)
    if rest or number > MAX_COUNT or (count is not None and number != count):
        raise BlobError(f"damaged: {len(data)} bytes of numbers")
    return struct.unpack(f"<{number}I", data)


def split_lengths(lengths: Iterable[int], data: bytes) -> list[bytes]:
    """``data`` split into parts of ``lengths``. O(size)."""
    ends = [0, *accumulate(lengths)]
    if ends[-1] != len(data):
        raise BlobError("damaged: lengths differ")
    return [data[start:end] for start, end in pairwise(ends)]
