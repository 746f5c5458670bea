"""The settings that limit a crawl: pages, bytes, servers that are never contacted (docs/limits.md)."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from crawlproject.options.values import Options, Reader, setting
from crawlproject.urls import LinkFilter


def _or_inf(reader: Reader, name: str) -> float:
    return reader.number(name, 0) or inf


def _denied(reader: Reader) -> frozenset[str]:
    """The hosts and domains in a file, one per line; ``#`` starts a comment."""
    path = reader.path("FRONTIER_DENY_FILE")
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


@dataclass(frozen=True)
class LimitOptions(Options):
    """Limits; 0 = none, as by default: the operator ends a broad crawl.

    FRONTIER_MAX_PAGES: the crawl ends after this many pages in this run; 0: no limit, as for the next three
    FRONTIER_MAX_PAGES_PER_SERVER: maximum pages of a server, over all runs of a `JOBDIR`
    FRONTIER_MAX_PAGES_PER_DOMAIN: the same for a registered domain
    FRONTIER_MAX_BYTES: the crawl ends after bodies of this many bytes in this run
    FRONTIER_DENY_FILE: file of hosts and domains that are never contacted, one per line
    """

    #: Hosts and domains that are never contacted.
    denied: frozenset[str] = setting(_denied)
    max_pages: int = setting(Reader.count, "FRONTIER_MAX_PAGES", 0)
    max_pages_per_server: int = setting(Reader.count, "FRONTIER_MAX_PAGES_PER_SERVER", 0)
    max_pages_per_domain: int = setting(Reader.count, "FRONTIER_MAX_PAGES_PER_DOMAIN", 0)
    max_bytes: int = setting(Reader.count, "FRONTIER_MAX_BYTES", 0)
    #: Scrapy's limits: pages, items, seconds; inf: none.
    close_at_pages: float = setting(_or_inf, "CLOSESPIDER_PAGECOUNT")
    ends_at_items: float = setting(_or_inf, "CLOSESPIDER_ITEMCOUNT")
    ends_at_time: float = setting(_or_inf, "CLOSESPIDER_TIMEOUT")

    @property
    def ends_at_pages(self) -> float:
        """Pages at which this project's or Scrapy's settings end the crawl; inf: not at all."""
        return min(self.max_pages or inf, self.close_at_pages)

    @property
    def ends_at_bytes(self) -> float:
        """Bytes at which the crawl ends; inf: not at all."""
        return self.max_bytes or inf
