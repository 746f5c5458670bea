"""The upper level of the frontier: which server may be asked now, and which of them ranks best."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from crawlproject.frontier.queues.heap import LazyHeap
from crawlproject.frontier.server import Group, Server
from crawlproject.frontier.states import ServerEvent, ServerState

if TYPE_CHECKING:
    from collections.abc import Callable


# Looking up a member of an enum takes longer than anything else that is done here with a server.
IDLE, LEASED, READY = ServerState.IDLE, ServerState.LEASED, ServerState.READY
RESTING, WAITING = ServerState.RESTING, ServerState.WAITING
DUE, EMPTY, REST = ServerEvent.DUE, ServerEvent.EMPTY, ServerEvent.REST
LEASE, RECALL, RELEASE, SET_ASIDE = ServerEvent.LEASE, ServerEvent.RECALL, ServerEvent.RELEASE, ServerEvent.SET_ASIDE


class ServerQueue:
    """Ready servers by rank, resting ones by the time when their rest ends; the only place where their state changes.

    ``rank`` and ``rerank_above`` are the policy's, ``group_of`` is the frontier's.  A server moves in O(log servers);
    nothing scans.  The top of the resting heap tells exactly when something can be done next (as in BUbiNG's
    workbench).

    A politeness group lets one of its servers be leased at a time.  Servers found ready while their group is busy
    or rests are set aside in the group's own heap; when the group is free again, the best of them is recalled.
    """

    def __init__(
        self,
        rank: Callable[[Server], float],
        rerank_above: Callable[[Server, float], float],
        group_of: Callable[[str], str] | None = None,
    ) -> None:
        self._rank = rank
        self._rerank_above = rerank_above
        self._group_of = group_of
        self.ready: LazyHeap[Server] = LazyHeap()  # best first
        self.resting: LazyHeap[Server | Group] = LazyHeap()
        self.groups: dict[str, Group] = {}
        self.leased = 0
        self.now = 0.0  # the latest time seen
        self.last_rank = 0.0  # of the server leased last, without its urgency: what a second is worth

    def tick(self, now: float) -> None:
        """Time has passed."""
        if now > self.now:
            self.now = now

    def place(self, server: Server) -> None:
        """Put the server where its URLs, its time and its rank say, unless it is leased. O(log servers)."""
        state = server.state
        if state is LEASED:
            return
        if state is READY and server.urls and server.ready_at <= self.now:  # what happens most: due, and still ready
            self.ready.rekey(server, self._key_by_rank(server))
            return
        self._step(server, self._event(server))

    def lease(self, now: float) -> Server | None:
        """Take the best server that may be asked now; None if there is none. O(log servers).

        Each server of a busy group that is met on the way is set aside, once, in O(log servers).
        """
        self.tick(now)
        self._wake_due(now)
        while (key := self.ready.first_key()) is not None and (server := self.ready.pop()) is not None:
            self.last_rank = max(0.0, -key) / server.urgency
            group = server.group
            if group is not None and not group.is_free(now):
                self._step(server, SET_ASIDE)
                continue
            if group is not None:
                group.holder = server
            self._step(server, LEASE)
            self.leased += 1
            return server
        return None

    def best_rank(self, now: float) -> float | None:
        """Rank of the best server that may be asked now; None if there is none. O(log servers) for each that woke."""
        self.tick(now)
        self._wake_due(now)
        key = self.ready.first_key()
        return None if key is None else -key

    def release(self, server: Server) -> None:
        """Take a leased server back; its group rests as long as it does. O(log servers)."""
        group = server.group
        if group is not None and group.holder is server:
            group.ready_at = max(group.ready_at, server.ready_at)
            group.holder = None
        self._step(server, RELEASE)
        self.leased -= 1
        self.place(server)

    def first_due(self) -> float | None:
        """The earliest time at which ``lease`` can succeed; None if no server waits. O(1) amortised."""
        return self.now if len(self.ready) else self.resting.first_key()

    def upcoming(self, count: int, until: float) -> list[Server]:
        """The ``count`` servers that ``lease`` would take next if nothing changed: those ready, the best first, then
        those whose rest ends by ``until``, the earliest first. O(count log count).
        """
        servers = self.ready.first(count)
        for due in self.resting.first(count - len(servers)):
            if due.heap_item is None or due.heap_item[0] > until:
                break
            server = due.waiting.peek() if isinstance(due, Group) else due
            if server is not None:
                servers.append(server)
        return servers

    def group_of(self, server_key: str) -> Group | None:
        """The politeness group of a server; None where every server is one of its own, or that is not known yet."""
        return None if self._group_of is None else self._group(self._group_of(server_key))

    def _group(self, key: str) -> Group:
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = Group(key)
        return group

    def join(self, server: Server, key: str) -> bool:
        """Put a leased server into group ``key``, unless it has one; False if that must be left alone now."""
        if server.group is None:
            server.group = self._group(key)
        group = server.group
        if group.holder is server:
            return True
        if not group.is_free(self.now):
            return False
        group.holder = server
        return True

    def counts(self) -> dict[str, int]:
        """Servers by state, except idle ones. O(1), or O(groups) where there are any."""
        waiting = groups_resting = 0
        for group in self.groups.values():
            waiting += len(group.waiting)
            groups_resting += group.heap_item is not None
        resting = len(self.resting) - groups_resting
        return {"ready": len(self.ready), "resting": resting, "waiting": waiting, "leased": self.leased}

    def _step(self, server: Server, event: ServerEvent) -> None:
        """Let ``event`` happen to ``server``, and move it from heap to heap; it may have been taken out already."""
        before = server.state
        server.step(event)
        after = server.state
        if after is not before and server.heap_item is not None:
            self._heap(server, before).remove(server)
        server.rerank_above = inf if after is RESTING or after is LEASED else -inf
        if after is not IDLE and after is not LEASED:
            key = server.ready_at if after is RESTING else self._key_by_rank(server)
            if server.heap_item is None:
                self._heap(server, after).push(server, key)
            else:
                self._heap(server, after).rekey(server, key)
        if server.group is not None and after is not before:
            self._offer(server.group)

    def _event(self, server: Server) -> ServerEvent:
        if not server.urls:
            return EMPTY
        return REST if server.ready_at > self.now else DUE

    def _key_by_rank(self, server: Server) -> float:
        rank = self._rank(server)
        if server.demoted_because:  # below all others, which have a rank >= 0
            rank = rank / (1.0 + rank) - 1.0
        server.rerank_above = self._rerank_above(server, rank)
        return -rank

    def _heap(self, server: Server, state: ServerState) -> LazyHeap[Server] | LazyHeap[Server | Group]:
        if state is READY:
            return self.ready
        if state is WAITING:
            assert server.group is not None
            return server.group.waiting
        return self.resting

    def _wake_due(self, now: float) -> None:
        """Bring forward the servers whose rest, or whose group's rest, is over. O(log servers) for each."""
        while (due := self.resting.pop_due(now)) is not None:
            server = due.waiting.pop() if isinstance(due, Group) else due
            if server is not None:
                event = self._event(server)
                self._step(server, RECALL if event is DUE and server.state is WAITING else event)

    def _offer(self, group: Group) -> None:
        """Recall the group's best waiting server when the group may be asked again."""
        if group.holder is None and len(group.waiting) and group.heap_item is None:
            self.resting.push(group, group.ready_at)
