"""The settings ``TRAPS_*`` and ``GUARD_*``: read here and nowhere else, checked once, passed on as values
(docs/settings.md, docs/traps.md)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crawlproject.frontier.guard.watched_patterns import GuardLimits
from crawlproject.options.values import SettingValues
from crawlproject.urls import host_of
from crawlproject.urls.traps import MAX_PARAMETERS, MAX_SEGMENTS, TrapRules

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

DEFAULTS: dict[str, Any] = {
    "TRAPS_MAX_SEGMENTS": MAX_SEGMENTS,
    "TRAPS_MAX_PARAMETERS": MAX_PARAMETERS,
    "TRAPS_REPEATS": True,
    "TRAPS_NESTED_URLS": True,
    # Events are announced a year or two ahead; archives with pages by the day begin with the newspapers put online.
    "TRAPS_YEARS_AHEAD": 5,
    "TRAPS_YEARS_BACK": 200,
    "GUARD_ENABLED": True,
    # Every month of a calendar shows two others, and perhaps its days: five are enough to see that nothing else comes.
    "GUARD_MAX_DATES": GuardLimits.max_dates,
    "GUARD_MAX_SAME": GuardLimits.max_same,
    "GUARD_MAX_OWN_URLS": GuardLimits.max_own_urls,
    "GUARD_PATTERN_COPIES": GuardLimits.pattern_copies,
    "GUARD_SERVER_COPIES": GuardLimits.server_copies,
    "GUARD_SERVER_REFUSED": GuardLimits.server_refused,
    "GUARD_RELEASED": None,
}

#: Settings of earlier versions, and why they are gone.
REMOVED = {
    "GUARD_MAX_RUN": "what pages show decides now, see GUARD_MAX_SAME",
    "GUARD_SERVER_SLOWER": "removed, as it was of no benefit",
}

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrapOptions:
    """Rules on URLs, and the guard's limits; checked."""

    rules: TrapRules
    limits: GuardLimits
    is_guarded: bool
    #: Hosts or server keys that are not judged.
    released: frozenset[str]

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> TrapOptions:
        """Read and check; raises ValueError naming setting and value."""
        reader = _Reader(settings, DEFAULTS)
        year = datetime.now(UTC).year
        back, ahead = reader.count("TRAPS_YEARS_BACK", least=0), reader.count("TRAPS_YEARS_AHEAD", least=0)
        return cls(
            rules=TrapRules(
                max_segments=reader.count("TRAPS_MAX_SEGMENTS", least=0),
                repeats=reader.flag("TRAPS_REPEATS"),
                max_parameters=reader.count("TRAPS_MAX_PARAMETERS", least=0),
                nested_urls=reader.flag("TRAPS_NESTED_URLS"),
                years=(year - back, year + ahead) if back and ahead else None,
            ),
            limits=GuardLimits(
                max_dates=reader.count("GUARD_MAX_DATES", least=0),
                max_same=reader.count("GUARD_MAX_SAME", least=0),
                max_own_urls=reader.count("GUARD_MAX_OWN_URLS", least=0),
                pattern_copies=reader.share("GUARD_PATTERN_COPIES"),
                server_copies=reader.share("GUARD_SERVER_COPIES"),
                server_refused=reader.count("GUARD_SERVER_REFUSED", least=0),
            ),
            is_guarded=reader.flag("GUARD_ENABLED"),
            released=frozenset(settings.getlist("GUARD_RELEASED")),
        )

    def is_released(self, key: str) -> bool:
        """Whether the server ``key`` is not judged."""
        return bool(self.released) and (key in self.released or host_of(key) in self.released)


def warn_of_removed(settings: BaseSettings) -> None:
    """A line in the log for each setting of an earlier version that is still there."""
    for name, reason in REMOVED.items():
        if settings.get(name) is not None:
            logger.warning("%s=%r has no effect: %s", name, settings[name], reason)


class _Reader(SettingValues):
    """What besides numbers these settings are."""

    def flag(self, name: str) -> bool:
        """Yes or no, as Scrapy reads them."""
        try:
            return self._settings.getbool(name, self._defaults[name])
        except ValueError as error:
            raise ValueError(f"{name}={self.value(name)!r}: must be True or False") from error

    def share(self, name: str) -> float:
        """Between 0 and 1."""
        share = self.number(name)
        if share > 1:
            raise ValueError(f"{name}={self.value(name)!r}: must be between 0 and 1")
        return share
