"""The frontier's upper level: the known servers, what was learned about each, and which may be requested now."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Protocol

from crawlproject.frontier.entry import path_of
from crawlproject.frontier.guard.copies import CopyRun, learn_shared
from crawlproject.frontier.orders import FrontierOrders
from crawlproject.frontier.queues.heap import LazyHeap
from crawlproject.frontier.queues.ready_line import Domains, DomainShares, ReadyLine
from crawlproject.frontier.queues.url_queue import UrlQueue
from crawlproject.frontier.server import Group, Server
from crawlproject.frontier.states import IllegalStepError, ServerEvent, ServerState
from crawlproject.urls.server_key import host_of, server_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crawlproject.frontier.learning.expectation import Expectations
    from crawlproject.frontier.measurement import Measurement
    from crawlproject.frontier.politeness import Politeness
    from crawlproject.frontier.queues.protocols import ServerUrls

#: Servers reranked per page, about 10 µs each: causes no pause, however many servers wait.
RANKED_PER_PAGE = 4
#: Number of recent newcomers whose sessions decide whether newcomers may take all sessions.
RECENT_NEWCOMERS = 32
#: While at least this share of them answered, newcomers may take all sessions.
MANY_ANSWER = 0.5
#: Servers reranked in one round: roughly the best, which may get the next sessions. Others are reranked at the top.
MAX_RANKED = 2000


# Enum look-ups would take longer than anything else done here with a server.
IDLE, LEASED, READY, HELD = ServerState.IDLE, ServerState.LEASED, ServerState.READY, ServerState.HELD
RESTING, WAITING = ServerState.RESTING, ServerState.WAITING
DUE, EMPTY, REST = ServerEvent.DUE, ServerEvent.EMPTY, ServerEvent.REST
LEASE, RECALL, RELEASE, SET_ASIDE = ServerEvent.LEASE, ServerEvent.RECALL, ServerEvent.RELEASE, ServerEvent.SET_ASIDE
HOLD = ServerEvent.HOLD

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
    newcomers of each that are asked for at the same time.

    With ``admits_newcomers``, a ready server that has never answered stands in a line of its own and gets no session
    until the caller has admitted it: ``ask_newcomer`` takes the best one, ``admit`` ends its look-up.  While most
    sessions of newcomers fail, newcomers hold at most half of the sessions.
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
        self.admits_newcomers = False  # set before the first server
        self.domains = Domains()
        self.shares, self.look_ups = DomainShares(self.domains), DomainShares(self.domains)
        self.ready, self.admitted, self.asked = [ReadyLine[Server](self.shares) for _ in range(3)]
        self.newcomers = ReadyLine[Server](self.shares, self.look_ups)
        self.lines = (self.ready, self.admitted, self.newcomers, self.asked)
        self._guests = 0  # leased newcomers
        self.limit: float = inf  # sessions that may be open
        self._answering = 1.0  # moving share of newcomers that answered in their sessions
        self.resting: LazyHeap[Server | Group] = LazyHeap()
        self.groups: dict[str, Group] = {}
        self.leased = 0
        self.held = 0
        self._to_hold: set[Server] = set()  # leased servers that will be held
        self.now = 0.0  # the latest time seen
        self.last_rank = 0.0  # rank of the last leased server without its urgency: the worth of a second

    def tick(self, now: float) -> None:
        """Advance the time to ``now``."""
        if now > self.now:
            self.now = now

    def place(self, server: Server) -> None:
        """Move a server, unless it is leased or held, to the heap and position of its URLs, time and rank.

        O(log servers).
        """
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

    def lease(self, now: float, sessions: float = inf) -> Server | None:
        """Take the best server that may be requested now; None if there is none. O(log servers).

        ``sessions``: all that may be open, of which newcomers and domains may have a part.  Sets aside servers of busy
        groups on the way: O(log servers) for each, once.
        """
        self.limit = sessions
        self.shares.set_places(sessions)
        while (server := self.best(now)) is not None:
            assert server.heap_item is not None
            self.last_rank = max(0.0, -server.heap_item[0]) / server.urgency
            group = server.group
            if group is not None and not group.is_free(now):
                self._step(server, SET_ASIDE)
                continue
            if group is not None:
                group.holder = server
            self._step(server, LEASE)
            self.leased += 1
            self.shares.take(server)
            self._guests += server.line == ADMITTED
            return server
        return None

    def best(self, now: float) -> Server | None:
        """The ready server that gets the next session; None if there is none.

        One of a full domain only if no other is ready.  O(log servers) for each server that becomes due.
        """
        self.tick(now)
        self._wake_due(now)
        return self._best()

    def _best(self) -> Server | None:
        known = self.ready.peek()
        new = self.admitted.peek() if len(self.admitted) and self._may_invite() else None
        if known is None or new is None:
            return known or new
        return min(known, new, key=lambda server: (self._turn(server), server.heap_item))

    def _turn(self, server: Server) -> tuple[bool, float]:
        """Orders the best servers of several lines: the lowest is next, of equal ones the one that waits longest."""
        assert server.heap_item is not None
        return self.shares.is_full(server), server.heap_item[0]

    @property
    def newcomers_fail(self) -> bool:
        """Whether most of the latest newcomers did not answer in their sessions."""
        return self._answering < MANY_ANSWER

    def _may_invite(self) -> bool:
        """Whether another newcomer may get a session."""
        return not self.newcomers_fail or 2 * (self._guests + 1) <= max(2, self.limit)

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
            waiting -= self.admitted.crowded
            if all(self._turn(server) < self._turn(other) for other in others):
                waiting = 0
        if waiting >= admitted:
            return None
        self._line_up(server, ASKED)
        return server

    def admit(self, server: Server) -> bool:
        """Let a newcomer that was asked for get a session; False if it is no longer ready. O(log servers)."""
        if server.state is not READY or server.line != ASKED:
            return False
        self._line_up(server, ADMITTED)
        return True

    def _line_up(self, server: Server, line: int) -> None:
        """Move a ready server to another line, by its rank; it has waited since it became ready. O(log servers)."""
        assert server.heap_item is not None
        arrival = server.heap_item[1]
        self.lines[server.line].remove(server)
        self._leave_line(server)
        server.line = line
        if line == ASKED:
            self.look_ups.take(server)
        self.lines[line].push(server, self._key_by_rank(server), arrival)

    def _leave_line(self, server: Server) -> None:
        """The ready server leaves its line: if it was asked for, it no longer is."""
        if server.line == ASKED:
            self.look_ups.leave(server)

    def release(self, server: Server) -> None:
        """Return a leased server to the queue, or hold it; its group rests as long as the server. O(log servers)."""
        group = server.group
        if group is not None and group.holder is server:
            group.ready_at = max(group.ready_at, server.ready_at)
            group.holder = None
        self._step(server, RELEASE)
        self.leased -= 1
        self.shares.leave(server)
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

        Raises IllegalStepError and changes nothing if it has a session, open or parked.
        """
        if server.session is not None or server.parked is not None:
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
        return self.now if self._best() is not None else self.resting.first_key()

    def upcoming(self, count: int, until: float) -> list[Server]:
        """The ``count`` servers that ``lease`` would take next if nothing changed. O(count log count).

        First ready servers, best first, then those whose rest ends by ``until``, earliest first.  Not newcomers.
        """
        servers = self.ready.first(count)
        for due in self.resting.first(count - len(servers)):
            if due.heap_item is None or due.heap_item[0] > until:
                break
            server = due.waiting.peek() if isinstance(due, Group) else due
            if server is not None:
                servers.append(server)
        return servers

    def find_group(self, server: Server) -> None:
        """Put a new server into its politeness group, if there are groups."""
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
        """Put a leased server without a group into group ``key``; False if the server's group is busy or rests."""
        group = server.group or self._enter(server, key)
        if group.holder is server:
            return True
        if not group.is_free(self.now):
            return False
        group.holder = server
        return True

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
        if after is not before and server.heap_item is not None:
            self._heap(server, before).remove(server)
        if before is READY and after is not READY:
            self._leave_line(server)
        server.rerank_above = -inf if after is READY or after is WAITING or after is IDLE else inf
        if after is READY and after is not before:
            server.line = NEW if self.admits_newcomers and not server.answered else KNOWN
        if after is not IDLE and after is not LEASED and after is not HELD:
            key = server.ready_at if after is RESTING else self._key_by_rank(server)
            if server.heap_item is None:
                self._heap(server, after).push(server, key)
            else:
                self._heap(server, after).rekey(server, key)
        group = server.group
        if group is not None and after is not before:
            if group.recalled is server and after is not READY:
                group.recalled = None
            self._offer(group)

    def _event(self, server: Server) -> ServerEvent:
        if not server.urls or server.blocked:
            return EMPTY
        return REST if server.ready_at > self.now else DUE

    def _key_by_rank(self, server: Server) -> float:
        rank = self._rank(server)
        if server.demoted_because or (server.line and server.failures):  # the latter: of a newcomer
            # maps to [-1, 0): below all others, whose ranks are >= 0
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
        """Make servers ready whose rest, or whose group's rest, is over. O(log servers) for each."""
        while (due := self.resting.pop_due(now)) is not None:
            if isinstance(due, Group):
                server = due.recalled = due.waiting.pop()
            else:
                server = due
            if server is not None:
                event = self._event(server)
                self._step(server, RECALL if event is DUE and server.state is WAITING else event)

    def _offer(self, group: Group) -> None:
        """Schedule the recall of the group's best waiting server, and no other, for the end of the group's rest."""
        if group.holder is None and group.recalled is None and len(group.waiting) and group.heap_item is None:
            self.resting.push(group, group.ready_at)

    def _recall_better(self, recalled: Server, group: Group) -> None:
        """Recall another server of ``group`` if ``recalled`` no longer ranks best in it."""
        best = group.waiting.first_key()
        if best is not None and recalled.heap_item is not None and best < recalled.heap_item[0]:
            group.recalled = None
            self._offer(group)


