"""The states of servers: all that show them use one vocabulary, that of the state machine and the glossary."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier, Measurement, Politeness
from crawlproject.monitor.console.server_list import SORTS, Query, row, select
from crawlproject.monitor.server_state import shown_state, state_reason

if TYPE_CHECKING:
    from crawlproject.frontier.server import Server

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"

KEYS = [f"http://{name}.example" for name in ("ready", "resting", "leased", "idle", "failing", "blocked", "full")]


@pytest.fixture(scope="module")
def frontier() -> Frontier:
    """A server in each state, except held and waiting."""
    frontier = Frontier(BestPrefix(), Politeness(), max_failures=3)
    *_, leased, idle, failing, blocked, full = KEYS
    frontier.push([Entry(f"{key}/", 1.0) for key in KEYS])
    frontier.push([Entry(f"{leased}/2", 9.0), Entry(f"{full}/2", 1.0)])
    frontier.open_session(0.0)
    frontier.servers.rest(KEYS[1], 0.0, 1.0)
    frontier.servers.robots_failed(KEYS[1], 0.0, error="status 503")
    frontier.fill(full)
    frontier.fill(idle)
    frontier.server(idle).full = False  # type: ignore[union-attr]
    for _ in range(3):
        frontier.record(Measurement(failing, 0.0, failed=True, error="connection refused"))
    list(frontier.block(blocked, blocked=True))
    return frontier


def test_one_word_for_a_state(frontier: Frontier) -> None:
    """In the report, the console and its filters; what keeps a server from being crawled replaces its own state."""
    expected = ["ready", "resting", "in use", "idle", "given up", "blocked", "full"]
    servers = [frontier.servers[key] for key in KEYS]
    assert [shown_state(server) for server in servers] == expected
    for server, state in zip(servers, expected, strict=True):
        assert found(frontier, state) == [server]


def test_a_server_that_waits_for_its_address_says_so() -> None:
    """It is ready otherwise."""
    frontier = Frontier(BestPrefix(), Politeness())
    frontier.queue.addresses.limit(1)
    for key in KEYS[:2]:
        frontier.servers.get_or_add(key).address = "192.0.2.1"
    frontier.push([Entry(f"{KEYS[0]}/", 2.0), Entry(f"{KEYS[1]}/", 1.0)])
    assert frontier.open_session(0.0)
    assert frontier.open_session(0.0) is None
    waiting = frontier.servers[KEYS[1]]
    assert (shown_state(waiting), frontier.queue.shut) == ("ready", 1)
    reason = "its IP address 192.0.2.1 has as many sessions as it may (FRONTIER_ADDRESS_SESSIONS)"
    assert state_reason(waiting) == reason


def found(frontier: Frontier, state: str) -> list[Server]:
    *_, (_, servers) = select(frontier, Query.parse({"state": state}))
    return servers


def test_a_server_that_gets_no_request_has_no_time_for_it(frontier: Frontier) -> None:
    """Given up, blocked and full ones, in the console's table, whatever their back-off was; they sort last."""
    *asked, failing, blocked, full = KEYS
    assert [row(frontier, frontier.servers[key], 0.0)["wait"] for key in (failing, blocked, full)] == [None] * 3
    assert all(row(frontier, frontier.servers[key], 0.0)["wait"] is not None for key in asked)
    assert all(SORTS["next"](frontier.servers[key]) == inf for key in (failing, blocked, full))


def test_the_reason_of_a_state(frontier: Frontier) -> None:
    """Empty for states that need none."""
    reasons = {key: reason for key in KEYS if (reason := state_reason(frontier.servers[key]))}
    _, resting, _, _, failing, blocked, _ = KEYS
    assert reasons == {
        resting: "status 503",
        failing: "connection refused, 3 times in a row",
        blocked: "blocked by the operator",
    }
