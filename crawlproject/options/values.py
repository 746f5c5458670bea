"""Settings by name, checked: what is wrong is said with setting, value and choices."""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

#: Seconds of the units of ages.
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def age_seconds(name: str, value: Any) -> float:
    """An age in seconds: a number of them, or one with its unit, as ``90s``, ``30m``, ``12h``, ``7d``.

    Raises ValueError naming ``name`` for anything else.
    """
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smhd]?)", str(value).strip())
    if match is None or isinstance(value, bool):
        raise ValueError(f"{name}={value!r}: must be an age as 7d, 12h, 30m, 90s, or a number of seconds")
    return float(match[1]) * UNITS[match[2]]


class SettingValues:
    """Reads ``settings``, and ``defaults`` where they say nothing. Methods raise ValueError for a wrong value."""

    def __init__(self, settings: BaseSettings, defaults: Mapping[str, Any]) -> None:
        self._settings = settings
        self._defaults = defaults

    def value(self, name: str) -> Any:
        """As it is; 0.0 where there is neither a value nor a default."""
        value = self._settings.get(name)
        return self._defaults.get(name, 0.0) if value is None else value

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of ``choices``."""
        value = self.value(name)
        if value not in choices:
            raise ValueError(f"{name}={value!r}: must be one of {', '.join(choices)}")
        return str(value)

    def switch(self, name: str) -> bool:
        """On or off, as Scrapy reads it."""
        value = self.value(name)
        spelling = str(value).strip().lower()
        if spelling not in ("true", "1", "false", "0"):
            raise ValueError(f"{name}={value!r}: must be True or False")
        return spelling in ("true", "1")

    def number(self, name: str) -> float:
        """Any finite number >= 0."""
        value = self.value(name)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = -1.0
        if not (isfinite(number) and number >= 0):
            raise ValueError(f"{name}={value!r}: must be a number >= 0")
        return number

    def count(self, name: str, *, least: int) -> int:
        """A whole number >= ``least``."""
        value = self.value(name)
        try:
            number = int(value)
        except (TypeError, ValueError, OverflowError):
            number = least - 1
        if number < least or (isinstance(value, float) and value != number):
            raise ValueError(f"{name}={value!r}: must be a whole number >= {least}")
        return number

    def strings(self, name: str) -> list[str]:
        """A list of strings, or one string with commas between them."""
        value = self.value(name)
        if isinstance(value, str):
            value = value.split(",")
        if not isinstance(value, (list, tuple, set, frozenset, type(None))):
            raise ValueError(f"{name}={value!r}: must be a list, or a string with commas between its entries")
        return [str(entry).strip() for entry in value or () if str(entry).strip()]

    def ordered(self, low: str, high: str) -> None:
        """Two numbers, the first not above the second."""
        if self.number(low) > self.number(high):
            raise ValueError(f"{low}={self.value(low)!r}: must not be above {high}={self.value(high)!r}")

    def age(self, name: str) -> float | None:
        """An age in seconds (``age_seconds``), None where there is none."""
        value = self.value(name)
        return None if value is None or value == "" else age_seconds(name, value)
