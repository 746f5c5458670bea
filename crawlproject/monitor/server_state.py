"""The state of a server in words, and its reason: the same wherever servers are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.frontier.states import ServerState

if TYPE_CHECKING:
    from crawlproject.frontier.server import Server

#: The states shown, with their meaning; the last three replace the server's own state, which is idle or leased then.
GIVEN_UP, BLOCKED, FULL = "given up", "blocked", "full"
STATES = {
    ServerState.READY.value: "may be requested now",
    ServerState.RESTING.value: "with URLs, in a polite wait or back-off",
    ServerState.WAITING.value: "ready, but another server of their politeness group is busy",
    ServerState.LEASED.value: "with a session",
    ServerState.IDLE.value: "without URLs",
    ServerState.HELD.value: "about to be given to another worker",
    GIVEN_UP: "given up after too many failures",
    BLOCKED: "blocked by the operator",
    FULL: "all pages fetched that a server may have",
}


def shown_state(server: Server) -> str:
    """Its state, one of ``STATES``. O(1)."""
    if server.given_up:
        return GIVEN_UP
    if server.blocked:
        return BLOCKED
    return FULL if server.full else server.state.value


def state_reason(server: Server) -> str:
    """The reason for its state; empty for one that needs none."""
    if server.given_up:
        return _last_error(server) or "too many failures in a row"
    if server.blocked:
        return STATES[BLOCKED]
    return rest_reason(server) if server.state is ServerState.RESTING else ""


def rest_reason(server: Server) -> str:
    """The reason for the server's rest, with the last error if there is one."""
    if server.last_error:
        return _last_error(server)
    if server.crawl_delay:
        return f"Crawl-delay {server.crawl_delay:g} s"
    return "polite wait"


def _last_error(server: Server) -> str:
    times = f", {server.failures} times in a row" if server.last_error and server.failures > 1 else ""
    return f"{server.last_error}{times}"
