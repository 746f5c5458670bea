"""What one emulated server remembers while it runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .pages import Answer, answer
from .throttle import Throttle
from .wire import MALFORMED, Request

if TYPE_CHECKING:
    from .population import Server
    from .web import Web


class LiveServer:
    """A server of the web, its visits counted and its throttle, where it has one, running."""

    def __init__(self, web: Web, server: Server) -> None:
        self.server = server
        self.spec = web.spec
        self._web = web
        self._visits = 0
        self._throttle = Throttle(server.throttle, web.spec.retry_after) if server.throttle else None

    def answer(self, request: Request, now: float) -> Answer:
        """The answer to a request that is taken up at `now`."""
        if request is MALFORMED:
            return Answer(400, "", b"", 0.0, note="malformed")
        if request.method not in ("GET", "HEAD"):
            return Answer(405, "Allow: GET, HEAD\r\n", b"", 0.0, note="method")
        self._visits += 1
        given = answer(self._web, self.server, request.target, self._visits)
        return given if self._throttle is None else self._throttled(self._throttle, given, now)

    def _throttled(self, throttle: Throttle, given: Answer, now: float) -> Answer:
        """The answer, or a 429 in its place. robots.txt is always answered, but it too may come too early."""
        if given.note == "robots":
            return given._replace(note="robots,retry-after") if throttle.is_closed(now) else given
        refusal = throttle.refuse(now, time.time())
        if refusal is None:
            return given
        note = "throttled,retry-after" if refusal.is_violation else "throttled"
        headers = f"Retry-After: {refusal.retry_after}\r\n"
        return Answer(429, headers, b"", self.server.response_time, given.page, note)
