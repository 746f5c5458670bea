"""Invariants of a frontier, checked by full scans; for tests."""

from __future__ import annotations

from collections import Counter
from math import isclose
from typing import TYPE_CHECKING

from crawlproject.frontier.server_queue import ADMITTED
from crawlproject.frontier.states import ServerState
from tests.frontier.queue_checks import check as check_queue

if TYPE_CHECKING:
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.server import Server


def check(frontier: Frontier) -> None:
    """Assert every invariant of ``frontier``. O(n log n)."""
    queue = frontier.queue
    servers = list(frontier.servers)
    by_state: dict[ServerState, list[Server]] = {state: [] for state in ServerState}
    for server in servers:
        check_queue(server.urls)
        by_state[server.state].append(server)
        assert server.urls._window == server.limit
        assert (server.session is not None) == (server.state is ServerState.LEASED), server
        if server.state is ServerState.HELD:
            assert server.heap_item is None, f"held, but in a heap: {server!r}"
        elif server.state not in (ServerState.IDLE, ServerState.LEASED):
            assert server.urls, f"a server without URLs must be idle: {server!r}"
        if server.state is ServerState.IDLE:
            assert not server.urls or server.blocked, f"a server with URLs must not be idle: {server!r}"
    assert len(frontier) == sum(len(server.urls) for server in servers if not server.blocked), "length"
    assert frontier.blocked == sum(len(server.urls) for server in servers if server.blocked), "blocked"
    assert queue.leased == len(by_state[ServerState.LEASED])
    awaited = [server for server in servers if server.state not in (ServerState.IDLE, ServerState.HELD)]
    failing = [server for server in awaited if server.failures and not server.answered]
    assert queue._awaited[1:] == [len(awaited) - len(failing), len(failing)]
    assert queue.held == len(by_state[ServerState.HELD])
    assert queue._to_hold <= set(by_state[ServerState.LEASED])
    lines = [set(line.values()) for line in queue.lines]
    assert set().union(*lines) == set(by_state[ServerState.READY])
    assert sum(map(len, queue.lines)) == len(by_state[ServerState.READY])
    assert queue._guests == sum(server.line == ADMITTED for server in by_state[ServerState.LEASED])
    for shares, placed in ((queue.shares, by_state[ServerState.LEASED]), (queue.look_ups, queue.asked.values())):
        if shares._share < 1:
            assert shares._placed == set(placed)
            counts_of_domains = Counter(map(queue.domains.of, placed))
            assert shares._taken == counts_of_domains
            assert shares._full == {domain for domain, count in counts_of_domains.items() if count >= shares._most}
    addresses = queue.addresses
    assert addresses._taken == Counter(addresses._placed.values())
    assert addresses._placed.keys() <= set(by_state[ServerState.LEASED])
    assert not addresses._most or all(count <= addresses._most for count in addresses._taken.values())
    for server in by_state[ServerState.READY]:
        assert server.heap_item is not None
        assert server in lines[server.line]
        rank = frontier.policy.rank(server)
        rank = rank / (1.0 + rank) - 1.0 if server.line and server.failures else rank
        assert isclose(server.heap_item[0], -rank, rel_tol=1e-12), f"stale rank: {server!r}"
        assert server.ready_at <= queue.now
    groups = list(queue.groups.values())
    offered = [group for group in groups if group.heap_item is not None]
    assert set(queue.resting.values()) == {*by_state[ServerState.RESTING], *offered}
    for server in by_state[ServerState.RESTING]:
        assert server.heap_item is not None
        assert server.heap_item[0] == server.ready_at
    waiting = [server for group in groups for server in group.waiting.values()]
    assert set(waiting) == set(by_state[ServerState.WAITING])
    assert {group.key for group in groups} == {server.group.key for server in servers if server.group is not None}
    for group in groups:
        assert group.members == sum(server.group is group for server in servers)
        leased = [s for s in by_state[ServerState.LEASED] if s.group is group and group.holder is s]
        assert len(leased) == (group.holder is not None), "one session per group"
        if group.waiting.values():
            assert group.holder or group.heap_item or group.recalled, f"nobody will wake the group {group.key}"
        if group.recalled is not None:
            assert group.recalled.state is ServerState.READY, f"recalled, but not ready: {group.recalled!r}"
            assert group.recalled.group is group
    counts = frontier.counts()
    assert counts["idle"] == len(by_state[ServerState.IDLE])
