"""Wakes Scrapy's engine when the next request may start, so that nothing polls and nothing waits for its heartbeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

from crawlproject.download.timing import CLOCK

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import CallLaterResult


class EngineAlarm:
    """One timer on the engine; ``set`` and ``ring`` are O(1)."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._timer: CallLaterResult | None = None
        self._at = 0.0

    def ring(self) -> None:
        """Have the engine ask the scheduler soon.

        The one place that uses a private name of the engine: there is no public way to wake it.
        """
        engine = self._crawler.engine
        slot = engine._slot if engine is not None else None
        if slot is not None:
            slot.nextcall.schedule()

    def set(self, at: float) -> None:
        """Ring at ``at`` (on ``CLOCK``), or earlier if that has been asked for."""
        if self._timer is not None:
            if self._at <= at:
                return
            self._timer.cancel()
        self._at = at
        self._timer = call_later(max(0.0, at - CLOCK()), self._rang)

    def cancel(self) -> None:
        """Ring no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rang(self) -> None:
        self._timer = None
        self.ring()
