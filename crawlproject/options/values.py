"""Reads settings: one ``Reader`` with a method for each kind of value, one base class for parsed settings.

A family of settings is a frozen dataclass derived from ``Options``.  It has one line for each setting: field, name,
default and check.  Everything else follows from it: the table of defaults, the check at the start, the values.
"""

from __future__ import annotations

import json
import re
from dataclasses import field, fields
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast
from weakref import WeakKeyDictionary

from scrapy.settings import BaseSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Concatenate, Self

    from scrapy.crawler import Crawler

T = TypeVar("T")
P = ParamSpec("P")

#: Seconds of the units of ages.
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def age_seconds(name: str, value: Any) -> float:
    """An age in seconds: a number of them, or one with its unit, such as ``90s``, ``30m``, ``12h``, ``7d``.

    Raises ValueError naming ``name`` for anything else.
    """
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smhd]?)", str(value).strip())
    if match is None or isinstance(value, bool):
        raise ValueError(f"{name}={value!r}: must be an age such as 7d, 12h, 30m, 90s, or a number of seconds")
    return float(match[1]) * UNITS[match[2]]


class Reader:
    """Reads settings by name. Each method takes the default, and raises ValueError for a wrong value.

    The message names the setting, its value and what is allowed.
    """

    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings
        #: Setting -> default, of the settings read so far; Scrapy's own are among them.
        self.defaults: dict[str, Any] = {}

    def value(self, name: str, default: Any = None) -> Any:
        """Unchecked; None counts as not set."""
        self.defaults[name] = default
        value = self._settings.get(name)
        value = dict(value) if isinstance(value, BaseSettings) else value  # as which Scrapy stores some dicts
        return default if value is None else value

    def is_set(self, name: str) -> bool:
        """Whether the project sets ``name``, which may have a default in Scrapy."""
        return self._settings.get(name) is not None and (self._settings.getpriority(name) or 0) > 0

    def wrong(self, name: str, allowed: str) -> ValueError:
        """The error to raise for the value of a setting."""
        return ValueError(f"{name}={self.value(name, self.defaults[name])!r}: must be {allowed}")

    def check_order(self, low: str, high: str) -> None:
        """Raise ValueError if the first of two numbers, read before, is above the second."""
        least, most = (self.value(name, self.defaults[name]) for name in (low, high))
        if float(least) > float(most):
            raise ValueError(f"{low}={least!r}: must not be above {high}={most!r}")

    def choice(self, name: str, default: str | None, choices: tuple[T, ...]) -> T:
        """One of the texts ``choices``."""
        value = self.value(name, default)
        if value not in choices:
            raise self.wrong(name, f"one of {', '.join(map(str, choices))}")
        return cast("T", value)

    def switch(self, name: str, default: bool) -> bool:
        """True or False, also as text or 1 and 0."""
        spelling = str(self.value(name, default)).strip().lower()
        if spelling not in ("true", "1", "false", "0"):
            raise self.wrong(name, "True or False")
        return spelling in ("true", "1")

    def number(self, name: str, default: float, least: float = 0.0, most: float = inf) -> float:
        """A finite number from ``least`` to ``most``."""
        try:
            number = float(self.value(name, default))
        except (TypeError, ValueError):
            number = -1.0
        if not (isfinite(number) and least <= number <= most):
            raise self.wrong(name, f"a number >= {least:g}{'' if most == inf else f' and <= {most:g}'}")
        return number

    def positive(self, name: str, default: float, most: float = inf) -> float:
        """A number above 0, and at most ``most``."""
        number = self.number(name, default)
        if not 0 < number <= most:
            raise self.wrong(name, "above 0" if most == inf else f"above 0 and at most {most:g}")
        return number

    def count(self, name: str, default: int | None, least: int = 0, most: int | None = None) -> int:
        """A whole number >= ``least``, and <= ``most``."""
        value = self.value(name, default)
        try:
            number = int(value)
        except (TypeError, ValueError, OverflowError):
            number = least - 1
        if number < least or (isinstance(value, float) and value != number):
            raise self.wrong(name, f"a whole number >= {least}")
        if most is not None and number > most:
            raise self.wrong(name, f"at most {most}")
        return number

    def strings(self, name: str, default: Any = None, *, unset: Iterable[str] = ()) -> tuple[str, ...]:
        """A list of strings, or one string with commas; ``unset`` where neither a value nor a default is given."""
        value = self.value(name, default)
        if value is None:
            return tuple(unset)
        if isinstance(value, str):
            value = value.split(",")
        if not isinstance(value, (list, tuple, set, frozenset)):
            raise self.wrong(name, "a list, or a string with commas between its entries")
        return tuple(entry for each in value if (entry := str(each).strip()))

    def path(self, name: str) -> Path | None:
        """A path; None if not set, or empty."""
        value = self.value(name)
        if value is not None and not isinstance(value, (str, Path)):
            raise self.wrong(name, "a path")
        return Path(value) if value else None

    def path_in_job(self, name: str) -> Path | None:
        """A path; a relative one is taken within ``JOBDIR``, if that is set."""
        path, job = self.path(name), self.path("JOBDIR")
        return job / path if job and path else path

    def dictionary(self, name: str) -> dict[str, Any]:
        """A new dict; text is read as JSON."""
        value = self.value(name, {})
        try:
            found = json.loads(value) if isinstance(value, str) else value
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise self.wrong(name, "a dict, or JSON of one")
        return {str(key): entry for key, entry in found.items()}

    def parsed(self, name: str, value: Any, parse: Callable[[Any], T]) -> T:
        """What ``parse`` makes of ``value``, or of an entry in it; the name is added to its ValueError."""
        try:
            return parse(value)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ValueError(f"{name}={str(value)!r:.200}: {reason}") from error

    def age(self, name: str) -> float | None:
        """An age in seconds (``age_seconds``); None if not set."""
        value = self.value(name)
        return None if value is None or value == "" else age_seconds(name, value)


def setting(read: Callable[Concatenate[Reader, P], T], *arguments: P.args, **named: P.kwargs) -> T:
    """A field of a family of settings; ``read``, a method of ``Reader`` or a function of one, gives its value."""
    return cast("T", field(metadata={"read": lambda reader: read(reader, *arguments, **named)}))


class Options:
    """A family of settings, parsed and checked. Subclasses are frozen dataclasses; their fields are ``setting``."""

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read every setting of the family, whatever the others say. Raises ValueError for a wrong value."""
        return cls(**{each.name: each.metadata["read"](reader) for each in fields(cast("Any", cls))})

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Without a crawler: parsed at each call. Raises ValueError for a wrong value."""
        return cls.read(Reader(settings))

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        """The options of a crawl: parsed once when Scrapy has frozen the settings, before that at each call.

        Spider and add-ons may change settings until then.  Raises ValueError for a wrong value.
        """
        parsed = _parsed.setdefault(crawler, {})
        options: Self = parsed.get(cls) or cls.from_settings(crawler.settings)
        if crawler.settings.frozen:
            parsed[cls] = options
        return options

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Setting -> default, of all settings that the family reads; those of Scrapy are among them."""
        reader = Reader(Settings())
        cls.read(reader)
        return reader.defaults


_parsed: WeakKeyDictionary[Crawler, dict[type[Options], Any]] = WeakKeyDictionary()
