"""The last answers of servers, for their pages in the console."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crawlproject.frontier.measurement import Measurement

#: Servers remembered, answers of each, and characters of a URL: 6 MB in all.
MAX_SERVERS, MAX_ANSWERS, MAX_URL = 2_000, 8, 300


class AnswerLog:
    """The last ``MAX_ANSWERS`` answers of each of the ``MAX_SERVERS`` servers that answered last; O(1)."""

    def __init__(self) -> None:
        self._by_server: OrderedDict[str, deque[tuple[float, Measurement]]] = OrderedDict()

    def observe(self, measurement: Measurement) -> None:
        """Remember an answer or a failure."""
        key = measurement.server_key
        answers = self._by_server.get(key)
        if answers is None:
            answers = self._by_server[key] = deque(maxlen=MAX_ANSWERS)
            if len(self._by_server) > MAX_SERVERS:
                self._by_server.popitem(last=False)
        else:
            self._by_server.move_to_end(key)
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
