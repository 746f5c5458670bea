"""Decides which request may start now: runs sessions from open to close within the limit on open connections.

Does no I/O: the caller starts the request that ``next`` returns, reports its end with ``ended``, closes the
connections of the sessions that ``take_closed`` returns, and calls ``next`` again at ``wake_at``.
"""

from __future__ import annotations

from collections import deque
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from crawlproject.frontier.measurement import Measurement
from crawlproject.frontier.queues.heap import LazyHeap
from crawlproject.frontier.server import Awaited
from crawlproject.frontier.states import SessionEvent, SessionState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.server import Server, Session

FREE = SessionState.FREE  # an enum look-up would take longer than the comparison

#: How long (seconds) a session waits for its last page's links when its server has no URL left.
LINGER = 0.1

#: Seconds that a crawl waits for servers that fail and have never answered, once nothing else is left: with the usual
#: back-off a server that refuses connections is tried four times.
LAST_WAIT = 45.0

#: Servers compared, and servers left, in one step: a few ms.
COMPARED, LEFT = 2_000, 200


class Start(NamedTuple):
    """A request that may start now on a session's connection."""

    session: Session
    entry: Entry
    #: Certainly the session's last request: it can ask the server to close the connection.
    is_last: bool


class Dispatcher:
    """Runs the sessions of a frontier, at most ``max_sessions`` at a time, each with one request at a time.

    Where the politeness allows several requests to a server at once, each beyond the first takes a session's place.
    ``max_sessions`` may be set at any time; surplus sessions close when their request ends.

    ``next``, ``ended`` and ``wake_at`` are O(log n) amortised.
    """

    def __init__(self, frontier: Frontier, max_sessions: int, linger: float = LINGER) -> None:
        self.frontier = frontier
        self.max_sessions = max_sessions
        self._linger = linger
        self._open: set[Session] = set()
        self._free: deque[Session] = deque()
        self._held: LazyHeap[Session] = LazyHeap()  # held and lingering sessions, by the end of their wait
        self._closed: list[Session] = []
        self._most_connections = frontier.politeness.most_connections
        self._busy: dict[Session, None] = {}  # that may have another request at once; only if any may
        self._extra = 0  # requests in flight beyond the first of their session
        self._in_flight = 0
        self.opened = 0  # sessions opened so far

    def allow(self, sessions: int) -> None:
        """Another limit on open sessions; surplus ones close when their request ends. O(1)."""
        self.max_sessions = sessions

    @property
    def open_sessions(self) -> int:
        """Number of open sessions."""
        return len(self._open)

    def next(self, now: float) -> Start | None:
        """The request to start next; None if none may start now."""
        if not self.frontier.budgets.may_start(self._in_flight):
            return None
        for session in self.frontier.take_refilled():
            if session.state is FREE:  # else it was closed meanwhile
                self._held.remove(session)
                self._free.append(session)
        while (held := self._held.pop_due(now)) is not None:
            held.step(SessionEvent.WAKE)
            self._free.append(held)
        while True:
            # Places before sessions: where several requests have ended, those that go on are compared with servers that
            # would not get a place otherwise.
            if (start := self._open_some(now)) is not None:
                return start
            if not self._free:
                return self._another(now) if self._busy else None
            session = self._free.popleft()
            start = self._serve(session, now) if session.state is FREE else None  # else it was closed meanwhile
            if start is not None:
                return start

    def _open_some(self, now: float) -> Start | None:
        """Open sessions while there are places; the first request of one. O(log servers)."""
        while len(self._open) + self._extra < self.max_sessions:
            opened = self.frontier.open_session(now, self.max_sessions)
            if opened is None:
                return None
            self._open.add(opened)
            self.opened += 1
            start = self._serve(opened, now)
            if start is not None:
                return start
        return None

    def _another(self, now: float) -> Start | None:
        """Another request of a session that has one in flight. O(busy sessions)."""
        if len(self._open) + self._extra >= self.max_sessions:
            return None
        for session in self._busy:
            if now < session.next_at or not self._may_have_another(session):
                continue
            entry = self.frontier.next_url(session, now)
            if entry is not None:
                session.wide = True
                self._extra += 1
                self._begun(session, now)
                return Start(session, entry, is_last=False)
        return None

    def _may_have_another(self, session: Session) -> bool:
        has_room = session.active < self.frontier.servers.room(session.server)
        return has_room and not session.is_spent and bool(session.server.urls)

    def _begun(self, session: Session, now: float) -> None:
        session.active += 1
        self._in_flight += 1
        if self._most_connections > 1:
            session.next_at = now + self.frontier.servers.politeness_of(session.server).request_delay
            self._busy[session] = None

    def ended(self, session: Session) -> None:
        """Report that a request of the session is over, successful or not."""
        session.active -= 1
        self._in_flight -= 1
        if session.active:
            self._extra -= 1
            return
        self._busy.pop(session, None)
        session.step(SessionEvent.END)
        if session.state is FREE:
            self._free.append(session)

    def give_back(self, start: Start) -> None:
        """Requeue the URL of a request that was not started; the caller must still call ``ended``. O(log n)."""
        self.frontier.give_back(start.session, start.entry)

    def end(self, session: Session) -> None:
        """Allow no further request on the session: it closes when its current request is over."""
        session.ending = True

    def hold(self, key: str, now: float) -> None:
        """Give the known server ``key`` no further session, and end its session now, or with its request in flight.

        O(log servers).
        """
        self.frontier.hold(key)
        session = self.frontier.servers[key].session
        if session is not None and session.state is not SessionState.BUSY:
            self.abandon(session, now)

    def abandon(self, session: Session, now: float) -> None:
        """Close an open session now, even with a request in flight. O(log servers).

        The caller closes its connection (``take_closed``), and still calls ``ended`` for the request.
        """
        if session.heap_item is not None:
            self._held.remove(session)
        if session.state is not SessionState.CLOSED:
            self._close(session, now)

    def put_off(self, session: Session, now: float) -> bool:
        """``abandon`` an open session whose server has never answered, if another server waits for its place.

        Its request counts as failed, unless the server would be given up for that: then it keeps its place, too.
        Returns whether the session is closed now.  O(log servers).
        """
        frontier, server = self.frontier, session.server
        if not frontier.gives_way(server, now, is_full=len(self._open) >= self.max_sessions):
            return False
        waited = 0.0 if session.busy_since is None else now - session.busy_since
        error = f"no answer within {waited:.0f} s"
        frontier.record(Measurement(server.key, now, failed=True, fetch_time=waited, error=error))
        self.abandon(session, now)
        return True

    def served(self) -> list[Server]:
        """The servers that have an open session, in no order. O(sessions)."""
        return [session.server for session in self._open]

    def connected(self, keys: Iterable[str]) -> list[str]:
        """Those of the servers ``keys`` that have a session. O(keys)."""
        servers = map(self.frontier.server, keys)
        return [server.key for server in servers if server is not None and server.session is not None]

    def wake_at(self) -> float | None:
        """Earliest time at which ``next`` can return a request if nothing else happens; None if never."""
        if not self.frontier.budgets.may_start(self._in_flight):
            return None
        if self._free:
            return self.frontier.queue.now
        held = self._held.first_key()
        has_place = len(self._open) + self._extra < self.max_sessions
        due = self.frontier.queue.first_due() if has_place else None
        times = [time for time in (held, due) if time is not None]
        if has_place:
            times += [session.next_at for session in self._busy if self._may_have_another(session)]
        return min(times) if times else None

    def waits_for(self) -> tuple[Server, float] | None:
        """The server that is served next, and the time, while ``next`` returns None. O(log n) amortised."""
        held, due = self._held.first_key(), self.frontier.queue.first_due()
        if held is not None and (due is None or held <= due):
            session = self._held.peek()
            return None if session is None else (session.server, held)
        if due is None:
            return None
        server = next((self.frontier.server(key) for key in self.frontier.queue.upcoming(1, due)), None)
        return None if server is None else (server, due)

    def take_closed(self) -> list[Session]:
        """Sessions closed since the last call: the caller must close their connections now."""
        closed, self._closed = self._closed, []
        return closed

    def close_all(self, now: float) -> None:
        """Close every session, even with a request in flight. O(log servers) each."""
        for session in list(self._open):
            self._close(session, now)
        self._free.clear()
        self._held = LazyHeap()

    def _serve(self, session: Session, now: float) -> Start | None:
        """Start the session's next request, hold it, or close it."""
        frontier = self.frontier
        surplus = len(self._open) - self.max_sessions
        if session.requests and surplus > 0:  # the limit was lowered
            self._close(session, now)
            return None
        if session.requests and surplus == 0 and not frontier.is_worth_more(session, now):
            self._close(session, now)
            return None
        entry = frontier.next_url(session, now)
        if entry is not None:
            session.step(SessionEvent.ASK)
            self._begun(session, now)
            return Start(session, entry, session.requests >= session.limit)
        if session.is_spent:
            self._close(session, now)
        elif now < session.ready_at:
            if session.server.estimates.is_worth_holding(session.ready_at - now):
                session.step(SessionEvent.HOLD)
                self._held.push(session, session.ready_at)
            else:
                self._close(session, now)
        elif session.expects_links and now < session.last_end + self._linger:
            session.step(SessionEvent.LINGER)
            self._held.push(session, session.last_end + self._linger)
        else:
            self._close(session, now)
        return None

    def _close(self, session: Session, now: float) -> None:
        self._open.discard(session)
        self._busy.pop(session, None)
        self.frontier.close_session(session, now)
        self._closed.append(session)


