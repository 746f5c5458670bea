"""Converts what the frontier has learned to and from plain values (JSON types), which its store keeps.

Keys and values are part of the store's format (``storage.directory.FORMAT``).
"""

from __future__ import annotations

import sys
from array import array
from base64 import b64decode, b64encode
from enum import Enum
from sys import float_info
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing import Self

MAX_FLOAT = float_info.max


class Stored:
    """An object of which some attributes are stored: the values ``STATE``, and ``PARTS``, which are such objects.

    The key of an attribute is its name without a leading underscore.  A part may be None before an observation.
    """

    __slots__ = ()
    STATE: ClassVar[tuple[str, ...]] = ()
    PARTS: ClassVar[dict[str, type[Stored]]] = {}

    def to_state(self) -> dict[str, Any]:
        """As plain values."""
        parts = ((name, getattr(self, name)) for name in self.PARTS)
        state = {name.lstrip("_"): getattr(self, name) for name in self.STATE}
        return state | {name: part.to_state() for name, part in parts if part is not None}

    def restore(self, state: Any) -> None:
        """Take over the result of ``to_state``; missing values stay.

        Raises ValueError for a value of another type than the attribute has.
        """
        if type(state) is not dict:
            raise ValueError(f"{type(self).__name__}={str(state)[:60]!r}: must be an object")
        for name in self.STATE:
            key = name.lstrip("_")
            if key in state:
                setattr(self, name, _checked(key, state[key], getattr(self, name)))
        for name, kind in self.PARTS.items():
            if name in state:
                part = getattr(self, name)
                part = kind() if part is None else part
                part.restore(state[name])
                setattr(self, name, part)

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Inverse of ``to_state``; raises ValueError for anything else."""
        made = cls()
        made.restore(state)
        return made


def _checked(key: str, value: Any, now: Any) -> Any:
    """``value``, if it may replace the value ``now``: finite if a number, not negative if a whole one."""
    kind: type[Any] = str if now is None else type(now)
    if kind is float and type(value) in (float, int) and -MAX_FLOAT <= value <= MAX_FLOAT:
        return float(value)
    if type(value) is kind and kind is not float and not (kind is int and value < 0):
        return value
    if issubclass(kind, Enum) or (kind is tuple and type(value) is list and len(value) == len(now)):
        return kind(value)
    raise ValueError(f"{key}={str(value)[:60]!r}: must be a valid {kind.__name__}")


def packed(hashes: array[int]) -> str:
    """Hashes of 32 bits as text: base64, the lowest byte first. O(length)."""
    return b64encode(_little_endian(hashes).tobytes()).decode()


def unpacked(text: str) -> array[int]:
    """Inverse of ``packed``; raises ValueError, or TypeError, for anything else."""
    return _little_endian(array("I", b64decode(text, validate=True)))


def _little_endian(hashes: array[int]) -> array[int]:
    if sys.byteorder == "big":
        hashes = hashes[:]
        hashes.byteswap()
    return hashes
