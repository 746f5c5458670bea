"""Reads stored state: plain values (JSON types) by key; checks type and bounds of each.

Keys are part of the store's format, not attribute names.  A missing key means the value of a
new object, so values may be added without a new version.
"""

from __future__ import annotations

import sys
from array import array
from base64 import b64decode, b64encode
from functools import partial
from sys import float_info
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

MAX_FLOAT = float_info.max
#: Maximum characters quoted of a wrong value.
MAX_QUOTED = 60


class StateReader:
    """The values of one stored object; ``name`` stands for it in error messages.

    Every method raises ValueError, naming the key, for a value of another type or out of bounds.
    """

    __slots__ = ("_name", "_values")

    def __init__(self, name: str, values: object) -> None:
        if not isinstance(values, dict):
            raise ValueError(f"{name}={_quoted(values)}: must be an object")
        self._name = name
        self._values: dict[str, Any] = values

    def part(self, key: str) -> StateReader | None:
        """The object stored under ``key``, if there is one."""
        value = self._values.get(key)
        return None if value is None else StateReader(f"{self._name}.{key}", value)

    def raw(self, key: str) -> Any:
        """The unchecked value of ``key``; None if there is none."""
        return self._values.get(key)

    def number(self, key: str, default: float, *, minimum: float = -MAX_FLOAT) -> float:
        """A finite number of at least ``minimum``."""
        value = self._values.get(key, default)
        if type(value) not in (float, int) or not minimum <= value <= MAX_FLOAT:
            raise self._error(key, value, f"a finite number >= {minimum:g}")
        return float(value)

    def count(self, key: str, default: int) -> int:
        """A whole number >= 0."""
        value = self._values.get(key, default)
        if type(value) is not int or value < 0:
            raise self._error(key, value, "a whole number >= 0")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._values.get(key, default)
        if type(value) is not bool:
            raise self._error(key, value, "true or false")
        return value

    def text(self, key: str, default: str) -> str:
        """A string."""
        value = self._values.get(key, default)
        if type(value) is not str:
            raise self._error(key, value, "a string")
        return value

    def texts(self, key: str) -> list[str]:
        """A list of strings, empty if there is none."""
        return list(map(str, self.items(key)))

    def numbers(self, key: str, default: Sequence[float]) -> tuple[float, ...]:
        """As many finite numbers as ``default`` has."""
        value = self._values.get(key, default)
        if not _are_numbers(value, len(default)):
            raise self._error(key, value, f"{len(default)} finite numbers")
        return tuple(map(float, value))

    def items(self, key: str) -> list[Any]:
        """A list, empty if there is none."""
        value = self._values.get(key, [])
        if type(value) is not list:
            raise self._error(key, value, "a list")
        return value

    def rows(self, key: str, width: int) -> list[Sequence[float]]:
        """A list of rows of ``width`` finite numbers each, empty if there is none."""
        rows = self.items(key)
        if not all(_are_numbers(row, width) for row in rows):
            raise self._error(key, rows, f"rows of {width} finite numbers")
        return rows

    def counts(self, key: str, *, minimum: int = 0) -> dict[str, int]:
        """Whole numbers of at least ``minimum`` by name, empty if there are none."""
        value = self._values.get(key, {})
        if type(value) is not dict or any(type(each) is not int or each < minimum for each in value.values()):
            raise self._error(key, value, f"whole numbers >= {minimum} by name")
        return dict(value)

    def _error(self, key: str, value: object, wanted: str) -> ValueError:
        return ValueError(f"{self._name}.{key}={_quoted(value)}: must be {wanted}")


#: Checks of the values of ``Stored.STATE``.
number, count, flag, text = StateReader.number, StateReader.count, StateReader.flag, StateReader.text
positive = partial(StateReader.number, minimum=0.0)

#: Key, attribute, and check of its value.
Fields = tuple[tuple[str, str, "Callable[[StateReader, str, Any], Any]"], ...]


def restore(thing: object, fields: Fields, state: StateReader) -> None:
    """Set the attributes of ``thing`` that ``fields`` names; a missing one stays. Raises ValueError."""
    for key, name, check in fields:
        setattr(thing, name, check(state, key, getattr(thing, name)))


class Stored:
    """An object whose state is some of its attributes: ``STATE``."""

    __slots__ = ()
    STATE: ClassVar[Fields] = ()

    def to_state(self) -> dict[str, Any]:
        """As plain values."""
        return {key: getattr(self, name) for key, name, _ in self.STATE}

    def restore(self, state: StateReader) -> None:
        """Restore the result of ``to_state`` into a new object; raises ValueError for anything else."""
        restore(self, self.STATE, state)

    @classmethod
    def from_state(cls, state: StateReader) -> Self:
        """Inverse of ``to_state``; raises ValueError for anything else."""
        made = cls()
        made.restore(state)
        return made


def _are_numbers(value: object, count: int) -> bool:
    if not isinstance(value, list | tuple) or len(value) != count:
        return False
    return all(type(each) in (float, int) and -MAX_FLOAT <= each <= MAX_FLOAT for each in value)


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"


def packed(hashes: array[int]) -> str:
    """Hashes of 32 bits as text: base64, the lowest byte first. O(length)."""
    return b64encode(_little_endian(hashes).tobytes()).decode()


def unpacked(text: str) -> array[int]:
    """Inverse of ``packed``; raises ValueError, or TypeError, for anything else."""
    return _little_endian(array("I", b64decode(text, validate=True)))


def _little_endian(hashes: array[int]) -> array[int]:
    """``hashes`` converted to or from the store's byte order; ``hashes`` itself on most machines."""
    if sys.byteorder == "big":
        hashes = hashes[:]
        hashes.byteswap()
    return hashes
