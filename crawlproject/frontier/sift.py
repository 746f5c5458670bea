"""What follows for a server's queue from something learned about it: its URLs are gone through, or it comes last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.frontier.entry import path_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.server import Server


def set_guarded(frontier: Frontier, server: Server, reason: str) -> None:
    """Have ``server`` come after all others, for this ``reason``; empty: no longer. O(log servers)."""
    server.guarded = reason
    frontier._servers.move(server)


def sift(frontier: Frontier, server: Server, judge: Callable[[Entry], Entry | None]) -> int:
    """Put what ``judge`` says in the place of each queued URL of ``server``; None drops it.  How many were dropped.

    O(n log n) of the URLs queued there; those handed out already are not asked about.
    """
    kept: list[Entry] = []
    dropped: list[Entry] = []
    for entry in server.urls.drain(server.key):
        server.urls.acknowledge(entry, server.key)
        judged = judge(entry)
        if judged is None:
            dropped.append(entry)
        else:
            kept.append(judged._replace(place=None))
    for entry in kept:
        frontier._arrivals += 1
        server.urls.push(entry, path_of(entry.url, server.key), frontier._arrivals)
    frontier._urls -= len(dropped)
    frontier._expectations.sitemaps.dropped(dropped)
    frontier._servers.move(server)
    return len(dropped)
