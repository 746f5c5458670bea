"""The upper level of the frontier: which server may be asked now, and which of them ranks best."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from crawlproject.frontier.queues.heap import LazyHeap
from crawlproject.frontier.server import Group, Server, ServerState

if TYPE_CHECKING:
    from crawlproject.frontier.policy import Policy


# Looking up a member of an enum takes longer than anything else that is done here with a server.
IDLE, LEASED, READY = ServerState.IDLE, ServerState.LEASED, ServerState.READY
RESTING, WAITING = ServerState.RESTING, ServerState.WAITING


class ServerQueue:
    """Ready servers by rank, resting ones by the time when their rest ends.

    A server moves in O(log servers); nothing scans.  The top of the resting heap tells exactly when something
    can be done next (as in BUbiNG's workbench).

    A politeness group lets one of its servers be leased at a time.  Servers found ready while their group is busy
    or rests are set aside in the group's own heap; when the group is free again, the best of them comes forward.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._moving_quality = getattr(policy, "moving_quality", None)
        self.ready: LazyHeap[Server] = LazyHeap()  # best first
        self.resting: LazyHeap[Server | Group] = LazyHeap()
        self.groups: dict[str, Group] = {}
        self.leased = 0
        self.now = 0.0  # the latest time seen
        self.last_rank = 0.0  # of the server leased last, but for its urgency: what a second is worth

    def tick(self, now: float) -> None:
        """Time has passed."""
        if now > self.now:
            self.now = now

    def place(self, server: Server) -> None:
        """Put the server where its URLs, its time and its rank say, unless it is leased. O(log servers)."""
        state = server.state
        if state is LEASED:
            return
        if state is READY and server.urls and server.ready_at <= self.now:  # what happens most
            self.ready.rekey(server, self._key_by_rank(server))
            return
        target = self._target(server)
        server.moving_quality = inf if target is RESTING else -inf
        if state is target:
            if target is not IDLE:
                self._heap(server).rekey(server, self._key(server))
            return
        if state is not IDLE:
            self._heap(server).remove(server)
        server.state = target
        if target is not IDLE:
            self._heap(server).push(server, self._key(server))
        if server.group is not None:
            self._offer(server.group)

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
                server.state = WAITING
                group.waiting.push(server, self._key(server))
                self._offer(group)
                continue
            self._leased(server)
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
        self.leased -= 1
        server.state = IDLE
        group = server.group
        if group is not None and group.holder is server:
            group.ready_at = max(group.ready_at, server.ready_at)
            group.holder = None
            self._offer(group)
        self.place(server)

    def first_due(self) -> float | None:
        """The earliest time at which ``lease`` can succeed; None if no server waits. O(1) amortised."""
        return self.now if len(self.ready) else self.resting.first_key()

    def upcoming(self, count: int, until: float) -> list[Server]:
        """The ``count`` servers that ``lease`` would take next, but for what changes: those ready, the best first, then
        those whose rest ends by ``until``, the first first. O(count log count).
        """
        servers = self.ready.first(count)
        for due in self.resting.first(count - len(servers)):
            if due.heap_item is None or due.heap_item[0] > until:
                break
            server = due.waiting.peek() if isinstance(due, Group) else due
            if server is not None:
                servers.append(server)
        return servers

    def group(self, key: str) -> Group:
        """The politeness group ``key``."""
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = Group(key)
        return group

    def join(self, server: Server, key: str) -> bool:
        """Put a leased server into group ``key``, unless it has one; False if that must be left alone now."""
        if server.group is None:
            server.group = self.group(key)
        group = server.group
        if group.holder is server:
            return True
        if not group.is_free(self.now):
            return False
        group.holder = server
        return True

    def counts(self) -> dict[str, int]:
        """Servers by state but idle. O(1), or O(groups) where there are any."""
        resting = len(self.resting)
        for group in self.groups.values():
            resting += len(group.waiting) - (group.heap_item is not None)
        return {"ready": len(self.ready), "resting": resting, "leased": self.leased}

    def _leased(self, server: Server) -> None:
        server.state = LEASED
        server.moving_quality = inf
        self.leased += 1
        if server.group is not None:
            server.group.holder = server

    def _target(self, server: Server) -> ServerState:
        if not server.urls:
            return IDLE
        if server.ready_at > self.now:
            return RESTING
        return WAITING if server.state is WAITING else READY

    def _key(self, server: Server) -> float:
        return server.ready_at if server.state is RESTING else self._key_by_rank(server)

    def _key_by_rank(self, server: Server) -> float:
        rank = self._policy.rank(server)
        if server.guarded:  # after all others, which have a rank >= 0
            rank = rank / (1.0 + rank) - 1.0
        if self._moving_quality is not None:
            server.moving_quality = self._moving_quality(server, rank)
        return -rank

    def _heap(self, server: Server) -> LazyHeap[Server] | LazyHeap[Server | Group]:
        if server.state is READY:
            return self.ready
        if server.state is WAITING:
            assert server.group is not None
            return server.group.waiting
        return self.resting

    def _wake_due(self, now: float) -> None:
        """Bring forward the servers whose rest, or whose group's rest, is over. O(log servers) for each."""
        while (due := self.resting.pop_due(now)) is not None:
            server = due.waiting.pop() if isinstance(due, Group) else due
            if server is not None:
                server.state = IDLE
                self.place(server)

    def _offer(self, group: Group) -> None:
        """Have the group's best waiting server come forward when the group may be asked again."""
        if group.holder is None and len(group.waiting) and group.heap_item is None:
            self.resting.push(group, group.ready_at)
