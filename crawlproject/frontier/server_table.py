"""The upper level of the frontier: the servers met, what is learned of each, and which of them may be asked now."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Protocol

from crawlproject.frontier.entry import path_of
from crawlproject.frontier.guard.copies import CopyRun, learn_shared
from crawlproject.frontier.queues.heap import LazyHeap
from crawlproject.frontier.queues.url_queue import UrlQueue
from crawlproject.frontier.server import Group, Server
from crawlproject.frontier.states import ServerEvent, ServerState
from crawlproject.urls.server_key import host_of, server_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crawlproject.frontier.learning.expectation import Expectations
    from crawlproject.frontier.measurement import Measurement
    from crawlproject.frontier.politeness import Politeness
    from crawlproject.frontier.queues.protocols import ServerUrls

#: How many servers a page may cause to be ranked again, about 10 µs each: no pause, however many servers wait.
RANKED_PER_PAGE = 4
#: Only so many, about the best, are: those that may get one of the next sessions. The others are when they come to
#: the top.
MAX_RANKED = 2000


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
            if server.group is not None and server.group.recalled is server:
                self._recall_better(server, server.group)
            return
        event = self._event(server)
        if event is DUE and state is WAITING and server.group is not None and server.group.is_free(self.now):
            event = RECALL  # it may rank better now than the one that was recalled
        self._step(server, event)

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
        group = server.group
        if group is not None and after is not before:
            if group.recalled is server and after is not READY:
                group.recalled = None
            self._offer(group)

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
            if isinstance(due, Group):
                server = due.recalled = due.waiting.pop()
            else:
                server = due
            if server is not None:
                event = self._event(server)
                self._step(server, RECALL if event is DUE and server.state is WAITING else event)

    def _offer(self, group: Group) -> None:
        """Recall the group's best waiting server, and no other, when the group may be contacted again."""
        if group.holder is None and group.recalled is None and len(group.waiting) and group.heap_item is None:
            self.resting.push(group, group.ready_at)

    def _recall_better(self, recalled: Server, group: Group) -> None:
        """Recall another server of ``group`` if ``recalled`` no longer ranks best in it."""
        best = group.waiting.first_key()
        if best is not None and recalled.heap_item is not None and best < recalled.heap_item[0]:
            group.recalled = None
            self._offer(group)


class FrontierStore(Protocol):
    """Where a frontier outlives the process. Implemented in ``storage``."""

    def open_queue(self, key: str) -> ServerUrls:
        """An empty queue for the server ``key``, which has not been met before."""
        ...

    def read_ahead(self, urls: Sequence[tuple[Server, str]]) -> None:
        """The quality of these URLs, by server and path, is about to be raised, if they are queued."""
        ...

    def changed(self, server: Server) -> None:
        """Something about ``server`` has changed besides its URLs. O(1)."""
        ...


