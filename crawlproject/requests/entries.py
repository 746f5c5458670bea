"""Requests become entries of the frontier, and entries whose turn has come become requests again."""

from __future__ import annotations

import logging
from math import isfinite
from typing import TYPE_CHECKING

from crawlproject.download.handler import LAST_OF_SESSION
from crawlproject.frontier import Entry
from crawlproject.frontier.queues.sort_key import MAX_PRIORITY

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

    from crawlproject.backends.backend import MemoryBackend
    from crawlproject.frontier import Start
    from crawlproject.frontier.quality import Quality

logger = logging.getLogger(__name__)

#: ``Request.meta``: set by a spider that has not taken a page (it has enough): with the disk backend the page stays
#: queued for the next run.
KEEP = "frontier_keep"

#: ``Request.meta``: it fails without being sent, and why: ``server_given_up``, ``page_limit``.
GIVEN_UP = "frontier_given_up"

#: ``Request.meta``: it comes back unsent, because its server must be left alone for now.
UNSENT = "frontier_unsent"


class RequestEntries:
    """Converts both ways; O(size of the request)."""

    def __init__(self, backend: MemoryBackend, quality: Quality, settings: BaseSettings, stats: StatsCollector) -> None:
        self._backend = backend
        self._quality = quality
        self._stats = stats

    def entry(self, request: Request) -> Entry:
        """What the frontier is given for ``request``."""
        depth = request.meta.get("depth", 0)
        quality = request.meta.get("quality")
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

    def start(self, start: Start) -> Request | None:
        """The request to send now; None where it cannot be read."""
        entry = start.entry
        request = self.read(entry)
        if request is None:
            return None
        meta = request.meta
        meta.setdefault("quality", entry.quality)
        if start.is_last:
            meta[LAST_OF_SESSION] = True
        else:
            meta.pop(LAST_OF_SESSION, None)  # as copied from the request it replaces
        return request
