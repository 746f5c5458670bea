"""A server (the unit of the frontier's upper level), its session and its politeness group."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from enum import IntEnum
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

from crawlproject.frontier.budgets import Prices
from crawlproject.frontier.guard.server_guard import ServerGuard
from crawlproject.frontier.learning.estimate import Estimates
from crawlproject.frontier.learning.file_kinds import FileKinds
from crawlproject.frontier.learning.look_ahead import LinkYield
from crawlproject.frontier.politeness import SLOW_DOWN_STATUSES
from crawlproject.frontier.queues.heap import LazyHeap
from crawlproject.frontier.state import Stored
from crawlproject.frontier.states import (
    SERVER_STEPS,
    SESSION_STEPS,
    IllegalStepError,
    ServerState,
    SessionEvent,
    SessionState,
)

if TYPE_CHECKING:
    from crawlproject.frontier.learning.estimate import Prior
    from crawlproject.frontier.measurement import Measurement
    from crawlproject.frontier.politeness import Politeness
    from crawlproject.frontier.queues.heap import HeapItem
    from crawlproject.frontier.queues.protocols import ServerUrls
    from crawlproject.frontier.states import ServerEvent


#: Lower bound of a session's time (seconds): ranks divide by it, and a clock may measure 0.
MIN_SESSION_TIME = 1e-6

#: Maximum length of ``last_error`` in characters: it may quote what a server sent.
MAX_ERROR = 200

#: A server starts as if it had shown this many distinct pages: two spellings of a home page must not halve its worth.
#: Fewer if pages or bytes are limited: then it is worth more to learn early.
PRIOR_PAGES, PRIOR_OF_LIMITED = 10, 2


@dataclass(slots=True, eq=False, repr=False)
class Session:
    """One connection to a server; ``states`` has its states.

    It carries at most ``limit`` requests, one after another, none before ``ready_at``; ``requests`` counts them.  Where
    the politeness allows several requests at once, ``active`` are in flight, on a connection each; then the session is
    ``wide``, and none of its connections tells how many requests a server allows on one.
    """

    server: Server
    #: When it was opened.
    now: InitVar[float]
    limit: int
    state: SessionState = SessionState.FREE
    requests: int = 0
    active: int = 0
    wide: bool = False
    next_at: float = -inf  # no further request starts before, while one is in flight
    answered: int = 0  # requests, when its last answer was recorded
    heard: int = 0  # requests whose pages' links are known
    carried: int = 0  # requests carried by its connection, as last measured
    ready_at: float = field(init=False)
    busy_since: float | None = None  # when its first request was handed out
    last_end: float = field(init=False)  # end of its last response
    ending: bool = False  # no further request: the server closes it or failed
    heap_item: HeapItem | None = None

    def __post_init__(self, now: float) -> None:
        self.ready_at = self.last_end = now

    def step(self, event: SessionEvent) -> None:
        """Change the state. O(1). Raises IllegalStepError and changes nothing if ``event`` is illegal in this state."""
        after = SESSION_STEPS.get((self.state, event))
        if after is None:
            raise IllegalStepError(f"no step {event.value!r}: {self!r}")
        self.state = after

    def was_idle(self, seconds: float, now: float) -> None:
        """It has not kept its server busy for ``seconds`` up to ``now``, if it has begun."""
        if self.busy_since is not None:
            self.busy_since = min(now, self.busy_since + seconds)
            self.last_end = now

    @property
    def expects_links(self) -> bool:
        """Whether the links of its last page are not known yet."""
        return self.heard < self.requests

    @property
    def is_spent(self) -> bool:
        """Whether it may carry no further request."""
        return self.ending or self.requests >= self.limit

    def __repr__(self) -> str:
        return f"<Session {self.server.key} {self.state.value} requests={self.requests}/{self.limit}>"


class Awaited(IntEnum):
    """Whether a crawl waits for a server."""

    NO = 0  # it has nothing to fetch from it now
    YES = 1
    VAINLY = 2  # it fails and has never answered


@dataclass(slots=True, eq=False, repr=False)
class Server(Stored):
    """One server: its URL queue, its estimates, and when it may be requested again (seconds).

    The frontier keeps these up to date: ``key``, scheme://host[:port]; ``limit``, maximum requests of its next session;
    ``request_wait``, polite wait between two of them; ``page_time``, expected time of one more page on an open
    connection, ``request_wait`` included (requests are not pipelined, so the paper's p does not enter).
    """

    STATE: ClassVar = (
        *("crawl_delay", "failures", "robots_failures", "answered", "last_error", "given_up", "fetched", "gathered"),
        *("pages", "copies", "misfits", "alias_of", "address", "ready_at"),
    )
    PARTS: ClassVar = {"estimates": Estimates, "found": LinkYield, "file_kinds": FileKinds, "guard": ServerGuard}

    key: str
    urls: ServerUrls
    limit: int
    estimates: Estimates = field(default_factory=Estimates)
    found: LinkYield | None = None  # new links on its pages; only if the policy looks ahead
    rerank_above: float = -inf  # quality of a new URL above which the rank or the heap place may change
    bonus: float = 0.0  # expected worth of the links on its next page
    state: ServerState = ServerState.IDLE
    request_wait: float = 0.0
    page_time: float = field(init=False)
    ready_at: float = 0.0
    last_end: float = -inf  # end of its last response in this run
    crawl_delay: float = 0.0
    answered: bool = False  # at least once, in this run or an earlier one
    line: int = 0  # of ready servers, in which it stands or has stood: see ``ServerQueue``
    failures: int = 0  # consecutive
    robots_failures: int = 0  # consecutive downloads of its robots.txt that failed
    failed_at: float = -inf  # when the last one was recorded, in this run
    last_error: str | None = None  # message, since its last answer; at most ``MAX_ERROR`` characters
    fetched: int = 0  # pages
    gathered: float = 0.0  # their quality
    full: bool = False  # no more pages in this run: its page limit is reached, or it was left
    left: bool = False  # it has never answered, and nothing else was left to fetch
    awaited: Awaited = Awaited.NO  # as ``ServerQueue`` has counted it
    guard: ServerGuard | None = None  # its suspicious URL patterns
    file_kinds: FileKinds | None = None  # set by the first answer to a URL with a file extension
    given_up: bool = False
    blocked: bool = False  # by the operator: keeps its URLs, gets no request
    pages: int = 0  # pages with compared content
    copies: int = 0  # pages among them with content seen before
    misfits: int = 0  # pages of a type that is not read
    alias_of: str = ""  # the server whose other name it is
    worth: float = 1.0  # factor on its rank: share of pages that were not fetched in vain
    session: Session | None = None
    group: Group | None = None
    address: str = ""  # IP address at which sessions are limited; empty: none, or not known yet
    domain: str | None = None  # registered domain, once it was needed
    crowd: Any = None  # the ``ready_line.Crowd`` in which it stands while it is ready
    heap_item: HeapItem | None = None
    prices: Prices = field(default_factory=Prices)  # those of its frontier

    def __post_init__(self) -> None:
        self.page_time = self.estimates.response_time

    def step(self, event: ServerEvent) -> None:
        """Change the state. O(1). Raises IllegalStepError and changes nothing if ``event`` is illegal in this state."""
        after = SERVER_STEPS.get((self.state, event))
        if after is None:
            raise IllegalStepError(f"no step {event.value!r}: {self!r}")
        self.state = after

    @property
    def page_cost(self) -> float:
        """What one more page on an open connection costs, in seconds: its time, the prices of a page and its bytes."""
        cost = self.page_time + self.prices.page
        return cost + self.byte_cost if self.prices.byte else cost

    @property
    def byte_cost(self) -> float:
        """The price of the bytes of one more page, in seconds. O(1)."""
        prices = self.prices
        return prices.byte * self.estimates.expected_size(prices.usual_size)

    @property
    def expected_pages(self) -> int:
        """P(s,i): pages expected on the next connection, min(requests it carries, URLs queued)."""
        return min(self.limit, len(self.urls))

    @property
    def expected_time(self) -> float:
        """T(s,i): expected seconds of the next session, its polite waits included."""
        return max(MIN_SESSION_TIME, self.estimates.session_time(self.expected_pages, self.request_wait))

    @property
    def setup_time(self) -> float:
        """Seconds to open and close the next session's connection.

        A server that carries one request per connection closes it with its answer: closing takes no time.
        """
        return self.estimates.connect_time * (1 if self.estimates.requests_per_connection == 1 else 2)

    def take_session(self, now: float, max_batch: int, *, several: bool) -> Session:
        """Open a session; ``several``: it may have several requests at once."""
        session = self.session = Session(self, now, 1 if self.limit == 1 and not several else max_batch)
        return session

    def rest_after(self, session: Session, politeness: Politeness) -> None:
        """Start the polite rest after ``session``, in proportion to its busy time."""
        if session.carried and session.busy_since is not None:  # not set if a cache answered all requests
            rest = politeness.session_rest(session.last_end - session.busy_since, self.crawl_delay)
            self.ready_at = max(self.ready_at, session.last_end + rest)

    def cut_off(self, session: Session, now: float, politeness: Politeness) -> None:
        """The request in flight ends now, without an answer: the rest counts from here."""
        started = session.last_end if session.busy_since is None else max(session.busy_since, session.last_end)
        self.ready_at = max(self.ready_at, now + politeness.request_wait(now - started, self.crawl_delay))
        session.last_end, session.carried = now, max(1, session.carried)

    def rest_until(self, time: float) -> None:
        """Make no request before ``time``, in a session or not."""
        if time > self.ready_at:
            self.ready_at = time
        if self.session is not None:
            self.session.ready_at = self.ready_at

    @property
    def latest_end(self) -> float:
        """End of its last response: of its session, if it has one."""
        return self.last_end if self.session is None else self.session.last_end

    def least_wait(self, politeness: Politeness, *, in_session: bool) -> float:
        """The wait after a request of which nothing is known; ``in_session``: in a session of the expected length."""
        wait = politeness.request_wait(0.0, self.crawl_delay)
        return max(wait, politeness.session_rest(self.expected_time, self.crawl_delay)) if in_session else wait

    def predict_session(self, politeness: Politeness, max_batch: int) -> None:
        """Set number and spacing of the next session's requests: one request if reconnecting beats a polite wait."""
        estimates = self.estimates
        wait = politeness.request_wait(estimates.response_time, self.crawl_delay)
        self.limit, self.request_wait = min(estimates.requests_per_connection, max_batch), wait
        if wait and not estimates.is_worth_holding(wait):
            self.limit, self.request_wait = 1, 0.0  # the wait is spent disconnected
        self.page_time = max(MIN_SESSION_TIME, estimates.response_time + self.request_wait)
        self.urls.set_window(self.limit)

    def wait_after(self, fetch_time: float, politeness: Politeness) -> float:
        """The polite wait after a fetch that took ``fetch_time``."""
        wait = politeness.request_wait(fetch_time, self.crawl_delay)
        if self.session is None:  # counts as a session of one request, e.g. a redirect to this server's robots.txt
            wait = max(wait, politeness.session_rest(fetch_time, self.crawl_delay))
        return wait

    def learn(self, m: Measurement, prior: Prior | None, politeness: Politeness) -> None:
        """Update estimates, polite wait, back-off and session from a finished request."""
        session = self.session
        carried, last_end = (0, 0.0) if session is None or session.wide else (session.carried, session.last_end)
        self.estimates.learn(m, carried, last_end, prior)
        wait = self.wait_after(m.fetch_time, politeness)
        self.answered = self.answered or m.status is not None
        if m.failed or m.status in SLOW_DOWN_STATUSES:
            if m.now - m.fetch_time >= self.failed_at:  # requests in flight together fail together
                self.failures += 1
                self.failed_at = m.now
            self.note_error(m.error or f"status {m.status}")
            wait = max(wait, politeness.backoff(self.failures, m.retry_after))
        elif m.status is not None:
            self.failures = 0
            self.last_error = None
        self.rest_until(m.now + wait)
        if session is not None:
            session.last_end = m.now
            session.answered = session.requests
            session.carried = m.connection_requests
            session.ending = session.ending or (m.server_closed and not session.wide) or self.failures > 0

    def note_error(self, error: str) -> None:
        self.last_error = error[:MAX_ERROR]

    def unfetched(self, quality: float) -> None:
        """A page of this quality counts as not fetched."""
        self.fetched = max(0, self.fetched - 1)
        self.gathered = max(0.0, self.gathered - quality)

    def update_worth(self) -> None:
        """Set ``worth``: the smoothed share of pages with distinct content.

        A server that showed copies will show more.  Where a page or a byte has a price, the same holds for pages of a
        type that is not read.
        """
        pages, vain, prior = self.pages, self.copies, PRIOR_PAGES
        if self.prices.page or self.prices.byte:
            pages, vain, prior = self.fetched, min(self.copies + self.misfits, self.fetched), PRIOR_OF_LIMITED
        self.worth = (pages - vain + prior) / (pages + prior)

    def learn_close(self, now: float) -> None:
        """Learn that the server closed the connection of its session."""
        session = self.session
        if session is not None and not session.ending and not session.wide:
            session.ending = True
            self.estimates.learn_close(session.carried, now - session.last_end)

    def __repr__(self) -> str:
        return f"<Server {self.key} {self.state.value} urls={len(self.urls)} ready_at={self.ready_at:.3f}>"


class Group:
    """Servers that share one politeness limit (a registered domain, an IP address): one session at a time."""

    __slots__ = ("heap_item", "holder", "key", "members", "ready_at", "recalled", "waiting")

    def __init__(self, key: str) -> None:
        self.key = key
        self.members = 0  # known servers
        self.ready_at = 0.0
        self.holder: Server | None = None  # the server that has a session
        self.waiting: LazyHeap[Server] = LazyHeap()  # ready servers, by rank
        self.recalled: Server | None = None  # the waiting server that may get the next session, while it is ready
        self.heap_item: HeapItem | None = None

    def is_free(self, now: float) -> bool:
        """Whether a server of this group may be requested now."""
        return self.holder is None and self.ready_at <= now
