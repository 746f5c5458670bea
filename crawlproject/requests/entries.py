"""Requests become entries of the frontier, and entries whose turn has come become requests again."""

from __future__ import annotations

import logging
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol

from crawlproject.frontier.entry import Entry
from crawlproject.frontier.queues.sort_key import MAX_PRIORITY
from crawlproject.requests.meta import LAST_OF_SESSION, QUALITY

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.statscollectors import StatsCollector

    from crawlproject.frontier.quality import Quality

logger = logging.getLogger(__name__)


class Packing(Protocol):
    """How a backend keeps a request besides its URL."""

    def pack(self, request: Request) -> Any:
        """The payload of its entry."""

    def unpack(self, entry: Entry) -> Request:
        """The request of an entry; raises ValueError where it cannot be read."""


class RequestEntries:
    """Converts both ways; O(size of the request)."""

    def __init__(self, backend: Packing, quality: Quality, stats: StatsCollector) -> None:
        self._backend = backend
        self._quality = quality
        self._stats = stats

    def entry(self, request: Request) -> Entry:
        """What the frontier is given for ``request``."""
        depth = request.meta.get("depth", 0)
        quality = request.meta.get(QUALITY)
        if not (isinstance(quality, int | float) and isfinite(quality) and quality >= 0):  # or it means something else
            quality = self._quality.quality(request.url, depth)
        priority = max(-MAX_PRIORITY, min(MAX_PRIORITY, request.priority))
        return Entry(request.url, float(quality), priority, depth, self._backend.pack(request))

    def read(self, entry: Entry) -> Request | None:
        """The request of ``entry``; None where it cannot be read: then it stays where it is stored.

        Stats: ``frontier/unreadable``.
        """
        try:
            return self._backend.unpack(entry)
        except ValueError as error:
            self._stats.inc_value("frontier/unreadable")
            logger.error("Stored request cannot be read: %s: %s", entry.url, error)
            return None

    def start(self, entry: Entry, *, is_last: bool) -> Request | None:
        """The request to send now; None where it cannot be read. ``is_last``: of its session."""
        request = self.read(entry)
        if request is None:
            return None
        meta = request.meta
        meta.setdefault(QUALITY, entry.quality)
        if is_last:
            meta[LAST_OF_SESSION] = True
        else:
            meta.pop(LAST_OF_SESSION, None)  # as copied from the request it replaces
        return request
