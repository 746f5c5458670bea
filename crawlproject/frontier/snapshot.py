"""Converts the state that a durable frontier keeps besides its URLs to and from plain values (JSON types).

The classes of ``learning`` and ``guard`` have ``to_state`` and ``from_state`` (``restore`` if there is one object for
all servers); the functions for ``Frontier`` and ``Server`` are here.  Keys and values are part of the store's format
(``storage.directory.FORMAT``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlproject.frontier.guard.copies import CopyRun, SharedPages
from crawlproject.frontier.guard.server_guard import ServerGuard
from crawlproject.frontier.learning.estimate import Estimates
from crawlproject.frontier.learning.file_kinds import FileKinds
from crawlproject.frontier.learning.look_ahead import LinkYield
from crawlproject.frontier.state import StateReader

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
    """Restore the result of ``frontier_state``; call before ``restore_server``. Raises ValueError for anything else."""
    state = StateReader("frontier", values)
    frontier._arrivals = state.count("arrivals", frontier._arrivals)
    frontier._returns = state.count("returns", frontier._returns)
    learned = state.part("learned")
    if learned is not None:
        frontier._expectations.restore(learned)
    quality = state.part("quality")
    if quality is not None:
        frontier.quality.restore(quality)


def server_state(server: Server) -> dict[str, Any]:
    """The state of ``server`` without its key and its URLs; times on the frontier's clock. O(1).

    Omits false, empty and zero values: a new server has them, too.
    """
    optional = {
        "crawl_delay": server.crawl_delay,
        "failures": server.failures,
        "robots_failures": server.robots_failures,
        "answered": server.answered,
        "last_error": server.last_error,
        "given_up": server.given_up,
        "fetched": server.fetched,
        "gathered": server.gathered,
        "pages": server.pages,
        "copies": server.copies,
        "copy_run": server.copy_run and server.copy_run.to_state(),
        "shared_pages": server.shared and server.shared.to_state(),
        "new_links": server.found and server.found.to_state(),
        "file_kinds": server.file_kinds and server.file_kinds.to_state(),
        "guard": server.guard and server.guard.to_state(),
        "demoted_because": server.demoted_because,
    }
    always = {
        "ready_at": server.ready_at,
        "demotion": server.demotion,
        "estimates": server.estimates.to_state(),
    }
    return always | {key: value for key, value in optional.items() if value}


def restore_server(frontier: Frontier, key: str, urls: ServerUrls, values: dict[str, Any]) -> Server:
    """Restore a server from its queue and the result of ``server_state``.

    O(log servers).  Raises ValueError for anything else.
    """
    state = StateReader("server", values)

    def restore(server: Server) -> None:
        _restore_counts(server, state)
        _restore_parts(server, state)

    return frontier.restore_server(key, urls, restore)


def _restore_counts(server: Server, state: StateReader) -> None:
    server.ready_at = state.number("ready_at", 0.0)
    server.crawl_delay = state.number("crawl_delay", 0.0, minimum=0.0)
    server.demotion = state.number("demotion", 1.0, minimum=0.0)
    server.failures = state.count("failures", 0)
    server.robots_failures = state.count("robots_failures", 0)
    server.fetched = state.count("fetched", 0)
    server.answered = state.flag("answered", default=False)
    server.gathered = state.number("gathered", 0.0, minimum=0.0)
    server.pages = state.count("pages", 0)
    server.copies = state.count("copies", 0)
    server.given_up = state.flag("given_up", default=False)
    server.last_error = state.text("last_error", "") or None
    server.demoted_because = state.text("demoted_because", "")


def _restore_parts(server: Server, state: StateReader) -> None:
    """Restore the parts with their own class, which exist only after an observation."""
    if (part := state.part("estimates")) is not None:
        server.estimates = Estimates.from_state(part)
    if (part := state.part("new_links")) is not None:
        server.found = LinkYield.from_state(part)
    if (part := state.part("copy_run")) is not None:
        server.copy_run = CopyRun.from_state(part)
    if (part := state.part("shared_pages")) is not None:
        server.shared = SharedPages.from_state(part)
    if (part := state.part("file_kinds")) is not None:
        server.file_kinds = FileKinds.from_state(part)
    if (part := state.part("guard")) is not None:
        server.guard = ServerGuard.from_state(part)
