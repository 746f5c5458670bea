"""The settings on what a crawl takes: which URLs, how much of each server and in all (docs/limits.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlproject.options.values import SettingValues
from crawlproject.urls import LinkFilter, UrlPatterns

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

DEFAULTS: dict[str, Any] = {
    "LINKS_INCLUDE": [],
    "LINKS_EXCLUDE": [],
    "FRONTIER_DENY_FILE": None,
    # A broad crawl ends when its operator says so.
    "FRONTIER_MAX_PAGES": 0,
    "FRONTIER_MAX_PAGES_PER_SERVER": 0,
    "FRONTIER_MAX_PAGES_PER_DOMAIN": 0,
    "FRONTIER_MAX_BYTES": 0,
}


@dataclass(frozen=True)
class LimitOptions:
    """Limits, checked; 0 = none."""

    #: Links found must match one of them, where there are any.
    include: UrlPatterns
    #: And none of these.
    exclude: UrlPatterns
    #: Hosts and domains that are never contacted.
    denied: frozenset[str]
    max_pages: int
    max_pages_per_server: int
    max_pages_per_domain: int
    max_bytes: int

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> LimitOptions:
        """Read and check; raises ValueError naming setting and value."""
        values = SettingValues(settings, DEFAULTS)
        return cls(
            include=_patterns(values, "LINKS_INCLUDE"),
            exclude=_patterns(values, "LINKS_EXCLUDE"),
            denied=_denied(values.value("FRONTIER_DENY_FILE")),
            max_pages=values.count("FRONTIER_MAX_PAGES", least=0),
            max_pages_per_server=values.count("FRONTIER_MAX_PAGES_PER_SERVER", least=0),
            max_pages_per_domain=values.count("FRONTIER_MAX_PAGES_PER_DOMAIN", least=0),
            max_bytes=values.count("FRONTIER_MAX_BYTES", least=0),
        )


def _patterns(values: SettingValues, name: str) -> UrlPatterns:
    try:
        return UrlPatterns(values.strings(name))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _denied(path: str | None) -> frozenset[str]:
    """The hosts and domains in a file, one per line; ``#`` starts a comment."""
    if not path:
        return frozenset()
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"FRONTIER_DENY_FILE={path!r}: {reason}") from error
    entries = [entry for line in lines if (entry := line.partition("#")[0].strip())]
    try:
        LinkFilter(denied=frozenset(entries))
    except ValueError as error:
        raise ValueError(f"FRONTIER_DENY_FILE={path!r}: {error}") from error
    return frozenset(entries)
