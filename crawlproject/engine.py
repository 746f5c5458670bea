"""Wakes Scrapy's engine when the next request may start, so that nothing polls and nothing waits for its heartbeat.

All that is private to the engine and yet needed is used in this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

from crawlproject.download.timing import CLOCK

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from scrapy import Request
    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import CallLaterResult


def engine_of(crawler: Crawler) -> ExecutionEngine | None:
    """The engine; None before the crawl starts.

    ``Crawler.engine`` raises RuntimeError then, and Scrapy has no public way to ask.
    """
    return crawler._engine


def unfinished_requests(crawler: Crawler) -> AbstractSet[Request]:
    """Requests that the engine has been given and is not through with: not downloaded, or not scraped to the end.

    There is no public way to learn when a request is over, whatever became of it.
    """
    engine = engine_of(crawler)
    slot = engine._slot if engine is not None else None
    return slot.inprogress if slot is not None else set()


class EngineAlarm:
    """One timer on the engine; ``set`` and ``ring`` are O(1)."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._timer: CallLaterResult | None = None
        self._at = 0.0

    def ring(self) -> None:
        """Have the engine ask the scheduler soon.

        There is no public way to wake it.
        """
        engine = engine_of(self._crawler)
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
