"""The figures of the crawl over time, as the page shows them: each a bounded list, however long the crawl lasts."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Any

from crawlproject.monitor.series.samples import is_number

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Points of a chart; when there are as many, every second one is dropped.
MAX_POINTS = 600

#: Log lines remembered, and characters of each.
MAX_LINES, MAX_LINE = 100, 500

#: Lines of loggers with these beginnings are remembered at INFO; others from WARNING on.
_OURS = "crawlproject."

#: Figures that have a chart.
CHARTED = (
    "pages_per_second",
    "bytes_per_second",
    "sessions",
    "session_limit",
    "queued",
    "pages",
    "quality_gathered",
    "servers/ready",
    "servers/resting",
    "lag",
)


class History:
    """Points of the figures: their distance doubles whenever ``MAX_POINTS`` is reached. O(1) amortised."""

    def __init__(self, interval: float) -> None:
        self.interval = interval
        self.points: list[list[float | None]] = []
        self._skipped = 0

    def add(self, figures: Mapping[str, Any]) -> bool:
        """Add a point, if its turn has come; returns whether it was added."""
        self._skipped += 1
        if self._skipped < round(self.interval):
            return False
        self._skipped = 0
        self.points.append(point(figures))
        if len(self.points) >= MAX_POINTS:
            del self.points[::2]
            self.interval *= 2
        return True


def point(figures: Mapping[str, Any]) -> list[float | None]:
    """Time and charted figures; None for an unknown one."""
    return [figures["at"], *(_number(figures.get(name)) for name in CHARTED)]


def _number(value: Any) -> float | None:
    return round(value, 4) if is_number(value) else None


class LineLog(logging.Handler):
    """The last lines of the log that concern the crawl."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: deque[dict[str, Any]] = deque(maxlen=MAX_LINES)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.WARNING and not record.name.startswith(_OURS):
            return
        try:
            text = record.getMessage()[:MAX_LINE]
        except Exception:  # noqa: BLE001 - a wrong log call of another component
            return
        self.count += 1
        self.lines.append({"n": self.count, "at": record.created, "level": record.levelname, "text": text})
