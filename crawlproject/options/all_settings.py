"""All families of settings, their defaults, and the check for misspelt names."""

from __future__ import annotations

import logging
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from scrapy.settings import default_settings

from crawlproject.options.duplicates import DuplicateOptions
from crawlproject.options.following import LinkOptions
from crawlproject.options.limits import LimitOptions, RobotsOptions
from crawlproject.options.monitor import ConsoleOptions, MonitorOptions, ReportOptions
from crawlproject.options.network import NetworkOptions
from crawlproject.options.records import RecordOptions, RepositorySettings
from crawlproject.options.redis import RedisOptions
from crawlproject.options.rendering import RenderOptions
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.options.seen import SeenOptions
from crawlproject.options.traps import TrapOptions

if TYPE_CHECKING:
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
DEFAULTS: dict[str, Any] = {
    name: default
    for family in FAMILIES
    for name, default in family.defaults().items()
    if name not in OTHERS and not hasattr(default_settings, name)
}

#: Prefix of this project's settings; those of scrapy-redis have their own.
PREFIX = "FRONTIER_"


def check_names(settings: BaseSettings) -> None:
    """Raise ValueError for a misspelling of one of our settings; log a warning for others that begin as ours do.

    They may be the project's own.  What follows the prefix is compared.
    """
    ends = [name.removeprefix(PREFIX) for name in DEFAULTS]
    for name in sorted(map(str, settings)):
        if name in DEFAULTS or name in OTHERS or name in vars(default_settings) or not name.upper().startswith(PREFIX):
            continue
        if meant := get_close_matches(name.upper().removeprefix(PREFIX), ends, 1, 0.8):
            raise ValueError(f"{name}={settings[name]!r}: unknown setting; did you mean {PREFIX}{meant[0]}?")
        logger.warning("Setting %s is not one of crawlproject's: nothing here reads it", name)