class FrontierStore(Protocol):
    """Keeps a frontier beyond the process. Implemented in ``storage``."""

    def open_queue(self, key: str) -> ServerUrls:
        """An empty queue for the new server ``key``."""
        ...

    def read_ahead(self, urls: Sequence[tuple[Server, str]]) -> None:
        """Prefetch these URLs, given by server and path: their quality is about to be raised, if they are queued."""
        ...

    def changed(self, server: Server) -> None:
        """Note that ``server`` has changed, apart from its URLs. O(1)."""
        ...


class ServerTable:
    """Servers by key. Learning about a server moves it in ``queue`` and notifies the ``store``.

    ``by_quality``: whether queues sort URLs by quality.  ``politeness``, ``max_batch``: see ``Frontier``.
    """

    def __init__(
        self,
        queue: ServerQueue,
        expectations: Expectations,
        politeness: Politeness,
        max_batch: int,
        *,
        by_quality: bool,
    ) -> None:
        self.store: FrontierStore | None = None
        #: Change them by ``Frontier.block`` and ``Frontier.set_delay``.
        self.orders = FrontierOrders()
        self.penalizes_copies = True  # whether servers that show copies rank lower; set before the first server
        self._by_key: dict[str, Server] = {}
        self._queue = queue
        self._expectations = expectations
        self._outdated: list[Server] = []  # to be reranked, best last
        self._by_quality = by_quality
        self._politeness = politeness
        self._politeness_by_host = politeness.by_host()
        self._max_batch = max_batch

    # Servers by key

    def __len__(self) -> int:
        """Number of known servers. O(1)."""
        return len(self._by_key)

    def __iter__(self) -> Iterator[Server]:
        """All known servers."""
        return iter(self._by_key.values())

    def __getitem__(self, key: str) -> Server:
        """The server ``key``. O(1). Raises KeyError if it is unknown."""
        return self._by_key[key]

    def get(self, key: str) -> Server | None:
        """The server ``key``, if known. O(1)."""
        return self._by_key.get(key)

    def get_or_add(self, key: str) -> Server:
        """The server ``key``, added if unknown. O(1)."""
        server = self._by_key.get(key)
        if server is None:
            server = self.add(key, None if self.store is None else self.store.open_queue(key))
            self.changed(server)
        return server

    def add(self, key: str, urls: ServerUrls | None = None) -> Server:
        """Add a new server, with the queue ``urls`` or an empty one. O(1)."""
        own = UrlQueue(by_quality=self._by_quality, window=1) if urls is None else urls
        server = self._by_key[key] = Server(key, own, limit=1)
        server.blocked = self.orders.is_blocked(key)
        self._queue.find_group(server)
        self._expectations.meet(server)
        self._predict_session(server)
        return server

    def remove(self, server: Server) -> None:
        """Forget ``server``, which is in no heap. O(1).

        Whoever still refers to it finds an empty queue in memory, so that nothing reaches the store.
        """
        del self._by_key[server.key]
        server.urls = UrlQueue(by_quality=self._by_quality, window=server.limit)

    def locate(self, url: str) -> tuple[Server, str]:
        """The server of ``url``, added if unknown, and the path that its queue keeps. O(length of the host).

        Raises ValueError for a URL without a server.
        """
        end = url.find("/", 8)  # as in ``locate_known``
        server = self._by_key.get(url[:end]) if end > 0 else None
        if server is not None:
            return server, url[end:]
        server = self.get_or_add(server_key(url))
        return server, path_of(url, server.key)

    def locate_known(self, url: str) -> tuple[Server, str] | None:
        """``locate`` for a known server; None if the server is unknown."""
        end = url.find("/", 8)  # 8: length of "https://"
        # A URL that starts with a known key and a slash, as canonical URLs do, is on that server: no need to parse it.
        server = self._by_key.get(url[:end]) if end > 0 else None
        if server is not None:
            return server, url[end:]
        server = self._by_key.get(server_key(url))
        return None if server is None else (server, path_of(url, server.key))

    # Position of a server in the queue

    def changed(self, server: Server) -> None:
        """Notify the store that ``server`` has changed, here or elsewhere (its guard, its kinds of files). O(1)."""
        if self.store is not None:
            self.store.changed(server)

    def place(self, servers: Iterable[Server]) -> None:
        """Move each server to the position of its URLs. O(log servers) each."""
        place = self._queue.place
        for server in servers:
            if server.away_wait:  # urgency grows with the number of URLs
                self._expectations.update(server)
            place(server)

    def move(self, server: Server) -> None:
        """Move ``server`` to its current position and notify the store. O(log servers)."""
        self._queue.place(server)
        self.changed(server)

    def restored(self, server: Server) -> None:
        """Derive the values of ``server`` that are not stored; the caller must then place it."""
        server.update_worth(by_copies=self.penalizes_copies)
        self._predict_session(server)
        self._expectations.update(server)

    def expect(self, server: Server) -> None:
        """Predict times and next session of a server never contacted from all others. O(1), or O(batch)."""
        if self._expectations.meet(server):
            self._predict_session(server)
            self._expectations.update(server)

    def is_outdated(self) -> bool:
        """Whether ready servers are ranked by expectations that no longer hold, and no ``rank_some`` is under way."""
        queue = self._queue
        return not self._outdated and self._expectations.is_outdated(len(queue.ready) + len(queue.admitted))

    def rank_again(self) -> None:
        """Start a round of ``rank_some`` over the best ready servers. O(MAX_RANKED)."""
        self._outdated = self._queue.ready.about_first(MAX_RANKED)[::-1]

    def rank_some(self) -> None:
        """Rank the next ``RANKED_PER_PAGE`` servers of the round that ``rank_again`` started. O(log servers)."""
        if self._outdated:
            for server in self._outdated[-RANKED_PER_PAGE:]:
                if server.state is not HELD:  # it may have been removed since
                    self._rank(server)
            del self._outdated[-RANKED_PER_PAGE:]

    def rank_best(self, now: float) -> None:
        """Rerank the best ready server until it stays the best, ``RANKED_PER_PAGE`` times at most. O(log servers).

        The expectations of a server that was added or ranked long ago may have dropped since.
        """
        if not self._expectations.are_learned:
            return
        best = self._queue.best(now)
        for _ in range(RANKED_PER_PAGE):
            if best is None:
                return
            self._rank(best)
            before, best = best, self._queue.best(now)
            if best is before:
                return

    def _rank(self, server: Server) -> None:
        self.expect(server)
        self._queue.place(server)

    def _predict_session(self, server: Server) -> None:
        """O(1), or O(batch) if the length of its next session changes."""
        server.predict_session(self.politeness_of(server), self._max_batch)

    # Observations of a server

    def politeness_of(self, server: Server) -> Politeness:
        """The politeness rules of ``server``. O(1), with delays that were ordered O(labels)."""
        rules = self._politeness
        if self._politeness_by_host:
            rules = self._politeness_by_host.get(host_of(server.key), rules)
        if len(self.orders.delays) and (delay := self.orders.delay(server.key)) > rules.request_delay:
            rules = rules.with_delay(delay)
        return rules

    def obey_delay(self, server: Server, now: float) -> None:
        """Apply a delay that was set or removed: the next request waits for it, as if the last one had just ended if
        that is unknown. O(log servers)."""
        self._predict_session(server)
        self._expectations.update(server)
        delay = self.orders.delay(server.key)
        if delay:
            last_end = server.last_end if server.session is None else server.session.last_end
            server.ready_at = max(server.ready_at, (now if last_end == -inf else last_end) + delay)
            if server.session is not None:
                server.session.ready_at = max(server.session.ready_at, server.ready_at)
        self.move(server)

    def learn(self, measurement: Measurement) -> Server:
        """Learn from a finished request: estimates, polite wait, back-off. O(batch).

        The caller must then move the server.
        """
        self._queue.tick(measurement.now)
        server = self.get_or_add(measurement.server_key)
        politeness = self.politeness_of(server)
        server.learn(measurement, self._expectations.prior, politeness)
        server.predict_session(politeness, self._max_batch)
        return server

    def rest(self, key: str, now: float, fetch_time: float) -> None:
        """Start the polite wait of the server ``key`` after an answer, recorded or not. O(log servers)."""
        server = self.get_or_add(key)
        self._queue.tick(now)
        server.ready_at = max(server.ready_at, now + server.wait_after(fetch_time, self.politeness_of(server)))
        server.last_end = now
        if server.session is not None:
            server.session.ready_at = server.ready_at
            server.session.last_end = now
        self.move(server)

    def back_off(self, key: str, now: float, failures: int, retry_after: float | None = None, error: str = "") -> float:
        """End the server's session and let it rest as after ``failures`` consecutive failures.

        ``error``: message of the last failure.  Returns the end of the rest. O(log servers).
        """
        server = self.get_or_add(key)
        if error:
            server.note_error(error)
        self._queue.tick(now)
        server.ready_at = max(server.ready_at, now + self._politeness.backoff(failures, retry_after))
        if server.session is not None:
            server.session.ready_at = server.ready_at
            server.session.ending = True
        self.move(server)
        return server.ready_at

    def taken_over(self, key: str, contacted: float, closed_at: float | None) -> None:
        """Let the server ``key`` rest as if the process that had it before had contacted it at ``contacted``.

        ``closed_at``: when a connection of that process is certainly closed; None: it had none.  O(log servers).
        """
        server = self._by_key[key]
        wait = server.least_wait(self.politeness_of(server), in_session=closed_at is not None)
        at = max(contacted + wait, closed_at or 0.0)
        if server.ready_at < at:
            server.ready_at = at
            self.move(server)

    def set_crawl_delay(self, key: str, delay: float) -> None:
        """Keep ``delay`` seconds between any two requests to the server ``key`` (robots.txt). O(log servers)."""
        server = self.get_or_add(key)
        server.crawl_delay = delay
        self._predict_session(server)
        self._expectations.update(server)
        last_end = server.last_end if server.session is None else server.session.last_end
        server.ready_at = max(server.ready_at, last_end + self.politeness_of(server).request_wait(0.0, delay))
        if server.session is not None:
            server.session.ready_at = max(server.session.ready_at, server.ready_at)
        self.move(server)

    def connection_lost(self, key: str, now: float) -> None:
        """Learn that the server ``key`` closed its session's connection: it takes no further request. O(batch)."""
        server = self.get_or_add(key)
        server.learn_close(now)
        self._predict_session(server)
        self.changed(server)

    def learn_content(self, key: str, *, copy: bool) -> None:
        """Count a page of the server ``key`` by its content; ``copy``: it was seen before. O(log servers)."""
        server = self.get_or_add(key)
        server.pages += 1
        server.copies += copy
        if not copy:
            server.copy_run = None
        server.update_worth(by_copies=self.penalizes_copies)
        self.move(server)

    def learn_copy(self, key: str, content: int) -> int:
        """Count a page of the server ``key`` with the ``content`` (hash) of an earlier page; returns its count. O(1).

        Call ``learn_content`` first.  See ``CopyRun``.
        """
        server = self.get_or_add(key)
        server.copy_run = server.copy_run or CopyRun()
        self.changed(server)
        return server.copy_run.add(content)

    def learn_shared(self, key: str, first: str) -> str | None:
        """Learn that a page of the server ``key`` equals an earlier one at the same path of the server ``first``. O(1).

        Returns, once, the key of the server that this shows to be a mirror of the other.
        """
        servers = self.get_or_add(key), self.get_or_add(first)
        mirror = learn_shared(*servers)
        for server in servers:
            self.changed(server)
        return None if mirror is None else mirror.key

    def demote(self, key: str, factor: float) -> None:
        """Multiply the rank of the server ``key`` by ``factor`` (> 0) from now on. O(log servers)."""
        server = self.get_or_add(key)
        server.demotion = factor
        server.update_worth(by_copies=self.penalizes_copies)
        self.move(server)

    def rank_last(self, server: Server, reason: str) -> None:
        """Rank ``server`` below all others for this ``reason``; an empty one ends that. O(log servers)."""
        server.demoted_because = reason
        self.move(server)
