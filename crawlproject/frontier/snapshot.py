"""Converts the state that a durable frontier keeps besides its URLs to and from plain values (JSON types).

The classes of ``learning`` and ``guard`` have ``to_state`` and ``from_state`` (``restore`` if there is one object for
all servers); the functions for ``Frontier`` and ``Server`` are here.  Keys and values are part of the store's format
(``storage.directory.FORMAT``).
"""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, Any

from crawlproject.frontier.guard.copies import CopyRun, SharedPages
from crawlproject.frontier.guard.server_guard import ServerGuard
from crawlproject.frontier.learning.estimate import Estimates
from crawlproject.frontier.learning.file_kinds import FileKinds
from crawlproject.frontier.learning.look_ahead import LinkYield
from crawlproject.frontier.state import Fields, StateReader, count, flag, number, positive, restore, text

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


#: What is stored of a server, unless it is false, empty or zero, as of a new server.
_FIELDS: Fields = (
    ("crawl_delay", "crawl_delay", positive),
    ("failures", "failures", count),
    ("robots_failures", "robots_failures", count),
    ("answered", "answered", flag),
    ("last_error", "last_error", lambda state, key, _: state.text(key, "") or None),
    ("given_up", "given_up", flag),
    ("fetched", "fetched", count),
    ("gathered", "gathered", positive),
    ("pages", "pages", count),
    ("copies", "copies", count),
    ("misfits", "misfits", count),
    ("demoted_because", "demoted_because", text),
    ("alias_of", "alias_of", text),
    ("address", "address", lambda state, key, _: intern(state.text(key, ""))),
)
#: What is stored of each server.
_ALWAYS: Fields = (("ready_at", "ready_at", number), ("demotion", "demotion", positive))
#: Parts with their own class, which exist only after an observation: key, attribute, class.
_PARTS: tuple[tuple[str, str, type[Any]], ...] = (
    ("copy_run", "copy_run", CopyRun),
    ("shared_pages", "shared", SharedPages),
    ("new_links", "found", LinkYield),
    ("file_kinds", "file_kinds", FileKinds),
    ("guard", "guard", ServerGuard),
)


def server_state(server: Server) -> dict[str, Any]:
    """The state of ``server`` without its key and its URLs; times on the frontier's clock. O(1)."""
    state = {key: getattr(server, name) for key, name, _ in _ALWAYS}
    state["estimates"] = server.estimates.to_state()
    state |= {key: value for key, name, _ in _FIELDS if (value := getattr(server, name))}
    for key, name, _ in _PARTS:
        if (part := getattr(server, name)) and (values := part.to_state()):
            state[key] = values
    return state


def restore_server(frontier: Frontier, key: str, urls: ServerUrls, values: dict[str, Any]) -> Server:
    """Restore a server from its queue and the result of ``server_state``.

    O(log servers).  Raises ValueError for anything else.
    """
    state = StateReader("server", values)

    def restored(server: Server) -> None:
        restore(server, _FIELDS + _ALWAYS, state)
        if (part := state.part("estimates")) is not None:
            server.estimates = Estimates.from_state(part)
        for key, name, kind in _PARTS:
            if (part := state.part(key)) is not None:
                setattr(server, name, kind.from_state(part))

    return frontier.restore_server(key, urls, restored)
