"""Going through all that waits of one server, when something was learned about it that its queue must follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.server import Server
    from crawlproject.frontier.url_queue import Entry


def sift(frontier: Frontier, server: Server, judge: Callable[[Entry], Entry | None]) -> int:
    """Put what ``judge`` says in the place of each queued URL of ``server``; None drops it.  How many were dropped.

    O(n log n) of the URLs queued there; those handed out already are not asked about.
    """
    kept: list[Entry] = []
    count = len(server.urls)
    for _ in range(count):
        entry = server.urls.pop(server.key)
        server.urls.acknowledge(entry, server.key)
        judged = judge(entry)
        if judged is not None:
            kept.append(judged._replace(place=None))
    for entry in kept:
        frontier._arrivals += 1
        server.urls.push(entry, server.key, frontier._arrivals)
    frontier._urls -= count - len(kept)
    frontier._queue.place(server)
    frontier._changed(server)
    return count - len(kept)
