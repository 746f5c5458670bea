"""What follows for a server's queue from something learned about it: its URLs are gone through, or it comes last."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from crawlproject.frontier.entry import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.server import Server

#: URLs judged, or queued again, in one step: 0.1 s.
STEP = 2_000


def set_guarded(frontier: Frontier, server: Server, reason: str) -> None:
    """Have ``server`` come after all others, for this ``reason``; empty: no longer. O(log servers)."""
    server.guarded = reason
    frontier._servers.move(server)


def sift(frontier: Frontier, server: Server, judge: Callable[[Entry], Entry | None]) -> int:
    """Put what ``judge`` says in the place of each queued URL of ``server``; None drops it.  How many were dropped.

    O(n log n) of the URLs queued there; those handed out already are not asked about.
    """
    return sum(sift_in_steps(frontier, server, judge))


def sift_in_steps(frontier: Frontier, server: Server, judge: Callable[[Entry], Entry | None]) -> Iterator[int]:
    """The same, ``STEP`` URLs at a time: yields how many each step has dropped.

    Between the steps the server may be asked for those that are left, and new ones may be queued.  Those that are kept
    are queued again at the end, also of the generator, and stay in the store until then.
    """
    kept: deque[tuple[Entry, Entry]] = deque()
    left = len(server.urls)
    try:
        while left > 0 and server.urls:
            yield _take(frontier, server, judge, min(left, STEP), kept)
            left -= STEP
        while kept:
            _put_back(frontier, server, kept, STEP)
            yield 0
    finally:
        _put_back(frontier, server, kept, len(kept))


def _take(
    frontier: Frontier,
    server: Server,
    judge: Callable[[Entry], Entry | None],
    count: int,
    kept: deque[tuple[Entry, Entry]],
) -> int:
    """Judge the best ``count``; how many were dropped."""
    dropped: list[Entry] = []
    for _ in range(min(count, len(server.urls))):
        entry = server.urls.pop(server.key)
        frontier._urls -= 1
        judged = judge(entry)
        if judged is None:
            server.urls.acknowledge(entry, server.key)
            dropped.append(entry)
        else:
            kept.append((entry, judged._replace(place=None)))
    frontier._expectations.sitemaps.dropped(dropped)
    frontier._servers.move(server)
    return len(dropped)


def _put_back(frontier: Frontier, server: Server, kept: deque[tuple[Entry, Entry]], count: int) -> None:
    for _ in range(min(count, len(kept))):
        before, entry = kept.popleft()
        frontier._arrivals += 1
        server.urls.acknowledge(before, server.key)
        frontier._push_url(server, path_of(entry.url, server.key), entry, frontier._arrivals)
    frontier._servers.move(server)
