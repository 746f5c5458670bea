"""Every setting of this project with its default, from the tables beside the code that reads them; and typos."""

from __future__ import annotations

import logging
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from scrapy.settings import default_settings

from crawlproject.monitor import failure_log
from crawlproject.options import (
    duplicates,
    frontier,
    limits,
    links,
    monitor,
    network,
    presets,
    repository,
    robots,
    seen,
    traps,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

#: Setting -> default; docs/settings.md and docs/limits.md list them.
DEFAULTS: dict[str, Any] = {
    **frontier.DEFAULTS,
    **presets.DEFAULTS,
    **limits.DEFAULTS,
    **network.DEFAULTS,
    **robots.DEFAULTS,
    **links.DEFAULTS,
    **traps.DEFAULTS,
    **duplicates.DEFAULTS,
    **seen.DEFAULTS,
    **monitor.DEFAULTS,
    **failure_log.DEFAULTS,
    **repository.DEFAULTS,
}

#: What the add-on sets for itself, and settings of earlier versions, of which is said elsewhere that they are gone.
OTHERS = frozenset(("FRONTIER_REQUEST_DELAY", *traps.REMOVED))

#: How names of settings begin that are this project's, or Scrapy's.
PREFIXES = tuple(sorted({name.partition("_")[0] + "_" for name in DEFAULTS}))

#: Least similarity of a misspelt name with the right one: where its beginning is ours, and where it is not.
_SIMILAR, _VERY_SIMILAR = 0.8, 0.9
#: And of what stands behind that beginning.
_SIMILAR_END = 0.7


def check_names(settings: BaseSettings) -> None:
    """Raise ValueError for a setting that is a misspelling of one of ours, warn of others that nothing reads.

    A name that begins like ours and resembles none may be the project's own; so may one that begins otherwise.
    """
    for name in sorted(map(str, settings)):
        if name in DEFAULTS or name in OTHERS or name in vars(default_settings):
            continue
        is_ours = name.upper().startswith(PREFIXES)
        meant = closest(name.upper(), DEFAULTS, _SIMILAR if is_ours else _VERY_SIMILAR)
        if is_ours and meant is not None and _ends_alike(name.upper(), meant):
            raise ValueError(f"{name}={settings[name]!r}: unknown setting; did you mean {meant}?")
        if meant is not None:
            logger.warning("Setting %s is not one of crawlproject's; did you mean %s?", name, meant)
        elif is_ours:
            logger.warning("Setting %s is not one of crawlproject's: nothing here reads it", name)


def _ends_alike(name: str, meant: str) -> bool:
    """Whether two names are alike behind their prefixes, as REPOSITORY_URL and REPOSITORY_DIR are not."""
    end, right = name.partition("_")[2], meant.partition("_")[2]
    return end.startswith(right) or closest(end, [right], _SIMILAR_END) is not None


def closest(name: str, names: Iterable[str], similarity: float = 0.6) -> str | None:
    """That of ``names`` which ``name`` most probably is a misspelling of; None: of none."""
    return next(iter(get_close_matches(name, list(names), 1, similarity)), None)
