"""The settings that limit a crawl: pages, bytes, servers that are never contacted (docs/limits.md), robots.txt."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from crawlproject.frontier.budgets import CHOOSINESS, Budgets, Limits
from crawlproject.options.values import Options, Reader, setting
from crawlproject.urls import LinkFilter
from crawlproject.urls.robots_rules import robot_names

if TYPE_CHECKING:
    from pathlib import Path


def _or_inf(reader: Reader, name: str) -> float:
    return reader.number(name, 0) or inf


def _denied(reader: Reader) -> frozenset[str]:
    """The hosts and domains in a file, one per line; ``#`` starts a comment."""
    path = reader.path("FRONTIER_DENY_FILE")
    if path is None:
        return frozenset()
    return reader.parsed("FRONTIER_DENY_FILE", path, _read_denied)


def _read_denied(path: Path) -> frozenset[str]:
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    denied = frozenset(entry for line in lines if (entry := line.partition("#")[0].strip()))
    LinkFilter(denied=denied)  # raises ValueError for an entry that is no domain
    return denied


@dataclass(frozen=True)
class LimitOptions(Options):
    """Limits; 0 = none, as by default: the operator ends a broad crawl.

    FRONTIER_MAX_PAGES: the crawl ends after this many pages in this run, by several workers over all runs; 0: no
        limit, as for the next three
    FRONTIER_MAX_PAGES_PER_SERVER: maximum pages of a server, over all runs of a `JOBDIR`
    FRONTIER_MAX_PAGES_PER_DOMAIN: the same for a registered domain
    FRONTIER_MAX_BYTES: the crawl ends after bodies of this many bytes; counted as pages are
    FRONTIER_CHOOSINESS: with a limit of pages or bytes: how many usual pages' time a better page may take; 0: as fast
        as without a limit ([budgets](policies.md#budgets))
    FRONTIER_DENY_FILE: file of hosts and domains that are never contacted, one per line
    """

    denied: frozenset[str] = setting(_denied)
    max_pages: int = setting(Reader.count, "FRONTIER_MAX_PAGES", 0)
    max_pages_per_server: int = setting(Reader.count, "FRONTIER_MAX_PAGES_PER_SERVER", 0)
    max_pages_per_domain: int = setting(Reader.count, "FRONTIER_MAX_PAGES_PER_DOMAIN", 0)
    max_bytes: int = setting(Reader.count, "FRONTIER_MAX_BYTES", 0)
    # More gains nothing (docs/policies.md).
    choosiness: float = setting(Reader.number, "FRONTIER_CHOOSINESS", CHOOSINESS)
    #: Scrapy's limits: pages, items, seconds; inf: none.
    close_at_pages: float = setting(_or_inf, "CLOSESPIDER_PAGECOUNT")
    ends_at_items: float = setting(_or_inf, "CLOSESPIDER_ITEMCOUNT")
    ends_at_time: float = setting(_or_inf, "CLOSESPIDER_TIMEOUT")

    @property
    def ends_at_bytes(self) -> float:
        """Bytes at which the crawl ends; inf: not at all."""
        return self.max_bytes or inf

    def budgets(self) -> Budgets:
        """What the crawl may spend."""
        return Budgets(Limits(self.max_pages or inf, self.ends_at_time, self.ends_at_bytes), self.choosiness)


def _names(reader: Reader) -> frozenset[str]:
    agent = reader.value("ROBOTSTXT_USER_AGENT") or reader.value("USER_AGENT")
    return robot_names(str(agent or ""))


@dataclass(frozen=True)
class RobotsOptions(Options):
    """The crawler's names, how long robots.txt files are kept, and when a server without one is given up.

    FRONTIER_ROBOTS_CACHE_TIME: seconds for which a robots.txt is used, unless its server allows less
    FRONTIER_ROBOTS_CACHE_SIZE: parsed files kept; a long file counts several times
    FRONTIER_ROBOTS_MAX_FAILURES: failed downloads in a row after which the server is given up; 0: never
    """

    #: By which pages may address the crawler; of ``ROBOTSTXT_USER_AGENT``, else of ``USER_AGENT``.
    names: frozenset[str] = setting(_names)
    # RFC 9309 §2.4: no copy is used for longer than 24 hours.
    cache_time: float = setting(Reader.number, "FRONTIER_ROBOTS_CACHE_TIME", 86_400.0)
    # 4 kB of rules (the mean of 2,163 popular servers; the median is 0.6 kB) take 4.5 kB parsed: 90 MB.
    cache_size: int = setting(Reader.count, "FRONTIER_ROBOTS_CACHE_SIZE", 20_000, least=1)
    # With the back-off of failing servers 5 + 10 + 20 + 40 + 80 s: a crawl waits 2.5 minutes for it.
    max_failures: int = setting(Reader.count, "FRONTIER_ROBOTS_MAX_FAILURES", 6)
