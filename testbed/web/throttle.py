"""429 Too Many Requests: a server that refuses its first requests and says when to come back. No clock of its own."""

from __future__ import annotations

import math
from email.utils import formatdate
from typing import NamedTuple


class Refusal(NamedTuple):
    """Why a request came too early."""

    retry_after: str
    """Value of the Retry-After header."""
    is_violation: bool
    """The client had been told to wait longer."""


class Throttle:
    """A window that the first request opens; until it ends every request is refused, and afterwards none.

    `how` is 'seconds' or 'date', the form of Retry-After; a date rounds the window up to a whole second. A client that
    starts to wait when it has received the 429 and waits as long as told never comes too early.
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
        """Whether a request at `now` falls into the window; False before the first request."""
        return self._ends_at is not None and now < self._ends_at
