"""Before ``scrapy workers`` starts: unknown spiders, and an early Ctrl-C."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


def interrupted(command: str) -> int:
    """Say that Ctrl-C came before the crawl; returns the exit code."""
    sys.stderr.write(f"scrapy {command}: interrupted before the crawl began\n")
    return 1


#: The spiders of this package, and the module that a project names to have them.
SHIPPED = ("keyword", "site", "topic", "web")
SHIPPED_MODULE = "crawlproject.spiders"


def unknown_spider(name: str, names: list[str], modules: Sequence[str]) -> UsageError:
    """The error for a name that is not among ``names``, the spiders of ``modules`` (``SPIDER_MODULES``)."""
    from crawlproject.options.all_settings import closest

    if name in SHIPPED and SHIPPED_MODULE not in modules:
        if modules:
            hint = f"for crawlproject's: SPIDER_MODULES = {[*modules, SHIPPED_MODULE]}"
        else:  # in no project
            hint = "for crawlproject's: export SCRAPY_SETTINGS_MODULE=crawlproject.settings"
        return UsageError(f"no spider {name!r} here; {hint}", print_help=False)
    meant = closest(name, names)
    hint = f"did you mean {meant}?" if meant else f"known spiders: {', '.join(sorted(names)) or 'none'}"
    return UsageError(f"no spider {name!r}; {hint}", print_help=False)
