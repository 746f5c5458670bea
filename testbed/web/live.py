"""The state of one emulated server at run time: its number of visits, and its throttle (429)."""

from __future__ import annotations

import gzip
import math
import time
from email.utils import formatdate
from typing import TYPE_CHECKING, NamedTuple

from .pages import Answer, answer
from .wire import MALFORMED, Request

if TYPE_CHECKING:
    from .population import Server
    from .web import Web


def _compressed(body: bytes) -> bytes:
    """As a server does it that values its time more than the network's."""
    return gzip.compress(body, compresslevel=1, mtime=0)


class Refusal(NamedTuple):
    """The reason why a request came too early."""

    retry_after: str
    """Value of the Retry-After header."""
    is_violation: bool
    """An earlier Retry-After told the client to wait longer."""


class Throttle:
    """A window opened by the first request; until it ends every request is refused, afterwards none.

    `how` is 'seconds' or 'date', the form of Retry-After; a date rounds the window up to a whole second. A client that
    waits for the stated time after it has received the 429 is never too early.
    """

    def __init__(self, how: str, seconds: int) -> None:
        self._how = how
        self._seconds = seconds
        self._ends_at: float | None = None
        self._date = ""

    def refuse(self, now: float, wall: float) -> Refusal | None:
        """The refusal of a request at `now` (any clock) and `wall` (seconds since the epoch), or None."""
        if self._ends_at is None:
            if self._how == "date":
                until = math.ceil(wall + self._seconds)
                self._date = formatdate(until, usegmt=True)
                self._ends_at = now + until - wall
            else:
                self._ends_at = now + self._seconds
            return Refusal(self._date or str(self._seconds), is_violation=False)
        if not self.is_closed(now):
            return None
        return Refusal(self._date or str(math.ceil(self._ends_at - now)), is_violation=True)

    def is_closed(self, now: float) -> bool:
        """Whether a request at `now` is in the window; False before the first request."""
        return self._ends_at is not None and now < self._ends_at


class LiveServer:
    """A running server of the web, with its count of visits and its throttle, if any."""

    def __init__(self, web: Web, server: Server) -> None:
        self.server = server
        self.spec = web.spec
        self._web = web
        self._visits = 0
        self._throttle = Throttle(server.throttle, web.spec.retry_after) if server.throttle else None

    def answer(self, request: Request, now: float) -> Answer:
        """The answer to a request that starts at `now`."""
        if request is MALFORMED:
            return Answer(400, "", b"", 0.0, note="malformed")
        if request.method not in ("GET", "HEAD"):
            return Answer(405, "Allow: GET, HEAD\r\n", b"", 0.0, note="method")
        self._visits += 1
        given = answer(self._web, self.server, request.target, self._visits)
        if self.server.compresses and request.accepts_gzip and given.status == 200:
            given = given._replace(headers=f"Content-Encoding: gzip\r\n{given.headers}", body=_compressed(given.body))
        return given if self._throttle is None else self._throttled(self._throttle, given, now)

    def _throttled(self, throttle: Throttle, given: Answer, now: float) -> Answer:
        """The answer, or a 429 instead. robots.txt is always answered, but also noted if it was requested too early."""
        if given.note == "robots":
            return given._replace(note="robots,retry-after") if throttle.is_closed(now) else given
        refusal = throttle.refuse(now, time.time())
        if refusal is None:
            return given
        note = "throttled,retry-after" if refusal.is_violation else "throttled"
        headers = f"Retry-After: {refusal.retry_after}\r\n"
        return Answer(429, headers, b"", self.server.response_time, given.page, note)
