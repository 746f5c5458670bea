"""The parts of blobs: columns of numbers, of texts and of bytes of equal width; their compression.

Data may be damaged, or made to do harm: every function that reads raises BlobError then.  A result has at most
``MAX_BYTES`` bytes and ``MAX_COUNT`` parts.
"""

from __future__ import annotations

import threading
from itertools import accumulate
from typing import TYPE_CHECKING
from zlib import crc32

import zstandard

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Version of all blobs, their first byte.
VERSION = 1
#: Decompressed bytes of a blob, at most.
MAX_BYTES = 64 << 20
#: Rows, texts or numbers of a column, at most.
MAX_COUNT = 1 << 20

_LEVEL = 3
#: Separates texts: UTF-8 has no such byte.
_SEPARATOR = b"\xff"
_CRC_BYTES = 4
_MAX_NUMBER_BITS = 63
_MAX_NUMBER_BYTES = 9
_MASK = 0xFFFFFFFF


class BlobError(ValueError):
    """A blob is of a newer version, damaged, or too large."""


class _Zstd(threading.local):
    """Compressor and decompressor: expensive to create, and usable by one thread at a time."""

    def __init__(self) -> None:
        parameters = zstandard.ZstdCompressionParameters.from_level(
            _LEVEL, format=zstandard.FORMAT_ZSTD1_MAGICLESS, write_content_size=1, write_checksum=0, write_dict_id=0
        )
        self.compress = zstandard.ZstdCompressor(compression_params=parameters).compress
        self.decompress = zstandard.ZstdDecompressor(format=zstandard.FORMAT_ZSTD1_MAGICLESS).decompress


_zstd = _Zstd()


def write_blob(kind: int, columns: Sequence[bytes]) -> bytes:
    """``columns`` as a blob of ``kind``, with version and checksum. O(size)."""
    body = pack(columns)
    if len(body) > MAX_BYTES:
        raise BlobError(f"too large: {len(body)} bytes")
    return bytes((VERSION,)) + crc32(body, kind).to_bytes(_CRC_BYTES, "big") + body


def read_blob(kind: int, blob: bytes, count: int) -> list[bytes]:
    """The ``count`` columns of a blob of ``kind``. O(size)."""
    if not blob:
        raise BlobError("damaged: empty")
    if blob[0] > VERSION:
        raise BlobError(f"version {blob[0]}: this program knows versions up to {VERSION}; use a newer one")
    start = 1 + _CRC_BYTES
    if not blob[0] or len(blob) > MAX_BYTES + start:
        raise BlobError("damaged")
    body = blob[start:]
    if crc32(body, kind).to_bytes(_CRC_BYTES, "big") != blob[1:start]:
        raise BlobError("damaged, or of another kind: checksum differs")
    columns = unpack(body)
    if len(columns) != count:
        raise BlobError(f"damaged: {len(columns)} columns instead of {count}")
    return columns


def zipped(data: bytes) -> bytes:
    """``data`` compressed. O(size). Raises BlobError if it is too large."""
    if len(data) > MAX_BYTES:
        raise BlobError(f"too large: {len(data)} bytes")
    return _zstd.compress(data)


def unzipped(data: bytes) -> bytes:
    """The inverse of ``zipped``. O(size of the result)."""
    try:
        size = zstandard.get_frame_parameters(data, format=zstandard.FORMAT_ZSTD1_MAGICLESS).content_size
        if size > MAX_BYTES:  # also if it is unknown
            raise BlobError("damaged: too large, or of unknown size")
        return _zstd.decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise BlobError(f"damaged: {error}") from error


def check_count(count: int) -> None:
    """Raises BlobError if there are more than ``MAX_COUNT``."""
    if count > MAX_COUNT:
        raise BlobError(f"too many rows: {count}")


def pack(columns: Sequence[bytes]) -> bytes:
    """``columns`` as bytes: their number, their lengths, their data. O(size)."""
    return b"".join([write_numbers([len(columns), *map(len, columns)]), *columns])


def unpack(data: bytes) -> list[bytes]:
    """The inverse of ``pack``. O(size)."""
    count, at = _read_number(data, 0)
    check_count(count)
    lengths = []
    for _ in range(count):
        length, at = _read_number(data, at)
        lengths.append(length)
    return split_lengths(lengths, data[at:])


def write_numbers(numbers: Sequence[int]) -> bytes:
    """Integers from 0 to 2⁶³: 7 bits per byte, lowest first. O(n). Raises BlobError if there are too many."""
    check_count(len(numbers))
    if not numbers or max(numbers) < 0x80:
        return bytes(numbers)
    data = bytearray()
    append = data.append
    for number in numbers:
        while number >= 0x80:
            append(number & 0x7F | 0x80)
            number >>= 7
        append(number)
    return bytes(data)


