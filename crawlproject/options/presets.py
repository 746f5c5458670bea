"""``FRONTIER_PRESET``: bundles of politeness settings by name; all other settings take precedence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlproject.options.values import Reader

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

#: The default: the settings' own defaults.
POLITE = "polite"

PRESETS: dict[str, dict[str, Any]] = {
    # One connection per registered domain, open for at most an eleventh of the time (Mercator's factor); at least 5 s
    # between sessions of at most 20 requests; failing servers are left alone for minutes.
    "gentle": {
        "FRONTIER_POLITENESS_GROUP": "domain",
        "FRONTIER_DELAY_FACTOR": 10.0,
        "FRONTIER_MIN_DELAY": 5.0,
        "FRONTIER_MAX_DELAY": 300.0,
        "FRONTIER_MAX_BATCH": 20,
        "FRONTIER_MIN_BACKOFF": 30.0,
        "FRONTIER_MAX_BACKOFF": 1800.0,
        "FRONTIER_MAX_FAILURES": 5,
    },
    POLITE: {},
}


def apply_preset(settings: BaseSettings) -> None:
    """Set the preset's settings, below those of project, spider and command line. Raises ValueError."""
    preset = Reader(settings).choice("FRONTIER_PRESET", POLITE, tuple(PRESETS))
    for setting, value in PRESETS[preset].items():
        settings.set(setting, value, priority="addon")
