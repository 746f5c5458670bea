"""Checks entries that other workers sent, and turns the links among them into what the frontier receives."""

from __future__ import annotations

import logging
from math import isfinite
from typing import TYPE_CHECKING

from crawlproject.frontier.learning.cross_links import NewShare
from crawlproject.frontier.queues.sort_key import MAX_PRIORITY
from crawlproject.urls import server_key
from crawlproject.urls.fates import Reason

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.statscollectors import StatsCollector

    from crawlproject.backends.protocol import Backend
    from crawlproject.discovery.aliases import HostAliases
    from crawlproject.discovery.page_limits import PageLimits
    from crawlproject.discovery.skipped_files import SkippedFiles
    from crawlproject.discovery.trap_guard import TrapGuard
    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.quality import Quality
    from crawlproject.urls.fates import Fates

logger = logging.getLogger(__name__)

#: Entries processed per turn of the event loop: 0.1 s if all are requests.
RECEIVED_STEP = 500

#: Larger depths are refused.
MAX_DEPTH = (1 << 31) - 1


class ReceivedEntries:
    """The second half of ``LinkIntake``, for links that another worker found: limits, guard, seen-set.

    Stats: ``frontier/received`` (entries), ``frontier/received/bad`` (not decodable), ``frontier/received/new``,
    ``frontier/received/seen``; ``fates/link/*``.
    """

    def __init__(  # noqa: PLR0913
        self,
        backend: Backend,
        seen: SeenDupeFilter,
        quality: Quality,
        stats: StatsCollector,
        *,
        files: SkippedFiles,
        limits: PageLimits,
        guard: TrapGuard | None,
        aliases: HostAliases,
        fates: Fates,
    ) -> None:
        self._guard, self._limits, self._files, self._aliases = guard, limits, files, aliases
        self.new_share = NewShare()
        self._backend = backend
        self._seen = seen
        self._quality = quality
        self._stats = stats
        self._fates = fates
        self._has_logged = False

    def read(self, entries: list[Entry]) -> tuple[list[Entry], list[Request]]:
        """The links among ``entries``, and the requests of the others. O(size)."""
        links: list[Entry] = []
        requests: list[Request] = []
        self.count("", len(entries))
        for entry in entries:
            try:
                _check(entry)
                if entry.payload is None:
                    links.append(entry)
                    continue
                request = self._backend.unpack(entry)
            except (ValueError, TypeError, AttributeError) as error:
                self._refuse(entry, error)
                continue
            if self._backend.is_link(entry):
                links.append(entry)
            else:
                requests.append(request)
        return links, requests

    def links(self, links: list[Entry]) -> tuple[list[Entry], list[tuple[str, float]]]:
        """The new URLs among ``links``, and the quality that the known ones gain. O(length) each."""
        guard = self._guard
        if self._aliases:
            links = [entry._replace(url=self._aliases.mapped(entry.url)) for entry in links]
        wanted: list[Entry] = []
        for entry in links:
            if self._limits and self._limits.refuses(entry.url):
                self._fates.refuse(Reason.PAGE_LIMIT, [entry.url])
            elif self._files.is_dropped(entry.url):
                self._fates.refuse(Reason.EXTENSION, [entry.url])
            else:
                wanted.append(entry)
        is_new = self._seen.urls_are_new([entry.url for entry in wanted])
        new = [entry for entry, is_one in zip(wanted, is_new, strict=True) if is_one]
        raised = [(entry.url, self._gain(entry)) for entry, is_one in zip(wanted, is_new, strict=True) if not is_one]
        self.new_share.learn(len(wanted), len(new))
        self.count("/new", len(new))
        self.count("/seen", len(raised))
        new = [self._files.rated(entry) for entry in new]
        if guard is not None:
            new = guard.received(new)
        return new, [(url, gain) for url, gain in raised if gain > 0]

    def count(self, name: str, count: int) -> None:
        """Add to ``frontier/received<name>``."""
        if count:
            self._stats.inc_value(f"frontier/received{name}", count)

    def _gain(self, entry: Entry) -> float:
        """The quality that the page with the link adds to its target; a seed (depth 0) is found on no page.

        A quality that the spider gave with the link looks like such a gain.
        """
        return entry.quality - self._quality.quality(entry.url, entry.depth) if entry.depth else 0.0

    def _refuse(self, entry: Entry, error: Exception) -> None:
        self.count("/bad", 1)
        if not self._has_logged:
            self._has_logged = True
            logger.error(
                "An entry from another worker cannot be read (others are only counted): %.200s: %.200s",
                entry.url,
                error,
            )


def _check(entry: Entry) -> None:
    """Raise ValueError for values that the frontier does not take."""
    if not (isinstance(entry.url, str) and type(entry.priority) is type(entry.depth) is int):
        raise TypeError("values of wrong types")
    if not (abs(entry.priority) <= MAX_PRIORITY and 0 <= entry.depth <= MAX_DEPTH):
        raise ValueError(f"priority {entry.priority}, depth {entry.depth}")
    if not (isfinite(entry.quality) and entry.quality >= 0):
        raise ValueError(f"quality {entry.quality!r}")
    if not (entry.payload is None or type(entry.payload) is bytes):
        raise TypeError(f"payload {type(entry.payload)}")
    server_key(entry.url)