def read_numbers(data: bytes, count: int | None = None) -> list[int]:
    """The inverse of ``write_numbers``; there must be ``count``, if given. O(n)."""
    check_count(len(data) // _MAX_NUMBER_BYTES)
    numbers = []
    if data.isascii():
        numbers = list(data)
    else:
        at = 0
        while at < len(data):
            number, at = _read_number(data, at)
            numbers.append(number)
    check_count(len(numbers))
    if count is not None and len(numbers) != count:
        raise BlobError(f"damaged: {len(numbers)} numbers instead of {count}")
    return numbers


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(data) and shift < _MAX_NUMBER_BITS:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
    raise BlobError("damaged: incomplete number")


def deltas(numbers: Sequence[int]) -> list[int]:
    """Differences of 32-bit ``numbers``, modulo 2³². O(n)."""
    return [(number - last) & _MASK for last, number in zip((0, *numbers), numbers, strict=False)]


def from_deltas(differences: Sequence[int]) -> list[int]:
    """The inverse of ``deltas``. O(n)."""
    return list(accumulate(differences, lambda number, more: (number + more) & _MASK))


def join_texts(texts: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Two columns: lengths and texts.  UTF-8 has separators instead of lengths: a byte less per text. O(size)."""
    joined = _SEPARATOR.join(texts)
    if joined.count(_SEPARATOR) == max(0, len(texts) - 1):
        return b"", joined
    return write_numbers([len(text) for text in texts]), b"".join(texts)


def split_texts(lengths: bytes, texts: bytes, count: int) -> list[bytes]:
    """The inverse of ``join_texts``, for ``count`` texts. O(size)."""
    if lengths:
        return split_lengths(read_numbers(lengths, count), texts)
    if texts.count(_SEPARATOR) != max(0, count - 1) or (texts and not count):
        raise BlobError(f"damaged: not {count} texts")
    return texts.split(_SEPARATOR) if count else []


def split_lengths(lengths: Sequence[int], data: bytes) -> list[bytes]:
    """``data`` split into parts of ``lengths``. O(size)."""
    ends = list(accumulate(lengths))
    if (ends[-1] if ends else 0) != len(data):
        raise BlobError("damaged: lengths differ")
    return [data[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def planes(rows: bytes, width: int) -> bytes:
    """Rows of ``width`` bytes by position: which positions are constant, their bytes, the others' differences. O(size).

    The bytes of a sort key are mostly equal in all rows, or grow by one from row to row.
    """
    if not rows:
        return b""
    mask_bytes = (width + 7) // 8
    if len(rows) == width:
        return ((1 << width) - 1).to_bytes(mask_bytes, "big") + rows
    constant, steps = 0, []
    changed = _differences(rows[width:], rows[:-width])
    no_change = bytes(len(changed) // width)
    for position in range(width):
        plane = changed[position::width]
        if plane == no_change:
            constant |= 1 << position
            steps.append(rows[position : position + 1])
        else:
            steps.append(rows[position : position + 1] + plane)
    return constant.to_bytes(mask_bytes, "big") + b"".join(steps)


def _differences(one: bytes, other: bytes) -> bytes:
    """Each byte of ``one`` minus that of ``other``, modulo 256. O(length).

    In whole numbers, with the highest bit of each byte apart, so that no byte borrows from the next.
    """
    size = len(one)
    high = int.from_bytes(b"\x80" * size, "big")
    a, b = int.from_bytes(one, "big"), int.from_bytes(other, "big")
    return (((a | high) - (b & ~high)) ^ ((a ^ ~b) & high)).to_bytes(size, "big")


def rows_of_planes(data: bytes, width: int, count: int) -> bytes:
    """The inverse of ``planes``, for ``count`` rows. O(size)."""
    check_count(count)
    at = (width + 7) // 8 if count else 0
    constant = int.from_bytes(data[:at], "big")
    rows = bytearray(width * count)
    for position in range(width if count else 0):
        is_constant = constant >> position & 1
        length = 1 if is_constant else count
        plane, at = data[at : at + length], at + length
        if len(plane) != length:
            raise BlobError("damaged: rows are missing")
        rows[position::width] = plane * count if is_constant else _undo_steps(plane)
    if at != len(data):
        raise BlobError("damaged: too many bytes of rows")
    return bytes(rows)


def _undo_steps(steps: bytes) -> bytes:
    numbers = list(accumulate(steps, lambda last, step: (last + step) & 0xFF))
    return bytes(numbers)
