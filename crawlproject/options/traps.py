"""The settings ``FRONTIER_GUARD_*`` (docs/traps.md)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from crawlproject.frontier.guard.patterns import GuardLimits
from crawlproject.options.values import Options, Reader, setting
from crawlproject.urls.server_key import host_of
from crawlproject.urls.traps import TrapRules

#: Plausible years of calendar pages, around the present one: events are announced a year or two ahead; archives with
#: pages by the day go back to digitized newspapers.
YEARS_BACK, YEARS_AHEAD = 200, 5


def _rules(_reader: Reader) -> TrapRules:
    year = datetime.now(UTC).year
    return TrapRules(years=(year - YEARS_BACK, year + YEARS_AHEAD))


@dataclass(frozen=True)
class TrapOptions(Options):
    """The guard's limits.

    FRONTIER_GUARD_ENABLED: judge links by the content of a server's pages; `False`: no URL is doubtful either
    FRONTIER_GUARD_PROBES: test a server before a pattern of URLs is dropped; `False`: no pattern is dropped as endless
    FRONTIER_GUARD_MAX_SAME: pages in a row without anything new after which an endless pattern is dropped; 0: never
    FRONTIER_GUARD_MAX_WAITING: waiting pages in a row without anything new after which a server's other waiting URLs
        are dropped; 0: never
    FRONTIER_GUARD_MAX_OWN_URLS: maximum URLs of a pattern that are found on its own pages and followed; 0: no limit
    FRONTIER_GUARD_RELEASED: servers that the guard does not judge: hosts, or scheme://host[:port]
    """

    rules: TrapRules = setting(_rules)
    limits: GuardLimits = setting(
        lambda reader: GuardLimits(
            max_same=reader.count("FRONTIER_GUARD_MAX_SAME", GuardLimits.max_same),
            max_waiting=reader.count("FRONTIER_GUARD_MAX_WAITING", GuardLimits.max_waiting),
            max_own_urls=reader.count("FRONTIER_GUARD_MAX_OWN_URLS", GuardLimits.max_own_urls),
            asks=reader.switch("FRONTIER_GUARD_PROBES", True),
        )
    )
    is_guarded: bool = setting(Reader.switch, "FRONTIER_GUARD_ENABLED", True)
    released: frozenset[str] = setting(lambda reader: frozenset(reader.strings("FRONTIER_GUARD_RELEASED")))

    def is_released(self, key: str) -> bool:
        """Whether the server ``key`` is not judged."""
        return bool(self.released) and (key in self.released or host_of(key) in self.released)
