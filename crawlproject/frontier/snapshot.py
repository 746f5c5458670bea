"""Converts the state that a durable frontier keeps besides its URLs to and from plain values (JSON types)."""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.queues.protocols import ServerUrls
    from crawlproject.frontier.server import Server


def frontier_state(frontier: Frontier) -> dict[str, Any]:
    """The state learned from all servers, and the current arrival numbers. O(1)."""
    return {
        "arrivals": frontier._arrivals,
        "returns": frontier._returns,
        "learned": frontier._expectations.to_state(),
        "quality": frontier.quality.to_state(),
    }


def restore_frontier(frontier: Frontier, values: dict[str, Any]) -> None:
    """Restore the result of ``frontier_state``; call before ``restore_server``.

    Raises ValueError, TypeError or KeyError for anything else.
    """
    frontier.raise_arrivals(values.get("arrivals", frontier._arrivals), values.get("returns", frontier._returns))
    frontier._expectations.restore(values.get("learned", {}))
    frontier.quality.restore(values.get("quality", {}))


def server_state(server: Server) -> dict[str, Any]:
    """The state of ``server`` without its key and its URLs; times on the frontier's clock. O(1).

    What is false, empty or zero, as of a new server, is left out.
    """
    return {"ready_at": server.ready_at} | {key: value for key, value in server.to_state().items() if value}


def restore_server(frontier: Frontier, key: str, urls: ServerUrls, values: dict[str, Any]) -> Server:
    """Restore a server from its queue and the result of ``server_state``.

    O(log servers).  Raises ValueError, TypeError or KeyError for anything else.
    """

    def restored(server: Server) -> None:
        server.restore(values)
        server.address = intern(server.address)

    return frontier.restore_server(key, urls, restored)
