"""Encodes the sort key of a stored URL (bytes that sort in fetch order) and the row stored under it.

A sort key is 17 bytes: quality (8, higher first), priority (4, higher first), arrival (5, earlier first); if URLs are
fetched in order of arrival, quality comes last.  A row is depth, payload and the URL's path: 2 bytes plus the path
for a link without a payload.  Both are part of the store's format (``storage.directory.FORMAT``).
"""

from __future__ import annotations

from hashlib import blake2b
from operator import itemgetter
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SORT_KEY_BYTES = 17
DIGEST_BYTES = 8
#: Largest priority that fits into a sort key.
MAX_PRIORITY = (1 << 31) - 1
#: Priority of a demoted URL, which identifies it in the queue, and the factor on its quality.
DEMOTED, DEMOTION = -1, 1e-9
#: Priority of a demoted URL that leads to a page known under another address.  No retry has it.
OTHER_NAME = -(1 << 20)
#: Priorities of URLs that wait until all others are fetched.
WAITING = frozenset((DEMOTED, OTHER_NAME))

_INVERTED = bytes(range(255, -1, -1))
#: By depth: what precedes the path in the row of a URL without payload.
_PLAIN_HEADS = [bytes((depth, 0)) for depth in range(0x80)]
_float = Struct(">d")
_order = Struct(">IBI")
#: Starts of the order of demoted URLs.
_DEMOTED = tuple(Struct(">I").pack(MAX_PRIORITY - priority) for priority in (DEMOTED, OTHER_NAME))
#: Reads the quality in a sort key; index: whether quality comes first.
_qualities = {True: Struct(f">d{_order.size}x"), False: Struct(f">{_order.size}xd")}


class SortKey(NamedTuple):
    """Decoded sort key of a URL."""

    quality: float
    priority: int
    arrival: int


def encode_sort_key(quality: float, priority: int, arrival: int, *, by_quality: bool) -> bytes:
    """Encode a ``SortKey``. Raises ValueError for a priority beyond ±(2³¹ - 1). O(1)."""
    if not -MAX_PRIORITY <= priority <= MAX_PRIORITY:
        raise ValueError(f"priority={priority}: must be within ±{MAX_PRIORITY}")
    order = _order.pack(MAX_PRIORITY - priority, arrival >> 32, arrival & 0xFFFFFFFF)
    worth = _float.pack(quality + 0.0).translate(_INVERTED)  # as ``encode_quality``
    return worth + order if by_quality else order + worth


def gain_of(data: bytes, gain: float, *, by_quality: bool = False) -> float:
    """What a link of this ``gain`` adds to the quality of a URL, whose priority ``data`` begins with, or its quality.

    A demoted URL stays behind all others however many links lead to it: all pages of a trap link to each other.
    """
    return gain * DEMOTION if data.startswith(_DEMOTED, _float.size if by_quality else 0) else gain


def decode_sort_key(sort_key: bytes, *, by_quality: bool) -> SortKey:
    """Inverse of ``encode_sort_key``. O(1)."""
    priority, high, low = _order.unpack_from(sort_key, _float.size if by_quality else 0)
    return SortKey(quality_of(sort_key, by_quality=by_quality), MAX_PRIORITY - priority, high << 32 | low)


def with_quality(sort_key: bytes, quality: float, *, by_quality: bool) -> bytes:
    """``sort_key`` with another quality. O(1)."""
    if by_quality:
        return encode_quality(quality) + sort_key[_float.size :]
    return sort_key[: _order.size] + encode_quality(quality)


def quality_of(sort_key: bytes, *, by_quality: bool) -> float:
    """The quality in a sort key. O(1)."""
    quality: float = _qualities[by_quality].unpack(sort_key.translate(_INVERTED))[0]
    return quality


def qualities(sort_keys: bytes, *, by_quality: bool) -> Iterator[float]:
    """The qualities in concatenated sort keys. O(length)."""
    return map(itemgetter(0), _qualities[by_quality].iter_unpack(sort_keys.translate(_INVERTED)))


def encode_quality(quality: float) -> bytes:
    """8 bytes that sort higher qualities first: the bits of floats >= 0 sort as the floats do."""
    return _float.pack(quality + 0.0).translate(_INVERTED)  # -0.0 + 0.0 is 0.0


def quality_in(data: bytes, at: int) -> float:
    """The quality that ``encode_quality`` wrote at this place."""
    quality: float = _float.unpack(data[at : at + _float.size].translate(_INVERTED))[0]
    return quality


class Row(NamedTuple):
    """The data stored under a URL's sort key."""

    path: str
    depth: int
    payload: bytes | None


def encode_row(path: bytes, depth: int, payload: bytes | None) -> bytes:
    """Encode a ``Row``, its path encoded already (``encode_path``). O(length)."""
    if payload is None:
        return (_PLAIN_HEADS[depth] if 0 <= depth < 0x80 else _varint(depth) + b"\0") + path
    return _varint(depth) + _varint(len(payload) + 1) + payload + path


def is_row_of(data: bytes, path: str) -> bool:
    """Whether a row found by the digest of ``path`` belongs to ``path``: a row ends with its path. O(length)."""
    return data.endswith(encode_path(path))


def decode_row(data: bytes) -> Row:
    """Inverse of ``encode_row``. O(length)."""
    if data[1:2] == b"\0" and data[0] < 0x80:  # no payload, as nearly all links
        return Row(data[2:].decode("utf-8", "surrogatepass"), data[0], None)
    depth, at = _read_varint(data, 0)
    length, at = _read_varint(data, at)
    end = at + max(0, length - 1)
    return Row(data[end:].decode("utf-8", "surrogatepass"), depth, data[at:end] if length else None)


def encode_path(path: str) -> bytes:
    """``path`` as it stands in a row. O(length)."""
    return path.encode() if path.isascii() else path.encode("utf-8", "surrogatepass")


def url_digest(path: str) -> bytes:
    """8 bytes that identify a URL among those of its server. O(length)."""
    return path_digest(encode_path(path))


def path_digest(path: bytes) -> bytes:
    """``url_digest`` of an encoded path."""
    return blake2b(path, digest_size=DIGEST_BYTES).digest()


def _varint(number: int) -> bytes:
    """Encode 7 bits per byte, lowest first."""
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


def best_rate(losses: Iterable[float], setup: float, page_time: float, bonus: float) -> float:
    """The maximum of worth per second over the prefixes of a queue (Sidney 1975), by which ``prefix`` ranks. O(k).

    ``losses``: the queue's qualities, negated, best first.  The ratio rises, then falls: the search ends there.
    """
    time = setup
    worth = best = 0.0
    for loss in losses:
        worth += bonus - loss
        time += page_time
        if worth <= best * time:
            break
        best = worth / time
    return best
