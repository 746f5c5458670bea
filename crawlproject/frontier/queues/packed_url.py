"""A queued URL without its quality in one bytes object: its order, its depth or the place of its other data, its path.

Packed URLs of equal quality sort in the order in which they are fetched.  One takes 43 bytes and the path; as a tuple
of numbers and text it took 150 to 180.  In a heap the quality is part of it.
"""

from __future__ import annotations

from struct import Struct, error
from typing import Any

from crawlproject.frontier.queues.sort_key import MAX_PRIORITY, encode_quality, quality_in

#: Priority (higher first), arrival (40 bits), depth.
_head = Struct(">IBIB")
_HEAD = _head.size
_ORDER = _HEAD - 1
_QUALITY = 8
_UNUSUAL = 0xFF
_SLOT_BYTES = 4


class Extras:
    """Depth and payload of the URLs of a queue that have a payload, or an unusual depth; by slots that are reused."""

    __slots__ = ("_free", "_held")

    def __init__(self) -> None:
        self._held: list[tuple[int, Any] | None] = []
        self._free: list[int] = []

    def add(self, depth: int, payload: Any) -> int:
        """The slot for these. O(1)."""
        if self._free:
            slot = self._free.pop()
            self._held[slot] = (depth, payload)
        else:
            slot = len(self._held)
            self._held.append((depth, payload))
        return slot

    def get(self, slot: int, *, remove: bool) -> tuple[int, Any]:
        """The content of ``slot``, which is free afterwards if ``remove``. O(1)."""
        held = self._held[slot]
        assert held is not None
        if remove:
            self._held[slot] = None
            self._free.append(slot)
        return held


def packed(path: bytes, priority: int, arrival: int, depth: int, slot: int | None = None) -> bytes:
    """The URL of this encoded ``path``; ``slot``: of its extras, if it has any (``is_usual``).

    Raises ValueError for a priority beyond ±(2³¹ - 1).  O(length).
    """
    if slot is not None:
        depth, path = _UNUSUAL, slot.to_bytes(_SLOT_BYTES, "big") + path
    try:
        return _head.pack(MAX_PRIORITY - priority, arrival >> 32, arrival & 0xFFFFFFFF, depth) + path
    except error:
        raise ValueError(f"priority={priority}: must be within ±{MAX_PRIORITY}") from None


def is_usual(depth: int, payload: Any) -> bool:
    """Whether these fit into a packed URL; if not, it holds their slot in ``Extras``."""
    return payload is None and type(depth) is int and 0 <= depth < _UNUSUAL


def path_in(url: bytes) -> bytes:
    """The encoded path of a packed URL."""
    return url[_HEAD:] if url[_ORDER] != _UNUSUAL else url[_HEAD + _SLOT_BYTES :]


def arrival_in(url: bytes) -> int:
    """The arrival number of a packed URL."""
    _, high, low, _ = _head.unpack_from(url)
    arrival: int = high << 32 | low
    return arrival


def read(url: bytes, extras: Extras, *, remove: bool) -> tuple[bytes, int, int, Any]:
    """Encoded path, priority, depth and payload of a packed URL; ``remove``: it leaves the queue."""
    inverted, _, _, depth = _head.unpack_from(url)
    path, payload = url[_HEAD:], None
    if depth == _UNUSUAL:
        depth, payload = extras.get(int.from_bytes(path[:_SLOT_BYTES], "big"), remove=remove)
        path = path[_SLOT_BYTES:]
    return path, MAX_PRIORITY - inverted, depth, payload


def with_loss(url: bytes, loss: float, *, by_quality: bool) -> bytes:
    """The packed URL with its quality, ``-loss``; sorts by quality, then by order, or the other way round."""
    quality = encode_quality(-loss)
    return quality + url if by_quality else url[:_ORDER] + quality + url[_ORDER:]


def without_loss(item: bytes, *, by_quality: bool) -> tuple[bytes, float]:
    """Inverse of ``with_loss``."""
    if by_quality:
        return item[_QUALITY:], -quality_in(item, 0)
    return item[:_ORDER] + item[_ORDER + _QUALITY :], -quality_in(item, _ORDER)
