"""The lease: how long a worker may crawl its partitions before others may take them.

A worker renews its lease by a *beat*, a command to Redis.  By its own clock it counts from before the last confirmed
beat was sent: Redis has received the beat later, so the worker always stops before the others may take over.  Its clock
must keep running while the machine sleeps (CLOCK_BOOTTIME).
"""

from __future__ import annotations

from math import inf

#: Seconds after the end of a lease before its worker may be buried.
GRACE = 2.0
#: Share of the lease after which nothing is handed out unless Redis has confirmed what came before.
MAX_LAG = 0.8


class Lease:
    """A worker's own lease of ``length`` seconds; in the last ``margin`` seconds no request may start.

    Times are seconds of one clock.  Without a confirmed beat there is no lease.
    """

    def __init__(self, length: float, margin: float) -> None:
        if not 0 <= margin < length:
            raise ValueError(f"margin of {margin} s: must be at least 0 and less than the lease of {length} s")
        self._length = length
        self._margin = margin
        self._sent = -inf
        self._confirmed = -inf

    @property
    def until(self) -> float:
        """End of the lease; -inf before the first confirmed beat."""
        return self._confirmed + self._length

    @property
    def has_begun(self) -> bool:
        """Whether any beat was confirmed."""
        return self._confirmed > -inf

    def beat_sent(self, at: float) -> None:
        """A beat is about to be sent; call before it is."""
        self._sent = max(self._sent, at)

    def beat_confirmed(self, sent_at: float) -> None:
        """Redis has confirmed the beat sent at ``sent_at``: the lease lasts until ``sent_at`` + length.

        Replies may come in any order.  Raises ValueError if no beat was sent as late as that.
        """
        if sent_at > self._sent:
            raise ValueError(f"beat of {sent_at}: the last one was sent at {self._sent}")
        self._confirmed = max(self._confirmed, sent_at)

    def lost(self) -> None:
        """Others own what this worker owned: there is no lease until the next beat is confirmed."""
        self._confirmed = -inf

    def may_start(self, now: float) -> bool:
        """Whether a request may start."""
        return now < self.until - self._margin


def is_buried(until: float, now: float, redis_up_since: float, length: float) -> bool:
    """Whether a worker whose lease ended at ``until`` may be declared dead.

    All times are seconds of Redis's clock.  Redis must have been up for ``length``: while it was away, nobody could
    renew a lease.
    """
    return until + GRACE < now and now - redis_up_since >= length
