"""Measures the event loop's lag by a periodic timer: how late it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

from crawlproject.clock import CLOCK

if TYPE_CHECKING:
    from scrapy.utils.asyncio import CallLaterResult

#: Seconds between two samples.
SAMPLE = 0.1


class LoopLag:
    """Samples the lag (seconds) from ``start`` to ``stop``; a sample costs a timer call, about 20 µs."""

    def __init__(self) -> None:
        self._timer: CallLaterResult | None = None
        self._due = 0.0
        self._sum = 0.0
        self._count = 0
        #: The longest lag since the start, seconds.
        self.longest = 0.0

    def start(self) -> None:
        self._due = CLOCK() + SAMPLE
        self._timer = call_later(SAMPLE, self._called)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def take_mean(self) -> float:
        """Mean of the samples since the last call (seconds), including a sample that is overdue."""
        late = max(0.0, CLOCK() - self._due)
        mean = (self._sum + late) / (self._count + 1)
        self._sum, self._count = 0.0, 0
        return mean

    def _called(self) -> None:
        late = max(0.0, CLOCK() - self._due)
        self._sum += late
        self._count += 1
        self.longest = max(self.longest, late)
        self.start()