class LastWait:
    """Leaves all servers that the crawl still waits for, ``LAST_WAIT`` seconds after nothing but failing ones is left.

    Earlier if none of them may be tried until then.  They get no further request in this run; a store keeps their URLs
    and their failures for the next one.  ``ends_at``: the end of the wait; inf: the crawl has something else to do.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._servers: Iterator[Server] | None = None
        self.ends_at = inf

    def reset(self) -> None:
        """There is something else to do, or nothing may be tried now. O(1)."""
        self.ends_at = inf
        self._servers = None

    def is_over(self, now: float) -> bool:
        """Whether servers should be left now; call it while there is nothing else to do. O(1) amortised."""
        self.ends_at = min(self.ends_at, now + LAST_WAIT)
        queue = self._dispatcher.frontier.queue
        due = None if queue.leased else queue.first_due()
        return now >= self.ends_at or (due is not None and due >= self.ends_at)

    def leave_some(self, now: float) -> tuple[int, list[str]]:
        """Leave up to ``LEFT`` servers; their number, and the keys of those whose requests the caller must abort.

        O(COMPARED + LEFT log servers); with the first call O(servers).
        """
        frontier = self._dispatcher.frontier
        if self._servers is None:
            self._servers = iter(list(frontier.servers))
        left, connected = 0, []
        for compared, server in enumerate(self._servers, 1):
            if server.awaited is Awaited.VAINLY:
                frontier.leave(server.key)
                left += 1
                if session := server.session:
                    self._dispatcher.abandon(session, now)
                    connected.append(server.key)
            if left == LEFT or compared == COMPARED:
                return left, connected
        self._servers = None
        return left, connected
