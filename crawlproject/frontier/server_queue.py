"""The order of servers: which gets the next session, and when each may be requested again."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from crawlproject.frontier.queues.heap import LazyHeap
from crawlproject.frontier.queues.ready_line import AddressPlaces, Domains, DomainShares, ReadyLine
from crawlproject.frontier.server import Awaited, Group, Server
from crawlproject.frontier.states import IllegalStepError, ServerEvent, ServerState

if TYPE_CHECKING:
    from collections.abc import Callable

#: Servers reranked per page, about 10 µs each: causes no pause, however many servers wait.
RANKED_PER_PAGE = 4
#: Servers reranked in one round: roughly the best, which may get the next sessions. Others are reranked at the top.
MAX_RANKED = 2000
#: Servers made ready by one call, 8 µs each: after the machine has slept, all of them may be due at once.
WOKEN_AT_ONCE = 100
#: Number of recent newcomers whose sessions decide whether newcomers may take all sessions.
RECENT_NEWCOMERS = 32
#: While at least this share of them answered, newcomers may take all sessions.
MANY_ANSWER = 0.5

# Enum look-ups would take longer than anything else done here with a server.
IDLE, LEASED, READY, HELD = ServerState.IDLE, ServerState.LEASED, ServerState.READY, ServerState.HELD
RESTING, WAITING = ServerState.RESTING, ServerState.WAITING
DUE, EMPTY, REST = ServerEvent.DUE, ServerEvent.EMPTY, ServerEvent.REST
LEASE, RECALL, RELEASE, SET_ASIDE = ServerEvent.LEASE, ServerEvent.RECALL, ServerEvent.RELEASE, ServerEvent.SET_ASIDE
HOLD = ServerEvent.HOLD
NOT_AWAITED, AWAITED, AWAITED_VAINLY = Awaited

# The lines of ready servers (``Server.line``), by ``ServerQueue.lines``.
KNOWN, ADMITTED, NEW, ASKED = range(4)


class ServerQueue:
    """Ready servers by rank, resting ones by the end of their rest; the only place that changes a server's state.

    ``rank`` and ``rerank_above`` come from the policy, ``group_of`` from the frontier.  Moving a server is
    O(log servers); nothing scans.  The top of the resting heap is exactly the time of the next possible step (as in
    BUbiNG's workbench).

    Only one server of a politeness group is leased at a time.  A ready server whose group is busy or rests is set aside
    in the group's own heap; when the group is free again, its best server is recalled.

    ``shares`` limits the sessions of each registered domain while servers of other domains are ready, ``look_ups`` the
    newcomers of each that are asked for at the same time, ``addresses`` the sessions at each IP address.

    With ``admits_newcomers``, a ready server that has never answered stands in a line of its own and gets no session
    until the caller has admitted it: ``ask_newcomer`` takes the best one, ``admit`` ends its look-up.  While most
    sessions of newcomers fail, newcomers hold at most half of the sessions.
    """

    def __init__(
        self,
        rank: Callable[[Server], float],
        rerank_above: Callable[[Server, float], float],
        group_of: Callable[[str], str] | None = None,
        *,
        admits_newcomers: bool = False,
    ) -> None:
        self._rank = rank
        self._rerank_above = rerank_above
        self._group_of = group_of
        self._admits_newcomers = admits_newcomers
        self.domains = Domains()
        self.shares, self.look_ups = DomainShares(self.domains), DomainShares(self.domains)
        self.addresses = AddressPlaces()
        self.ready, self.admitted, self.asked = [ReadyLine[Server](self.addresses, self.shares) for _ in range(3)]
        self.newcomers = ReadyLine[Server](self.addresses, self.shares, self.look_ups)
        self.lines = (self.ready, self.admitted, self.newcomers, self.asked)
        self._guests = 0  # leased newcomers
        self.limit: float = inf  # sessions that may be open
        self._answering = 1.0  # moving share of newcomers that answered in their sessions
        self.resting: LazyHeap[Server | Group] = LazyHeap()
        self.groups: dict[str, Group] = {}
        self.leased = 0
        self._awaited = [0, 0, 0]  # servers, by ``Server.awaited``; of the first only the changes
        self.held = 0
        self._to_hold: set[Server] = set()  # leased servers that will be held
        self.outdated: list[Server] = []  # to be reranked by ``rank_some``, best last
        self.now = 0.0  # the latest time seen
        self.last_rank = 0.0  # rank of the last leased server: the worth of a second

    def share_sessions(self, share: float) -> None:
        """Limit each registered domain to this ``share`` of the sessions while others have ready servers; 1: no limit.

        Call before the first URL.
        """
        self.shares.limit(share)
        self.look_ups.limit(share)

    def tick(self, now: float) -> None:
        """Advance the time to ``now``, in seconds. O(1): what is due by then moves when it is asked for."""
        if now > self.now:
            self.now = now

    def place(self, server: Server) -> None:
        """Move a server, unless it is leased or held, to its heap and position. O(log servers)."""
        state = server.state
        if state is LEASED or state is HELD:
            return
        if state is READY and server.urls and server.ready_at <= self.now and not server.blocked:  # most frequent
            self.lines[server.line].rekey(server, self._key_by_rank(server))
            if server.group is not None and server.group.recalled is server:
                self._recall_better(server, server.group)
            return
        event = self._event(server)
        if event is DUE and state is WAITING and server.group is not None and server.group.is_free(self.now):
            event = RECALL  # it may now rank better than the recalled server
        self._step(server, event)

    def rank_again(self) -> None:
        """Start a round of ``rank_some`` over the best ready servers. O(MAX_RANKED)."""
        self.outdated = self.ready.about_first(MAX_RANKED)[::-1]

    def rank_some(self, expect: Callable[[Server], None]) -> None:
        """Rank the next ``RANKED_PER_PAGE`` servers of the round, each after ``expect``. O(log servers)."""
        for server in self.outdated[-RANKED_PER_PAGE:]:
            if server.state is not HELD:  # it may have been removed since
                expect(server)
                self.place(server)
        del self.outdated[-RANKED_PER_PAGE:]

    def rank_best(self, now: float, expect: Callable[[Server], None]) -> None:
        """Rerank the best ready server, which may have been ranked long ago, until it stays best. O(log servers)."""
        best = self.best(now)
        for _ in range(RANKED_PER_PAGE):
            if best is None:
                return
            expect(best)
            self.place(best)
            before, best = best, self._best()
            if best is before:
                return

    def lease(self, now: float, sessions: float = inf) -> Server | None:
        """Take the best server that may be requested now; None if there is none. O(log servers).

        ``sessions``: all that may be open; domains, and newcomers while most of them fail, may have a part of them.
        Sets aside servers of busy groups on the way: O(log servers) for each, once.
        """
        self.limit = sessions
        self.shares.set_places(sessions)
        while (server := self.best(now)) is not None:
            assert server.heap_item is not None
            self.last_rank = max(0.0, -server.heap_item[0])
            group = server.group
            if group is not None and not group.is_free(now):
                self._step(server, SET_ASIDE)
                continue
            if group is not None:
                group.holder = server
            self._step(server, LEASE)
            self.leased += 1
            self.shares.take(server)
            self.addresses.take(server)
            self._guests += server.line == ADMITTED
            return server
        return None

    def best(self, now: float) -> Server | None:
        """The ready server that gets the next session; None if there is none. O(log servers) for each that is due."""
        self.tick(now)
        self._wake_due(now)
        return self._best()

    def _best(self) -> Server | None:
        known = self.ready.peek()
        invites = not self.newcomers_fail or 2 * (self._guests + 1) <= max(2, self.limit)
        new = self.admitted.peek() if len(self.admitted) and invites else None
        if known is None or new is None:
            return known or new
        return min(known, new, key=lambda server: (self._turn(server), server.heap_item))

    def _turn(self, server: Server) -> tuple[bool, float]:
        assert server.heap_item is not None
        return self.shares.is_full(server), server.heap_item[0]

    @property
    def newcomers_fail(self) -> bool:
        """Whether most of the latest newcomers did not answer in their sessions."""
        return self._answering < MANY_ANSWER

    def someone_waits(self, now: float, *, is_full: bool) -> bool:
        """Whether a ready server would get the place of a newcomer whose session ended. O(log servers) amortised.

        Only servers that rank neither last nor beyond their domain's share count.  ``is_full``: all sessions are open;
        else only newcomers wait for places of others.
        """
        self.tick(now)
        self._wake_due(now)
        lines = (self.admitted, self.ready) if is_full else (self.admitted,)
        first = [line.peek() for line in lines]
        return any(server is not None and self._turn(server) <= (False, 0.0) for server in first)

    def ask_newcomer(self, now: float, admitted: int) -> Server | None:
        """The best newcomer to be looked up; None if there is none. O(log servers).

        Also None while ``admitted`` of them wait for a session, unless it ranks above all servers with one.  Those
        of full domains have ``admitted`` places with all others, and leave these as many of their own.
        """
        self.tick(now)
        self._wake_due(now)
        self.look_ups.set_places(admitted)
        server = self.newcomers.peek()
        if server is None:
            return None
        others = [first for line in (self.ready, self.admitted) if (first := line.peek()) is not None]
        waiting = len(self.admitted) + len(self.asked)
        if not self.shares.is_full(server):
            waiting -= self.admitted.crowded  # also those at full addresses: others are found only by their names
            if all(self._turn(server) < self._turn(other) for other in others):
                waiting = 0
        if waiting >= admitted:
            return None
        self._line_up(server, ASKED)
        self.look_ups.take(server)
        return server

    def admit(self, server: Server, address: str = "") -> bool:
        """Let a newcomer that was asked for get a session; False if it is no longer ready. O(log servers).

        ``address``: its IP address, at which sessions are limited; empty: at none.
        """
        if server.state is not READY or server.line != ASKED:
            return False
        self.look_ups.leave(server)
        self._line_up(server, ADMITTED, address)
        return True

    def _line_up(self, server: Server, line: int, address: str = "") -> None:
        """Move a ready server to another line, by its rank; it has waited since it became ready. O(log servers)."""
        assert server.heap_item is not None
        arrival = server.heap_item[1]
        self.lines[server.line].remove(server)
        server.line = line
        server.address = address or server.address
        self.lines[line].push(server, self._key_by_rank(server), arrival)

    def release(self, server: Server) -> None:
        """Return a leased server to the queue, or hold it; its group rests as long as the server. O(log servers)."""
        group = server.group
        if group is not None and group.holder is server:
            group.ready_at = max(group.ready_at, server.ready_at)
            group.holder = None
        self._step(server, RELEASE)
        self.leased -= 1
        self.shares.leave(server)
        self.addresses.leave(server)
        if server.line == ADMITTED:
            self._guests -= 1
            if server.answered or server.failures:
                self._answering += (server.answered - self._answering) / RECENT_NEWCOMERS
        if server in self._to_hold:
            self.hold(server)
        else:
            self.place(server)

    def hold(self, server: Server) -> None:
        """Give ``server`` no further session: it is held now, or when its session ends. O(log servers)."""
        if server.state is LEASED:
            self._to_hold.add(server)
            return
        self.held += server.state is not HELD
        self._to_hold.discard(server)
        self._step(server, HOLD)

    def remove(self, server: Server) -> None:
        """Forget ``server``, and its group if it was the only one. O(log servers).

        Raises IllegalStepError and changes nothing if it has a session.
        """
        if server.session is not None:
            raise IllegalStepError(f"cannot be removed, it has a session: {server!r}")
        self.hold(server)
        self.held -= 1
        group, server.group = server.group, None
        if group is not None:
            group.members -= 1
            if not group.members:
                del self.groups[group.key]
                if group.heap_item is not None:
                    self.resting.remove(group)

    def first_due(self) -> float | None:
        """The earliest time at which ``lease`` can succeed; None if no server waits. O(1) amortised."""
        if self._best() is not None or self.ready.is_unsure or self.admitted.is_unsure:
            return self.now
        return self.resting.first_key()

    def upcoming(self, count: int, until: float) -> list[str]:
        """Keys of roughly the ``count`` servers that ``lease`` would take next if nothing changed. O(count).

        First ready servers, the best first, then those whose rest ends by ``until``.  Not newcomers.
        """
        servers: list[Server | None] = [*self.ready.about_first(count)]
        resting = self.resting.about_first(count - len(servers))
        due = [each for each in resting if each.heap_item is not None and each.heap_item[0] <= until]
        servers += [each.waiting.peek() if isinstance(each, Group) else each for each in due]
        return [server.key for server in servers if server is not None]

    def find_group(self, server: Server) -> None:
        """Put a new server into its politeness group, if there are groups. O(1)."""
        if self._group_of is not None:
            self._enter(server, self._group_of(server.key))

    def _enter(self, server: Server, key: str) -> Group:
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = Group(key)
        server.group = group
        group.members += 1
        return group

    def join(self, server: Server, key: str) -> bool:
        """Put a leased server into the politeness group of its IP address ``key``, unless it has a group. O(1).

        False if the group is busy or rests: then the caller must close the session without a request.
        """
        group = server.group or self._enter(server, key)
        if group.holder is server:
            return True
        if not group.is_free(self.now):
            return False
        group.holder = server
        return True

    def count(self, server: Server) -> None:
        """Note whether the crawl waits for ``server``: its state, or what was learned about it, has changed. O(1)."""
        awaited = AWAITED
        if server.state is IDLE or server.state is HELD:
            awaited = NOT_AWAITED
        elif server.failures and not server.answered:
            awaited = AWAITED_VAINLY
        if awaited is not server.awaited:
            self._awaited[server.awaited] -= 1
            self._awaited[awaited] += 1
            server.awaited = awaited

    @property
    def only_failing(self) -> bool:
        """Whether all servers that have URLs or a session fail and have never answered, and there are some. O(1)."""
        return self._awaited[AWAITED_VAINLY] > 0 == self._awaited[AWAITED]

    @property
    def shut(self) -> int:
        """Number of ready servers set aside because their IP address is full. O(full addresses)."""
        return self.ready.shut + self.admitted.shut

    def counts(self) -> dict[str, int]:
        """Number of servers in each state except idle. O(1), O(groups) with groups."""
        waiting = groups_resting = 0
        for group in self.groups.values():
            waiting += len(group.waiting)
            groups_resting += group.heap_item is not None
        resting = len(self.resting) - groups_resting
        ready, leased, held = sum(map(len, self.lines)), self.leased, self.held
        return {"ready": ready, "resting": resting, "waiting": waiting, "leased": leased, "held": held}

    def _step(self, server: Server, event: ServerEvent) -> None:
        """Apply ``event`` to ``server`` and move it between heaps; it may have left its heap already."""
        before = server.state
        server.step(event)
        after = server.state
        is_moved = after is not before
        if is_moved:
            if server.heap_item is not None:
                self._heap(server, before).remove(server)
            if before is READY and server.line == ASKED:
                self.look_ups.leave(server)
            elif after is READY:
                server.line = NEW if self._admits_newcomers and not server.answered else KNOWN
        if after is LEASED or after is HELD:
            server.rerank_above = inf
        elif after is IDLE:
            server.rerank_above = -inf
        else:
            if after is RESTING:
                server.rerank_above, key = inf, server.ready_at
            else:
                key = self._key_by_rank(server)
            heap = self._heap(server, after)
            if server.heap_item is None:
                heap.push(server, key)
            else:
                heap.rekey(server, key)
        self.count(server)
        group = server.group
        if group is not None and is_moved:
            if group.recalled is server and after is not READY:
                group.recalled = None
            self._offer(group)

    def _event(self, server: Server) -> ServerEvent:
        if not server.urls or server.blocked:
            return EMPTY
        return REST if server.ready_at > self.now else DUE

    def _key_by_rank(self, server: Server) -> float:
        rank = self._rank(server)
        if server.line and server.failures:  # a newcomer: [-1, 0) is below all others, whose ranks are >= 0
            rank = rank / (1.0 + rank) - 1.0
        server.rerank_above = self._rerank_above(server, rank)
        return -rank

    def _heap(
        self, server: Server, state: ServerState
    ) -> ReadyLine[Server] | LazyHeap[Server] | LazyHeap[Server | Group]:
        if state is READY:
            return self.lines[server.line]
        if state is WAITING:
            assert server.group is not None
            return server.group.waiting
        return self.resting

    def _wake_due(self, now: float) -> None:
        """Make servers ready whose rest, or whose group's rest, is over: the first ``WOKEN_AT_ONCE``. O(log servers)
        for each; ``first_due`` brings the caller back for the others."""
        for _ in range(WOKEN_AT_ONCE):
            due = self.resting.pop_due(now)
            if due is None:
                return
            if isinstance(due, Group):
                server = due.recalled = due.waiting.pop()
            else:
                server = due
            if server is not None:
                event = self._event(server)
                self._step(server, RECALL if event is DUE and server.state is WAITING else event)

    def _offer(self, group: Group) -> None:
        if group.holder is None and group.recalled is None and len(group.waiting) and group.heap_item is None:
            self.resting.push(group, group.ready_at)

    def _recall_better(self, recalled: Server, group: Group) -> None:
        best = group.waiting.first_key()
        if best is not None and recalled.heap_item is not None and best < recalled.heap_item[0]:
            group.recalled = None
            self._offer(group)
