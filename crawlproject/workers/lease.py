"""The lease: how long a worker may crawl its partitions before others may take them; its share of the limits.

A worker renews its lease by a *beat*, a command to Redis.  By its own clock it counts from before the last confirmed
beat was sent: Redis has received the beat later, so the worker always stops before the others may take over.  Its clock
must keep running while the machine sleeps (CLOCK_BOOTTIME).
"""

from __future__ import annotations

import time
from math import inf

#: Seconds after the end of a lease before its worker may be buried.
GRACE = 2.0
#: Seconds by which Redis's clock must have been set: leases have twice as much as grace, and clocks that are being
#: corrected run up to a tenth faster.
MIN_STEP = 1.0
#: Share of the lease after which nothing is handed out unless Redis has confirmed what came before.
MAX_LAG = 0.8


class Lease:
    """A worker's own lease of ``length`` seconds; in the last ``margin`` seconds no request may start.

    Times are seconds of one clock.  Without a confirmed beat there is no lease.
    """

    def __init__(self, length: float, margin: float) -> None:
        self._length = length
        self._margin = margin
        self._confirmed = -inf

    @property
    def until(self) -> float:
        """End of the lease; -inf before the first confirmed beat."""
        return self._confirmed + self._length

    @property
    def has_begun(self) -> bool:
        """Whether any beat was confirmed."""
        return self._confirmed > -inf

    def beat_confirmed(self, sent_at: float) -> None:
        """Redis has confirmed the beat sent at ``sent_at``: the lease lasts until ``sent_at`` + length.

        Replies may come in any order.
        """
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


class RedisClock:
    """How far Redis's clock is ahead of this process's, which is never set, as far as the beats tell.

    So it is noticed that Redis's clock was set: by its operator, by NTP after a suspension, or because a replica took
    over.
    """

    def __init__(self) -> None:
        self._least, self._most = -inf, inf

    def follow(self, shown: float, sent_at: float, received_at: float) -> float:
        """Redis ``shown`` its time between these two times of this process.

        Returns the seconds by which its clock was set forward since the last call, at least; negative if back; 0.0 if
        it was not.  O(1).
        """
        least, most = shown - received_at, shown - sent_at
        forward, back = least - self._most, self._least - most
        self._least, self._most = least, most
        return forward if forward > MIN_STEP else -back if back > MIN_STEP else 0.0


def boot_time() -> float:
    """Seconds since the machine was started; runs on while it sleeps, or while this process is stopped."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class LimitShare:
    """With each beat a worker gets a part of what is left, and what others have not used is divided again.

    The part is as large as the worker's part of what was spent since the last beat, and not smaller than that of equal
    workers.  So one that has nothing to fetch leaves its part to the others.  All together exceed the limit at most by
    what the slower ones fetch within one beat.
    """

    def __init__(self) -> None:
        self._last = 0.0, 0.0  # spent here and by all, at the last beat

    def limit(self, most: float, own: float, total: float, workers: int) -> float:
        """This worker's limit, of ``most``: it has spent ``own`` of the ``total`` of all ``workers``. O(1)."""
        own_before, total_before = self._last
        self._last = own, total
        since = total - total_before
        part = (own - own_before) / since if since > 0 else 0.0
        return own + max(0.0, most - total) * min(1.0, max(part, 1.0 / max(1, workers)))
