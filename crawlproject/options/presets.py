"""``FRONTIER_PRESET``: bundles of politeness settings by name; settings made anywhere else win over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlproject.options.values import Options

if TYPE_CHECKING:
    from typing import Self

    from scrapy.settings import BaseSettings

    from crawlproject.options.values import Reader

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
    # The defaults.
    "polite": {},
    # For one's own server: one connection, never idle. robots.txt and its Crawl-delay still hold.
    "own-site": {
        "FRONTIER_DELAY_FACTOR": 0.0,
        "FRONTIER_MIN_DELAY": 0.0,
        "FRONTIER_MIN_BACKOFF": 1.0,
        "FRONTIER_MAX_BACKOFF": 30.0,
    },
}


@dataclass(frozen=True)
class PresetOptions(Options):
    """The preset chosen."""

    settings: dict[str, Any]

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """See ``Options``."""
        return cls(PRESETS[reader.choice("FRONTIER_PRESET", "polite", tuple(PRESETS))])


def apply_preset(settings: BaseSettings) -> None:
    """Set the preset's settings, below those of project, spider and command line. Raises ValueError."""
    for setting, value in PresetOptions.from_settings(settings).settings.items():
        settings.set(setting, value, priority="addon")
