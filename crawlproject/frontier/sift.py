"""What follows for a server's queue from something learned about it: its URLs are gone through, or it comes last."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from crawlproject.frontier.entry import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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

    Between the steps new URLs may be queued.  Those that are kept are queued again at the end, also of the generator,
    and stay in the store until then.
    """
    steps = -(-len(server.urls) // STEP)
    frontier._urls -= len(server.urls)
    left = server.urls.drain(server.key)
    frontier._servers.move(server)
    kept: deque[tuple[Entry, Entry]] = deque()
    try:
        for _ in range(steps):
            yield _judge(frontier, server, judge, islice(left, STEP), kept)
        while kept:
            _put_back(frontier, server, kept, STEP)
            yield 0
    finally:
        kept.extend((entry, entry._replace(place=None)) for entry in left)
        _put_back(frontier, server, kept, len(kept))


def _judge(
    frontier: Frontier,
    server: Server,
    judge: Callable[[Entry], Entry | None],
    entries: Iterable[Entry],
    kept: deque[tuple[Entry, Entry]],
) -> int:
    """Judge ``entries`` of ``server``; how many were dropped."""
    dropped: list[Entry] = []
    for entry in entries:
        judged = judge(entry)
        if judged is None:
            server.urls.acknowledge(entry, server.key)
            dropped.append(entry)
        else:
            kept.append((entry, judged._replace(place=None)))
    frontier._expectations.sitemaps.dropped(dropped)
    return len(dropped)


def _put_back(frontier: Frontier, server: Server, kept: deque[tuple[Entry, Entry]], count: int) -> None:
    for _ in range(min(count, len(kept))):
        before, entry = kept.popleft()
        frontier._arrivals += 1
        server.urls.acknowledge(before, server.key)
        frontier._push_url(server, path_of(entry.url, server.key), entry, frontier._arrivals)
    frontier._servers.move(server)
