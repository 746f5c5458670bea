"""``FRONTIER_PRESET``: bundles of politeness settings by name; whatever else sets one of them wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlproject.options.values import SettingValues

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

DEFAULTS: dict[str, Any] = {"FRONTIER_PRESET": "polite"}

PRESETS: dict[str, dict[str, Any]] = {
    # One connection per registered domain, open for at most an eleventh of the time (Mercator's factor), a request per
    # 5 s at most after each session of 20, and servers in trouble are left alone for minutes.
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
    # A server of one's own: one connection, never idle. robots.txt and its Crawl-delay still hold.
    "own-site": {
        "FRONTIER_DELAY_FACTOR": 0.0,
        "FRONTIER_MIN_DELAY": 0.0,
        "FRONTIER_MIN_BACKOFF": 1.0,
        "FRONTIER_MAX_BACKOFF": 30.0,
    },
}


def apply_preset(settings: BaseSettings) -> None:
    """Set what the preset says, below whatever project, spider and command line set. Raises ValueError."""
    name = SettingValues(settings, DEFAULTS).choice("FRONTIER_PRESET", tuple(PRESETS))
    for setting, value in PRESETS[name].items():
        settings.set(setting, value, priority="addon")
