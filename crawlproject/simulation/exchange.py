"""Links between the workers of one simulated crawl, in virtual time."""

from __future__ import annotations

from math import floor, inf
from typing import TYPE_CHECKING

from crawlproject.frontier.learning.cross_links import CrossLinks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlproject.frontier.entry import Entry


class Exchange:
    """Each worker sends what it found for others, and reads what they sent to it, every ``interval`` seconds.

    A link waits for its sender's turn and then for its receiver's; the turns of the workers are spread evenly over the
    interval.  ``owners``: worker of each server; ``servers``: server of each page.
    """

    def __init__(self, owners: Sequence[int], servers: Sequence[int], workers: int, interval: float) -> None:
        self._owners = owners
        self._servers = servers
        self._interval = interval
        self._outboxes: list[list[Entry]] = [[] for _ in range(workers)]
        self._inboxes: list[list[Entry]] = [[] for _ in range(workers)]
        self._found: list[dict[int, int]] = [{} for _ in range(workers)]  # state of each page
        self._links = [CrossLinks() for _ in range(workers)]
        #: Time of each worker's next turn; inf if it has nothing to send or read.
        self.due = [inf] * workers
        #: Links sent so far.
        self.sent = 0

    def owner(self, page: int) -> int:
        """The worker of the page's server."""
        return self._owners[self._servers[page]]

    def unsent(self, worker: int, page: int, *, repeats: bool) -> int:
        """How many links to ``page`` the ``worker``, which has found one more, sends as one now; 0: none.

        Without ``repeats`` only the first is sent.
        """
        found = self._found[worker]
        state = found.get(page, 0)
        if state and not repeats:
            return 0
        found[page], count = self._links[worker].found(state)
        return count

    def send(self, worker: int, entries: Sequence[Entry], now: float) -> None:
        """Put ``entries``, whose payloads are pages, into the outbox of ``worker``. O(entries)."""
        if entries:
            self._outboxes[worker] += entries
            self._plan(worker, now)

    def turn(self, worker: int, now: float) -> list[Entry]:
        """Send the outbox of ``worker``; returns the contents of its inbox. O(entries)."""
        outbox, self._outboxes[worker] = self._outboxes[worker], []
        inbox, self._inboxes[worker] = self._inboxes[worker], []
        self.due[worker] = inf
        self.sent += len(outbox)
        for entry in outbox:
            owner = self.owner(entry.payload)
            self._inboxes[owner].append(entry)
            self._plan(owner, now)
        return inbox

    def _plan(self, worker: int, now: float) -> None:
        if self.due[worker] == inf:
            phase = self._interval * worker / len(self.due)
            self.due[worker] = phase + (floor((now - phase) / self._interval) + 1) * self._interval