class ServerTable:
    """Servers by key. Whatever is learned here moves the server in ``queue`` and is told the ``store``.

    ``by_quality``: how their URLs are sorted.  ``politeness``, ``max_batch``: see ``Frontier``.
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
        self.penalizes_copies = True  # whether servers that show copies rank lower; set before the first is met
        self._by_key: dict[str, Server] = {}
        self._queue = queue
        self._expectations = expectations
        self._outdated: list[Server] = []  # to be ranked again, the best last
        self._by_quality = by_quality
        self._politeness = politeness
        self._politeness_by_host = politeness.by_host()
        self._max_batch = max_batch

    # Servers by key

    def __len__(self) -> int:
        """How many servers were ever met. O(1)."""
        return len(self._by_key)

    def __iter__(self) -> Iterator[Server]:
        """All servers ever met."""
        return iter(self._by_key.values())

    def __getitem__(self, key: str) -> Server:
        """The server ``key``. O(1). Raises KeyError where it was never met."""
        return self._by_key[key]

    def get(self, key: str) -> Server | None:
        """The server ``key``, if a URL of it was ever met. O(1)."""
        return self._by_key.get(key)

    def get_or_add(self, key: str) -> Server:
        """The server ``key``, met before or not. O(1)."""
        server = self._by_key.get(key)
        if server is None:
            server = self.add(key, None if self.store is None else self.store.open_queue(key))
            self.changed(server)
        return server

    def add(self, key: str, urls: ServerUrls | None = None) -> Server:
        """A server not met before, with a queue of its own or the one given. O(1)."""
        own = UrlQueue(by_quality=self._by_quality, window=1) if urls is None else urls
        server = self._by_key[key] = Server(key, own, limit=1)
        server.group = self._queue.group_of(key)
        self._expectations.meet(server)
        self._predict_session(server)
        return server

    def locate(self, url: str) -> tuple[Server, str]:
        """The server of ``url``, met before or not, and what its queue keeps of the URL. O(length of the host).

        Raises ValueError where there is no server.
        """
        return self.locate_known(url) or (server := self.get_or_add(server_key(url)), path_of(url, server.key))

    def locate_known(self, url: str) -> tuple[Server, str] | None:
        """``locate``, if the server was met before."""
        end = url.find("/", 8)  # the shortest "https://" ends there
        # a URL that starts with a key and a slash, as all canonical ones do, is of that server: no need to parse it
        server = self._by_key.get(url[:end]) if end > 0 else None
        if server is not None:
            return server, url[end:]
        server = self._by_key.get(server_key(url))
        return None if server is None else (server, path_of(url, server.key))

    # Where a server stands in the queue

    def changed(self, server: Server) -> None:
        """Something that is stored of ``server`` has changed, here or outside (its guard, its kinds of files). O(1)."""
        if self.store is not None:
            self.store.changed(server)

    def place(self, servers: Iterable[Server]) -> None:
        """Put each where its URLs say. O(log servers) each."""
        place = self._queue.place
        for server in servers:
            if server.away_wait:  # the more URLs, the more urgent
                self._expectations.update(server)
            place(server)

    def move(self, server: Server) -> None:
        """Put it where it belongs now, and tell the store. O(log servers)."""
        self._queue.place(server)
        self.changed(server)

    def restored(self, server: Server) -> None:
        """What is known of ``server`` has been read from a store: derive the rest of it. It must then be placed."""
        server.update_worth(by_copies=self.penalizes_copies)
        self._predict_session(server)
        self._expectations.update(server)

    def expect(self, server: Server) -> None:
        """Expect of it what all servers have taught, if it was never contacted, and predict its next session."""
        if self._expectations.meet(server):
            self._predict_session(server)
            self._expectations.update(server)

    def is_outdated(self) -> bool:
        """Whether ready servers are ranked by expectations that no longer hold, and no ``rank_some`` is under way."""
        return not self._outdated and self._expectations.is_outdated(len(self._queue.ready))

    def rank_again(self) -> None:
        """From now on ``rank_some`` goes through the best ready servers. O(MAX_RANKED)."""
        self._outdated = self._queue.ready.about_first(MAX_RANKED)[::-1]

    def rank_some(self) -> None:
        """Rank the next ``RANKED_PER_PAGE`` of the servers that ``rank_again`` has found. O(log servers)."""
        if self._outdated:
            for server in self._outdated[-RANKED_PER_PAGE:]:
                self._rank(server)
            del self._outdated[-RANKED_PER_PAGE:]

    def rank_best(self, now: float) -> None:
        """Rank the best ready server again, and the one that then is the best, ``RANKED_PER_PAGE`` at most.

        Less may be expected now of a server that was met, or ranked, long ago.  O(log servers).
        """
        if not self._expectations.are_learned:
            return
        ready = self._queue.ready
        self._queue.best_rank(now)  # those whose rest is over are among them
        for _ in range(RANKED_PER_PAGE):
            best = ready.peek()
            if best is not None:
                self._rank(best)
            if best is ready.peek():
                return

    def _rank(self, server: Server) -> None:
        self.expect(server)
        self._queue.place(server)

    def _predict_session(self, server: Server) -> None:
        """O(1), or O(batch) where the length of its next session changes."""
        server.predict_session(self.politeness_of(server), self._max_batch)

    # What a server did and said

    def politeness_of(self, server: Server) -> Politeness:
        """The rules of waiting that hold for it. O(1)."""
        if not self._politeness_by_host:
            return self._politeness
        return self._politeness_by_host.get(host_of(server.key), self._politeness)

    def learn(self, measurement: Measurement) -> Server:
        """Learn from a request that ended: estimates, polite wait, back-off. O(batch).

        The server must then be moved.
        """
        self._queue.tick(measurement.now)
        server = self.get_or_add(measurement.server_key)
        politeness = self.politeness_of(server)
        server.learn(measurement, self._expectations.prior, politeness)
        server.predict_session(politeness, self._max_batch)
        return server

    def rest(self, key: str, now: float, fetch_time: float) -> None:
        """The server ``key`` has answered: the polite wait begins, whether or not this is recorded. O(log servers)."""
        server = self.get_or_add(key)
        self._queue.tick(now)
        server.ready_at = max(server.ready_at, now + server.wait_after(fetch_time, self.politeness_of(server)))
        server.last_end = now
        if server.session is not None:
            server.session.ready_at = server.ready_at
            server.session.last_end = now
        self.move(server)

    def back_off(self, key: str, now: float, failures: int, retry_after: float | None = None, error: str = "") -> float:
        """End the server's session; it rests as after ``failures`` in a row, the last of them ``error`` in words.

        Returns until when it rests. O(log servers).
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
        """The server ``key`` has closed its session's connection: no further request on it. O(batch)."""
        server = self.get_or_add(key)
        server.learn_close(now)
        self._predict_session(server)
        self.changed(server)

    def learn_content(self, key: str, *, copy: bool) -> None:
        """A page of the server ``key`` was looked at; ``copy``: its content was met before. O(log servers)."""
        server = self.get_or_add(key)
        server.pages += 1
        server.copies += copy
        if not copy:
            server.copy_run = None
        server.update_worth(by_copies=self.penalizes_copies)
        self.move(server)

    def learn_copy(self, key: str, content: int) -> int:
        """A page of the server ``key`` has the ``content`` (hash) of an earlier one; how often now (``CopyRun``). O(1).

        ``learn_content`` comes first.
        """
        server = self.get_or_add(key)
        server.copy_run = server.copy_run or CopyRun()
        self.changed(server)
        return server.copy_run.add(content)

    def learn_shared(self, key: str, first: str) -> str | None:
        """A page of the server ``key`` is the same in its place on the server ``first``, which had it first.

        Returns the key of the one that is a mirror of the other, once. O(1).
        """
        servers = self.get_or_add(key), self.get_or_add(first)
        mirror = learn_shared(*servers)
        for server in servers:
            self.changed(server)
        return None if mirror is None else mirror.key

    def demote(self, key: str, factor: float) -> None:
        """Rank the server ``key`` at ``factor`` (above 0) of what it would be, from now on. O(log servers)."""
        server = self.get_or_add(key)
        server.demotion = factor
        server.update_worth(by_copies=self.penalizes_copies)
        self.move(server)

    def rank_last(self, server: Server, reason: str) -> None:
        """Rank ``server`` below all others, for this ``reason``; empty: no longer. O(log servers)."""
        server.demoted_because = reason
        self.move(server)
