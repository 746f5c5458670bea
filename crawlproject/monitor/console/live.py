"""What the page shows of the past: figures, log, last answers; each a bounded list, however long the crawl lasts."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawlproject.frontier.measurement import Measurement


#: Points of a chart of the last minutes or hour; and of all of a run: when there are as many, every second is dropped.
MAX_POINTS = 300, 600

#: Log lines remembered, and characters of each.
MAX_LINES, MAX_LINE = 100, 500

#: Figures that have a chart.
CHARTED = (
    *("pages_per_second", "bytes_per_second", "sessions", "session_limit", "queued", "pages", "quality_gathered"),
    *("servers/ready", "servers/resting", "lag"),
)


class History:
    """Points of the figures, of the last ``seconds``; None: of all, at a distance that doubles. O(1) amortised."""

    def __init__(self, seconds: float | None) -> None:
        self.most = MAX_POINTS[seconds is None]
        self.interval = 2.0 if seconds is None else seconds / self.most
        #: Time and charted figures; None for an unknown one.
        self.points: list[list[float | None]] = []
        self._is_bounded = seconds is not None

    def add(self, figures: Mapping[str, Any]) -> None:
        """Add a point, if its turn has come."""
        if self.points and figures["at"] - (self.points[-1][0] or 0.0) < self.interval - 0.5:
            return
        values = (figures.get(name) for name in CHARTED)
        self.points.append([figures["at"], *(None if value is None else round(value, 4) for value in values)])
        if self._is_bounded:
            del self.points[: -self.most]
        elif len(self.points) >= self.most:
            del self.points[::2]
            self.interval *= 2


class Charts:
    """The histories of all ranges."""

    def __init__(self) -> None:
        self._histories = {"300": History(300.0), "3600": History(3600.0), "all": History(None)}

    def add(self, figures: Mapping[str, Any]) -> None:
        for history in self._histories.values():
            history.add(figures)

    def shown(self, name: str) -> dict[str, Any]:
        """Raises ValueError for an unknown range."""
        if name not in self._histories:
            raise ValueError(f"range: one of {', '.join(self._histories)}")
        found = self._histories[name]
        most = found.most + 60
        return {"names": ["at", *CHARTED], "interval": found.interval, "most": most, "points": found.points}


class LineLog(logging.Handler):
    """The last lines of the log that concern the crawl: this project's from INFO on, others from WARNING on."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: deque[dict[str, Any]] = deque(maxlen=MAX_LINES)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.WARNING and not record.name.startswith("crawlproject."):
            return
        try:
            text = record.getMessage()[:MAX_LINE]
        except Exception:  # noqa: BLE001 - a wrong log call of another component
            return
        self.count += 1
        self.lines.append({"n": self.count, "at": record.created, "level": record.levelname, "text": text})


#: Servers remembered, answers of each, and characters of a URL: 6 MB in all.
MAX_SERVERS, MAX_ANSWERS, MAX_URL = 1_000, 16, 300


class AnswerLog:
    """The last ``MAX_ANSWERS`` answers of each of the ``MAX_SERVERS`` servers that answered last; O(1)."""

    def __init__(self) -> None:
        self._by_server: OrderedDict[str, deque[tuple[float, Measurement]]] = OrderedDict()

    def observe(self, measurement: Measurement) -> None:
        key = measurement.server_key
        answers = self._by_server.setdefault(key, deque(maxlen=MAX_ANSWERS))
        self._by_server.move_to_end(key)
        if len(self._by_server) > MAX_SERVERS:
            self._by_server.popitem(last=False)
        if len(measurement.url) > MAX_URL:
            measurement = measurement._replace(url=measurement.url[:MAX_URL] + "…")
        answers.append((time.time(), measurement))

    def of(self, key: str) -> list[dict[str, Any]]:
        """The answers of the server ``key``, the last one first; at: seconds since the epoch."""
        return [
            {
                "at": at,
                "url": answer.url,
                "status": answer.status,
                "seconds": answer.response_time,
                "connect": answer.connect_time,
                "error": answer.error,
            }
            for at, answer in reversed(self._by_server.get(key, ()))
        ]
