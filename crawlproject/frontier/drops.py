"""Entries that leave the frontier because their server was given up or full."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.server import Server


class Drops:
    """Dropped entries, until the caller takes them. A store keeps them: after a restart, they are dropped again."""

    def __init__(self, is_known: Callable[[Server], bool]) -> None:
        self._is_known = is_known
        self._entries: list[Entry] = []
        self._queues: deque[tuple[Server, Iterator[Entry]]] = deque()  # drained

    def add(self, entry: Entry) -> None:
        """Drop an entry that came after its server was given up or full. O(1)."""
        self._entries.append(entry)

    def add_queue(self, server: Server, entries: Iterator[Entry]) -> None:
        """Drop the ``entries`` of the queue of ``server``, unless it is removed before. O(1)."""
        self._queues.append((server, entries))

    @property
    def are_left(self) -> bool:
        """Whether ``take`` has left entries for the next call. O(1)."""
        return bool(self._queues)

    def take(self, limit: int | None = None) -> list[Entry]:
        """Entries dropped since the last call; of those that were queued then, at most ``limit``. O(log n) each."""
        dropped, self._entries = self._entries, []
        return dropped + list(islice(self._next(), limit))

    def _next(self) -> Iterator[Entry]:
        while self._queues:
            server, entries = self._queues[0]
            while self._is_known(server) and (entry := next(entries, None)) is not None:
                yield entry
            self._queues.popleft()
