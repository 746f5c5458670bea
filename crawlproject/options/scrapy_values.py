"""Checks the values of Scrapy's own settings: Scrapy's errors do not name the setting. Finds the add-on in them."""

from __future__ import annotations

import logging
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.settings import default_settings
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

#: The add-on of this package, in ``ADDONS``.
ADDON = "crawlproject.addon.FrontierAddon"
#: The line of the settings that enables it.
ENABLED = f"ADDONS = {{{ADDON!r}: 300}}"

#: Larger than any number of concurrent requests: ``CONCURRENT_REQUESTS_PER_DOMAIN``, unless the project sets it.
NO_LIMIT = 1 << 30

#: Setting -> its default, of those that are numbers, and of those that are True or False.
_DEFAULTS = {name: value for name, value in vars(default_settings).items() if name.isupper()}
SWITCHES = [name for name, value in _DEFAULTS.items() if isinstance(value, bool) or name.endswith("_ENABLED")]
NUMBERS = [name for name, value in _DEFAULTS.items() if isinstance(value, (int, float)) and name not in SWITCHES]


def check_scrapy_values(settings: BaseSettings) -> None:
    """Raise ValueError for a value that Scrapy cannot read as the number, or the switch, that its default is.

    None is left to Scrapy, which accepts it in some places.
    """
    for name in SWITCHES:
        try:
            settings.getbool(name)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{name}={settings[name]!r}: must be True or False") from error
    for name in NUMBERS:
        if settings[name] is not None and not _is_number(settings[name]):
            raise ValueError(f"{name}={settings[name]!r}: must be a number")


def check_log(settings: BaseSettings) -> None:
    """Raise ValueError for a ``LOG_LEVEL`` that is unknown, and for a ``LOG_FILE`` that cannot be written."""
    level = settings.get("LOG_LEVEL")
    if isinstance(level, str) and level not in logging.getLevelNamesMapping():
        raise ValueError(f"LOG_LEVEL={level!r}: must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL")
    if file := settings.get("LOG_FILE"):
        try:
            if not Path(file).is_fifo():  # /dev/stdout may be one; its reader would take this for the end of the log
                Path(file).open("ab").close()
        except OSError as error:
            raise ValueError(f"LOG_FILE={str(file)!r}: {error.strerror}") from error


def has_addon(settings: BaseSettings) -> bool:
    """Whether ``ADDONS`` has the add-on, or a subclass of it."""
    chosen = [addon for addon, order in settings.getdict("ADDONS").items() if order is not None]
    bases = {base for addon in chosen for base in load_object(addon).__mro__}
    return ADDON in {f"{base.__module__}.{base.__qualname__}" for base in bases}


def _is_number(value: object) -> bool:
    try:
        return not isnan(float(value))  # type: ignore[arg-type]  # that is the question
    except (TypeError, ValueError, OverflowError):
        return False
