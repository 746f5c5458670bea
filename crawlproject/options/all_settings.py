"""All families of settings, their defaults, and the check for misspelt names."""

from __future__ import annotations

import logging
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from scrapy.settings import default_settings

from crawlproject.options.console import ConsoleOptions
from crawlproject.options.duplicates import DuplicateOptions
from crawlproject.options.following import LinkOptions
from crawlproject.options.limits import LimitOptions, RobotsOptions
from crawlproject.options.monitor import MonitorOptions, ReportOptions
from crawlproject.options.network import NetworkOptions
from crawlproject.options.project_rules import POLITE
from crawlproject.options.records import RecordOptions
from crawlproject.options.redis import RedisOptions
from crawlproject.options.rendering import RenderOptions
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.options.seen import SeenOptions
from crawlproject.options.traps import TrapOptions
from crawlproject.options.warc import RepositorySettings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import BaseSettings

    from crawlproject.options.values import Options

logger = logging.getLogger(__name__)

FAMILIES: tuple[type[Options], ...] = (
    FrontierOptions,
    RedisOptions,
    LimitOptions,
    NetworkOptions,
    RobotsOptions,
    LinkOptions,
    TrapOptions,
    DuplicateOptions,
    SeenOptions,
    MonitorOptions,
    ReportOptions,
    ConsoleOptions,
    RepositorySettings,
    RecordOptions,
    RenderOptions,
)

#: Settings of scrapy-redis that only its own components read.
OF_SCRAPY_REDIS = ("REDIS_DECODE_RESPONSES", "REDIS_ITEMS_KEY", "REDIS_ITEMS_SERIALIZER")

#: Set by the add-on itself; settings of scrapy-redis and of scrapy-playwright.
OTHERS = frozenset(("FRONTIER_REQUEST_DELAY", "PLAYWRIGHT_LAUNCH_OPTIONS", *OF_SCRAPY_REDIS))

#: Setting of this project -> default; docs/settings.md and docs/limits.md list them.
DEFAULTS: dict[str, Any] = {"FRONTIER_PRESET": POLITE} | {
    name: default
    for family in FAMILIES
    for name, default in family.defaults().items()
    if name not in OTHERS and not hasattr(default_settings, name)
}

#: Prefix of this project's settings; those of scrapy-redis have their own.
PREFIX = "FRONTIER_"

#: Minimum similarity of a misspelt name to the right one: with the prefix, and without.
_SIMILAR, _VERY_SIMILAR = 0.8, 0.9
#: Minimum similarity of the names after the prefix.
_SIMILAR_END = 0.7


def check_names(settings: BaseSettings) -> None:
    """Raise ValueError for a misspelling of one of our settings; log a warning for unknown ones.

    A name with the prefix that resembles none of our names may be the project's own, as may one without.
    """
    for name in sorted(map(str, settings)):
        if name in DEFAULTS or name in OTHERS or name in vars(default_settings):
            continue
        is_ours = name.upper().startswith(PREFIX)
        meant = closest(name.upper(), DEFAULTS, _SIMILAR if is_ours else _VERY_SIMILAR)
        if is_ours and meant is not None and _ends_alike(name.upper(), meant):
            raise ValueError(f"{name}={settings[name]!r}: unknown setting; did you mean {meant}?")
        if meant is None and PREFIX + name in DEFAULTS:
            meant = PREFIX + name
        if meant is not None:
            logger.warning("Setting %s is not one of crawlproject's; did you mean %s?", name, meant)
        elif is_ours:
            logger.warning("Setting %s is not one of crawlproject's: nothing here reads it", name)


def _ends_alike(name: str, meant: str) -> bool:
    """Whether two names are alike after the prefix; FRONTIER_FILE and FRONTIER_LINKS_FILE are not."""
    end, right = name.removeprefix(PREFIX), meant.removeprefix(PREFIX)
    return end.startswith(right) or closest(end, [right], _SIMILAR_END) is not None


def closest(name: str, names: Iterable[str], similarity: float = 0.6) -> str | None:
    """The one of ``names`` that ``name`` most probably misspells, or None."""
    return next(iter(get_close_matches(name, list(names), 1, similarity)), None)
