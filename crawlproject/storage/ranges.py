"""Ranges of keys that begin with a server's number."""

from __future__ import annotations

from struct import Struct

_number = Struct(">I")

#: Above the last number: it sorts after every key.
_AFTER_ALL = b"\xff" * 64


def number_range(first: int, end: int) -> tuple[bytes, bytes]:
    """The keys of the servers ``first`` to ``end`` - 1 in a table: (first key, key after the last).

    Numbers have 32 bits.  Raises ValueError unless 0 <= first <= end <= 2**32.
    """
    if not 0 <= first <= end <= 1 << 32:
        raise ValueError(f"first={first}, end={end}: not a range of server numbers")
    return _bound(first), _bound(end)


def _bound(number: int) -> bytes:
    return _number.pack(number) if number < 1 << 32 else _AFTER_ALL
