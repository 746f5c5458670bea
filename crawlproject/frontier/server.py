"""A server, the unit of the upper level of the frontier; its session; its politeness group."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from crawlproject.frontier.learning.estimate import Estimates
from crawlproject.frontier.politeness import SLOW_DOWN_STATUSES
from crawlproject.frontier.queues.heap import LazyHeap
from crawlproject.frontier.states import (
    SERVER_STEPS,
    SESSION_STEPS,
    IllegalStepError,
    ServerState,
    SessionEvent,
    SessionState,
)

if TYPE_CHECKING:
    from crawlproject.frontier.guard.copies import CopyRun, SharedPages
    from crawlproject.frontier.guard.watched_patterns import ServerGuard
    from crawlproject.frontier.learning.file_kinds import FileKinds
    from crawlproject.frontier.learning.look_ahead import LinkYield
    from crawlproject.frontier.learning.prior import Prior
    from crawlproject.frontier.measurement import Measurement
    from crawlproject.frontier.politeness import Politeness
    from crawlproject.frontier.queues.heap import HeapItem
    from crawlproject.frontier.queues.protocols import ServerUrls
    from crawlproject.frontier.states import ServerEvent


#: No session takes less (seconds): a rank divides by its time, and the clock may have measured 0.
MIN_SESSION_TIME = 1e-6


#: Longest ``last_error``, characters: it may quote what a server sent.
MAX_ERROR = 200

#: A server starts as if it had shown so many pages without a copy: two spellings of a home page must not halve it.
PRIOR_PAGES = 10


class Session:
    """One connection to a server; its states are in ``states``.

    ``limit`` requests may be made on it, one after another, ``requests`` have been; none before ``ready_at``.
    """

    __slots__ = (
        "busy_since",
        "carried",
        "ending",
        "heap_item",
        "last_end",
        "limit",
        "parked_until",
        "ready_at",
        "requests",
        "server",
        "state",
    )

    def __init__(self, server: Server, now: float, limit: int) -> None:
        self.server = server
        self.state = SessionState.FREE
        self.limit = limit
        self.requests = 0
        self.carried = 0  # by its connection, as last measured
        self.ready_at = now
        self.busy_since: float | None = None  # when its first request was handed out
        self.last_end = now  # when its last response ended
        self.ending = False  # no further request: the server closes it, or failed
        self.parked_until = now
        self.heap_item: HeapItem | None = None

    def step(self, event: SessionEvent) -> None:
        """Change the state; raises IllegalStepError, and changes nothing, where ``event`` cannot happen. O(1)."""
        after = SESSION_STEPS.get((self.state, event))
        if after is None:
            raise IllegalStepError(f"no step {event.value!r}: {self!r}")
        self.state = after

    def resume(self, now: float, limit: int) -> None:
        """Make up to ``limit`` more requests, if so many are left, on the connection that was parked."""
        self.step(SessionEvent.RESUME)
        self.limit = min(self.limit - self.requests, limit)
        self.requests = 0
        self.ready_at = now
        self.busy_since = None

    @property
    def is_spent(self) -> bool:
        """Whether no further request may be made on it."""
        return self.ending or self.requests >= self.limit

    def __repr__(self) -> str:
        return f"<Session {self.server.key} {self.state.value} requests={self.requests}/{self.limit}>"


class Server:
    """One server: its URL queue, its estimates, and when it may be asked again (seconds).

    ``key`` is scheme://host[:port].  ``limit`` is how many requests its next session may carry, ``request_wait`` the
    polite wait between two of them, ``away_wait`` the same where it is spent not connected, ``page_time`` what one more
    page on an open connection should take, ``request_wait`` included (nothing is pipelined, so the paper's p has no
    place there); the frontier keeps them current.
    """

    __slots__ = (
        "away_wait",
        "bonus",
        "copies",
        "copy_run",
        "crawl_delay",
        "demoted_because",
        "demotion",
        "estimates",
        "failures",
        "fetched",
        "file_kinds",
        "found",
        "full",
        "given_up",
        "group",
        "guard",
        "heap_item",
        "key",
        "last_end",
        "last_error",
        "limit",
        "page_time",
        "pages",
        "parked",
        "ready_at",
        "request_wait",
        "rerank_above",
        "session",
        "shared",
        "state",
        "urgency",
        "urls",
        "worth",
    )

    def __init__(self, key: str, urls: ServerUrls, limit: int) -> None:
        self.key = key
        self.urls = urls
        self.estimates = Estimates()
        self.found: LinkYield | None = None  # on its pages; kept where a policy looks ahead
        self.rerank_above = -inf  # quality of a new URL above which its rank or its place may change
        self.bonus = 0.0  # what the links of its next page are expected to be worth
        self.state = ServerState.IDLE
        self.limit = limit
        self.request_wait = 0.0
        self.away_wait = 0.0
        self.urgency = 1.0  # factor on its rank: more where polite waits will keep it busy for long
        self.page_time = self.estimates.response_time
        self.ready_at = 0.0
        self.last_end = -inf  # when its last response ended, in this run
        self.crawl_delay = 0.0
        self.failures = 0  # consecutive
        self.last_error: str | None = None  # in words, since it last answered; at most ``MAX_ERROR`` characters
        self.fetched = 0  # pages; where they are limited
        self.full = False  # as many as wanted have been fetched: in this run no more are
        self.guard: ServerGuard | None = None  # what is suspicious about it
        self.demoted_because = ""  # reason for ranking last; empty if none
        self.file_kinds: FileKinds | None = None  # from the first answer to a URL that ends like a file
        self.given_up = False
        self.pages = 0  # whose content was looked at
        self.copies = 0  # of these, with content met before
        self.copy_run: CopyRun | None = None  # since its last page with content of its own
        self.shared: SharedPages | None = None  # with other servers
        self.demotion = 1.0  # factor on its rank: less for a mirror
        self.worth = 1.0  # factor on its rank, of demotion and copies
        self.session: Session | None = None
        self.parked: Session | None = None  # its connection is open, idle
        self.group: Group | None = None
        self.heap_item: HeapItem | None = None

    def step(self, event: ServerEvent) -> None:
        """Change the state; raises IllegalStepError, and changes nothing, where ``event`` cannot happen. O(1)."""
        after = SERVER_STEPS.get((self.state, event))
        if after is None:
            raise IllegalStepError(f"no step {event.value!r}: {self!r}")
        self.state = after

    @property
    def expected_pages(self) -> int:
        """P(s,i): pages expected on the next connection, min(requests it carries, URLs queued)."""
        return min(self.limit, len(self.urls))

    @property
    def expected_time(self) -> float:
        """T(s,i): seconds the next session should take, polite waits inside it included."""
        return max(MIN_SESSION_TIME, self.estimates.session_time(self.expected_pages, self.request_wait))

    @property
    def setup_time(self) -> float:
        """Seconds to open the next session's connection and to close it; 0 where it is open."""
        return 0.0 if self.parked is not None else 2 * self.estimates.connect_time

    def take_session(self, now: float, max_batch: int) -> Session:
        """Open a session, or go on with the parked one."""
        limit = 1 if self.limit == 1 else max_batch
        if self.parked is not None:
            self.parked.resume(now, limit)
        session = self.session = self.parked or Session(self, now, limit)
        self.parked = None
        return session

    def rest_after(self, session: Session, politeness: Politeness) -> None:
        """The session ends: the polite wait in proportion to it begins."""
        if session.carried and session.busy_since is not None:  # a session answered from a cache never began
            rest = politeness.session_rest(session.last_end - session.busy_since, self.crawl_delay)
            self.ready_at = max(self.ready_at, session.last_end + rest)

    def idle_time(self, politeness: Politeness) -> float:
        """How long a connection may be left open without a session; 0 if not at all.

        Not in a group: while another of its servers is asked, no connection to this one should be open.
        """
        if self.group is not None:
            return 0.0
        return politeness.idle_time(self.estimates.keep_alive_time) if self.estimates.persistent else 0.0

    def predict_session(self, politeness: Politeness, max_batch: int) -> None:
        """Set how many requests the next session carries, and how fast: one, where reconnecting beats a polite wait."""
        estimates = self.estimates
        wait = politeness.request_wait(estimates.response_time, self.crawl_delay)
        self.limit, self.request_wait = min(estimates.requests_per_connection, max_batch), wait
        self.away_wait = 0.0
        if wait and not estimates.is_worth_holding(wait):
            self.request_wait = 0.0  # it is spent parked or not connected
            if wait >= self.idle_time(politeness):
                self.limit, self.away_wait = 1, wait
        self.page_time = max(MIN_SESSION_TIME, estimates.response_time + self.request_wait)
        self.urls.set_window(self.limit)

    def wait_after(self, fetch_time: float, politeness: Politeness) -> float:
        """The polite wait after a fetch that took ``fetch_time``."""
        wait = politeness.request_wait(fetch_time, self.crawl_delay)
        if self.session is None:  # a session of one request, such as a robots.txt redirected to
            wait = max(wait, politeness.session_rest(fetch_time, self.crawl_delay))
        return wait

    def learn(self, m: Measurement, prior: Prior | None, politeness: Politeness) -> None:
        """Take in what a request told: estimates, polite wait, back-off; its session as well."""
        session = self.session
        carried, last_end = (0, 0.0) if session is None else (session.carried, session.last_end)
        self.estimates.learn(m, carried, last_end, prior)
        wait = self.wait_after(m.fetch_time, politeness)
        if m.failed or m.status in SLOW_DOWN_STATUSES:
            self.failures += 1
            self.note_error(m.error or f"status {m.status}")
            wait = max(wait, politeness.backoff(self.failures, m.retry_after))
        elif m.status is not None:
            self.failures = 0
            self.last_error = None
        self.ready_at = max(self.ready_at, m.now + wait)
        if session is not None:
            session.ready_at = self.ready_at
            session.last_end = m.now
            session.carried = m.connection_requests
            session.ending = session.ending or m.server_closed or self.failures > 0

    def note_error(self, error: str) -> None:
        """Keep the words of a failure."""
        self.last_error = error[:MAX_ERROR]

    def update_worth(self, *, by_copies: bool) -> None:
        """Set ``worth``: the smoothed share of distinct content on its pages, where copies count, and its demotion."""
        self.worth = self.demotion
        if by_copies:
            self.worth *= (self.pages - self.copies + PRIOR_PAGES) / (self.pages + PRIOR_PAGES)

    def learn_close(self, now: float) -> None:
        """Its session's connection was closed by the server."""
        session = self.session or self.parked
        if session is not None and not session.ending:
            session.ending = True
            self.estimates.learn_close(session.carried, now - session.last_end)

    def __repr__(self) -> str:
        return f"<Server {self.key} {self.state.value} urls={len(self.urls)} ready_at={self.ready_at:.3f}>"


class Group:
    """Servers that share one politeness (a registered domain, an address): one session at a time."""

    __slots__ = ("heap_item", "holder", "key", "ready_at", "recalled", "waiting")

    def __init__(self, key: str) -> None:
        self.key = key
        self.ready_at = 0.0
        self.holder: Server | None = None  # the server that has a session
        self.waiting: LazyHeap[Server] = LazyHeap()  # ready servers, by rank
        self.recalled: Server | None = None  # the one of them that may have the next session, while it is ready
        self.heap_item: HeapItem | None = None

    def is_free(self, now: float) -> bool:
        """Whether a server of this group may be contacted now."""
        return self.holder is None and self.ready_at <= now
