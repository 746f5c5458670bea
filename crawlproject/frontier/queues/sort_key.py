"""Where a URL waits, as bytes that sort in the order of fetching; and the row that is kept there.

A place is 17 bytes: quality (8, higher first), priority (4, higher first), arrival (5, earlier first); where URLs are
fetched in order of arrival, quality comes last.  A row is depth, payload and the URL's path: 2 bytes and the path for
a link without payload.
"""

from __future__ import annotations

from hashlib import blake2b
from operator import itemgetter
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

PLACE_BYTES = 17
DIGEST_BYTES = 8
#: Priorities beyond do not fit.
MAX_PRIORITY = (1 << 31) - 1

_INVERTED = bytes(range(255, -1, -1))
_float = Struct(">d")
_order = Struct(">IBI")
_floats = {True: Struct(f">d{_order.size}x"), False: Struct(f">{_order.size}xd")}  # in places, by quality or not


class Place(NamedTuple):
    """What a place says of its URL."""

    quality: float
    priority: int
    arrival: int


def encode_place(place: Place, *, by_quality: bool) -> bytes:
    """``place`` as bytes. Raises ValueError for a priority beyond ±2³¹. O(1)."""
    quality, priority, arrival = place
    if not -MAX_PRIORITY <= priority <= MAX_PRIORITY:
        raise ValueError(f"priority={priority}: must be within ±{MAX_PRIORITY}")
    order = _order.pack(MAX_PRIORITY - priority, arrival >> 32, arrival & 0xFFFFFFFF)
    return _worth(quality) + order if by_quality else order + _worth(quality)


def decode_place(place: bytes, *, by_quality: bool) -> Place:
    """What ``encode_place`` wrote. O(1)."""
    priority, high, low = _order.unpack_from(place, _float.size if by_quality else 0)
    return Place(quality_of(place, by_quality=by_quality), MAX_PRIORITY - priority, high << 32 | low)


def with_quality(place: bytes, quality: float, *, by_quality: bool) -> bytes:
    """``place`` for another quality. O(1)."""
    return _worth(quality) + place[_float.size :] if by_quality else place[: _order.size] + _worth(quality)


def quality_of(place: bytes, *, by_quality: bool) -> float:
    """The quality of a place. O(1)."""
    quality: float = _floats[by_quality].unpack(place.translate(_INVERTED))[0]
    return quality


def qualities(places: bytes, *, by_quality: bool) -> Iterator[float]:
    """The qualities of places that lie one behind the other. O(length)."""
    return map(itemgetter(0), _floats[by_quality].iter_unpack(places.translate(_INVERTED)))


def _worth(quality: float) -> bytes:
    """Bytes that sort the higher quality first, as floats >= 0 sort like their bits."""
    return _float.pack(quality + 0.0).translate(_INVERTED)  # -0.0 + 0.0 is 0.0


class Row(NamedTuple):
    """What is stored of a queued URL besides its place."""

    path: str
    depth: int
    payload: bytes | None


def encode_row(row: Row) -> bytes:
    """``row`` as bytes. O(length)."""
    payload = row.payload
    head = _varint(row.depth) + (_varint(0) if payload is None else _varint(len(payload) + 1) + payload)
    return head + row.path.encode("utf-8", "surrogatepass")


def is_row_of(data: bytes, path: str) -> bool:
    """Whether a row found by the digest of ``path`` is its own: its path is the end of it. O(length)."""
    return data.endswith(path.encode("utf-8", "surrogatepass"))


def decode_row(data: bytes) -> Row:
    """What ``encode_row`` wrote. O(length)."""
    depth, at = _read_varint(data, 0)
    length, at = _read_varint(data, at)
    end = at + max(0, length - 1)
    return Row(data[end:].decode("utf-8", "surrogatepass"), depth, data[at:end] if length else None)


def url_digest(path: str) -> bytes:
    """8 bytes that stand for a URL of a server. O(length)."""
    return blake2b(path.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def _varint(number: int) -> bytes:
    """7 bits a byte, the lowest first."""
    if number < 0x80:
        return bytes((number,))
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
