"""What a durable frontier keeps over a restart besides its URLs, as plain values (JSON's).

Attributes by name: what an older or newer version does not know is left out, and keeps its default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlproject.frontier.guard.copies import CopyRun, SharedPages
from crawlproject.frontier.guard.watched_patterns import ServerGuard
from crawlproject.frontier.learning.file_kinds import FileKinds
from crawlproject.frontier.learning.look_ahead import Yield
from crawlproject.frontier.learning.prior import Observed

if TYPE_CHECKING:
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.queues.protocols import ServerUrls
    from crawlproject.frontier.server import Server

SERVER_ATTRIBUTES = (
    *("crawl_delay", "estimates", "failures", "found", "given_up", "ready_at"),
    *("pages", "copies", "copy_run", "demotion", "demoted_because", "guard"),
    *("shared", "fetched", "last_error", "file_kinds"),
)

#: Attributes that are stored under another name.
STORED_AS = {"demoted_because": "guarded"}

#: Attributes that are None until something is observed.
MADE_WHEN_NEEDED: dict[str, type] = {
    **dict.fromkeys(("connects", "responses"), Observed),
    **{"copy_run": CopyRun, "file_kinds": FileKinds, "found": Yield, "guard": ServerGuard, "shared": SharedPages},
}

_PLAIN = (bool, int, float, str, list, tuple)  # a union of types takes twice as long to test


def frontier_state(frontier: Frontier) -> dict[str, Any]:
    """What was learned over all servers, and where the numbering of URLs stands. O(1)."""
    learned = state_of(frontier._expectations)
    return {"arrivals": frontier._arrivals, "returns": frontier._returns, "learned": learned}


def restore_frontier(frontier: Frontier, state: dict[str, Any]) -> None:
    """Set what ``frontier_state`` kept; before ``restore_server``. Raises ValueError, KeyError for something else."""
    frontier._arrivals, frontier._returns = int(state["arrivals"]), int(state["returns"])
    set_state(frontier._expectations, state["learned"])


def restore_server(frontier: Frontier, key: str, urls: ServerUrls, state: dict[str, Any]) -> Server:
    """Take back a server with its queue and what ``server_state`` kept of it. O(log servers)."""

    def restore(server: Server) -> None:
        names = {name: STORED_AS.get(name, name) for name in SERVER_ATTRIBUTES}
        set_state(server, {name: state[stored] for name, stored in names.items() if stored in state})

    return frontier.restore_server(key, urls, restore)


def server_state(server: Server) -> dict[str, Any]:
    """What must be kept of ``server`` besides its key and its URLs; times on the frontier's clock. O(1)."""
    state = {STORED_AS.get(name, name): getattr(server, name) for name in SERVER_ATTRIBUTES}
    return {name: value if _is_plain(value) else state_of(value) for name, value in state.items() if value is not None}


def state_of(thing: object) -> dict[str, Any]:
    """The attributes of ``thing`` and of those that are objects themselves; without those None or ``NOT_KEPT``."""
    names = getattr(thing, "KEPT", None) or getattr(thing, "__slots__", None) or vars(thing)
    left_out = getattr(thing, "NOT_KEPT", ())
    state: dict[str, Any] = {}
    for name in names:
        value = getattr(thing, name)
        if value is not None and name not in left_out:
            state[name] = value if _is_plain(value) else state_of(value)
    return state


def set_state(thing: object, state: Any) -> None:
    """Set what ``state_of`` kept. Raises ValueError where it is of another form."""
    if not isinstance(state, dict):
        raise ValueError(f"not the state of {type(thing).__name__}: {state!r}")
    for name, value in state.items():
        if not hasattr(thing, name):
            continue
        old = getattr(thing, name)
        if _is_plain(value):
            if isinstance(old, int | float) != isinstance(value, int | float):
                raise ValueError(f"{type(thing).__name__}.{name} cannot be {value!r}")
            setattr(thing, name, tuple(value) if isinstance(old, tuple) else value)
        elif old is not None or name in MADE_WHEN_NEEDED:
            made = MADE_WHEN_NEEDED[name]() if old is None else old
            set_state(made, value)
            setattr(thing, name, made)


def _is_plain(value: object) -> bool:
    return isinstance(value, _PLAIN)
