"""The settings that limit a crawl: pages, bytes, servers that are never contacted (docs/limits.md)."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Self

from crawlproject.options.values import Options, Reader
from crawlproject.urls import LinkFilter

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class LimitOptions(Options):
    """Limits; 0 = none."""

    #: Hosts and domains that are never contacted.
    denied: frozenset[str]
    max_pages: int
    max_pages_per_server: int
    max_pages_per_domain: int
    max_bytes: int
    #: Pages, bytes, items, seconds at which this project's or Scrapy's settings end the crawl; inf: not at all.
    ends_at_pages: float
    ends_at_bytes: float
    ends_at_items: float
    ends_at_time: float

    @classmethod
    def read(cls, reader: Reader) -> Self:
        # No limits by default: the operator ends a broad crawl.
        max_pages, max_bytes = reader.count("FRONTIER_MAX_PAGES", 0), reader.count("FRONTIER_MAX_BYTES", 0)
        of_scrapy = reader.number("CLOSESPIDER_PAGECOUNT", 0)
        return cls(
            denied=_denied(reader.path("FRONTIER_DENY_FILE")),
            max_pages=max_pages,
            max_pages_per_server=reader.count("FRONTIER_MAX_PAGES_PER_SERVER", 0),
            max_pages_per_domain=reader.count("FRONTIER_MAX_PAGES_PER_DOMAIN", 0),
            max_bytes=max_bytes,
            ends_at_pages=min(max_pages or inf, of_scrapy or inf),
            ends_at_bytes=max_bytes or inf,
            ends_at_items=reader.number("CLOSESPIDER_ITEMCOUNT", 0) or inf,
            ends_at_time=reader.number("CLOSESPIDER_TIMEOUT", 0.0) or inf,
        )


def _denied(path: Path | None) -> frozenset[str]:
    """The hosts and domains in a file, one per line; ``#`` starts a comment."""
    if path is None:
        return frozenset()
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
        denied = frozenset(entry for line in lines if (entry := line.partition("#")[0].strip()))
        LinkFilter(denied=denied)  # raises ValueError for an entry that is no domain
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"FRONTIER_DENY_FILE={str(path)!r}: {reason}") from error
    return denied
