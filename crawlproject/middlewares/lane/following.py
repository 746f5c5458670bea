"""The way of a callback's request to the scheduler: ``ExecutionEngine.crawl`` without a look-up of receivers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import IgnoreRequest

from crawlproject.download.receivers import Connections, Receivers
from crawlproject.middlewares.lane.neutral import on_site

if TYPE_CHECKING:
    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler
    from scrapy.http import Request

_SIGNALS = (signals.request_scheduled, signals.request_dropped)


class Following:
    """Schedules requests; who receives ``request_scheduled`` and ``request_dropped`` gets each, as from the engine."""

    def __init__(self, crawler: Crawler, engine: ExecutionEngine) -> None:
        assert engine._slot is not None
        self._crawler = crawler
        self._slot = engine._slot
        self._scheduled = Receivers(crawler, signals.request_scheduled, IgnoreRequest)
        self._dropped = Receivers(crawler, signals.request_dropped)
        self._connections = Connections(crawler, _SIGNALS)

    def crawl(self, request: Request) -> None:
        """Schedule ``request``, unless a receiver drops it by ``IgnoreRequest``."""
        if self._connections.have_changed():
            self._scheduled.read(("request",), on_site)
            self._dropped.read(("request",))
        if self._scheduled.send(request=request) is None and not self._slot.scheduler.enqueue_request(request):
            self._dropped.send(request=request)
        self._slot.nextcall.schedule()
