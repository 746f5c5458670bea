"""The two-level frontier: a priority queue of servers over one priority queue of URLs per server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.frontier.entry import path_of
from crawlproject.frontier.politeness import Politeness
from crawlproject.frontier.server_table import ServerTable
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.policy import Policy
    from crawlproject.frontier.queues.protocols import FrontierStore
    from crawlproject.frontier.server import Server
    from crawlproject.frontier.session import Measurement, Session

#: Arrival numbers start here, so that an entry given back can be put before all others of its quality.
FIRST_ARRIVAL = 1 << 39


class Frontier:
    """Every discovered, unfetched URL, and which server gets the next connection.

    Time is the caller's: ``now`` in seconds on any clock that never goes back.  Nothing here scans: ``push``,
    ``open_session``, ``next_url``, ``record`` and ``close_session`` are O(log n) amortised per URL or server
    moved (``record`` also O(batch) when a server's number of requests per connection changes).
    Memory grows with URLs queued and servers met.

    ``max_batch``: most requests of a session.  ``max_failures``: a server that failed as often in a row is
    given up, its URLs handed to ``take_dropped``.  ``group_of``: server key -> politeness group, or None
    where every server is one of its own.
    """

    def __init__(
        self,
        policy: Policy,
        politeness: Politeness | None = None,
        *,
        max_batch: int = 100,
        max_failures: int = 10,
        group_of: Callable[[str], str] | None = None,
    ) -> None:
        self.policy = policy
        self.politeness = politeness or Politeness()
        self.copies_count = True  # against the rank of servers that show them; set before the first URL is pushed
        self._max_batch = max_batch
        self._max_failures = max_failures
        self._servers = ServerTable(policy, self.politeness, max_batch, group_of)
        self._queue = self._servers.queue
        self._expectations = self._servers.expectations
        self._goes_on = getattr(policy, "goes_on", None)
        self._urls = 0
        self._arrivals = FIRST_ARRIVAL
        self._returns = FIRST_ARRIVAL
        self._refilled: list[Session] = []
        self._dropped: list[Entry] = []

    def keep_in(self, store: FrontierStore, now: float) -> None:
        """Have URLs and servers outlive the process; while there are none yet. Memory then grows with servers only."""
        self._servers.store = store
        self._queue.tick(now)

    def __len__(self) -> int:
        """How many URLs are queued (those handed out by ``next_url`` are not). O(1)."""
        return self._urls

    # URLs in

    def push(self, entries: Iterable[Entry], found_on: str | None = None, *, from_sitemap: bool = False) -> None:
        """Queue discovered URLs, which the caller has tested against the seen-set. O(log n) each.

        ``found_on``: key of the server whose page showed them, and no others that are new; what its next pages
        bring is learned from that, so also from a page without new URLs; ``from_sitemap``: what sitemaps bring is.
        Raises ValueError for a URL without a server; entries before it are queued.
        """
        changed: dict[Server, None] = {}
        locate, rate = self._servers.locate, self._queue.last_rank
        look_ahead = None if found_on is None else self._expectations.look_ahead
        count, gain = 0, 0.0
        try:
            for entry in entries:
                count += 1
                (server, path), quality = locate(entry.url), entry.quality
                self._arrivals += 1
                if quality > server.moving_quality:
                    changed[server] = None
                self._push_url(server, path, entry, self._arrivals)
                if look_ahead is not None:
                    gain += look_ahead.learn_url(quality * server.worth, rate, server.page_time)
        finally:
            if look_ahead is not None and found_on is not None:
                source = self._servers.meet(found_on)
                self._expectations.learn_source(source, count, gain if from_sitemap else None)
                changed[source] = None
                self._servers.changed(source)
            self._servers.place(changed)

    def push_sitemap(self, entry: Entry) -> None:
        """Queue the URL of a sitemap; its quality becomes what sitemaps bring, and rises with it. O(log n)."""
        self.push([self._expectations.sitemaps.priced(entry)])

    def raise_quality(self, gains: Iterable[tuple[str, float]]) -> None:
        """Add to the quality of URLs, each with its gain > 0; those not queued are left alone. O(log n) each."""
        self._servers.raise_quality(gains)

    def give_back(self, session: Session, entry: Entry) -> None:
        """Queue ``entry`` again, the last handed out by ``next_url``: it was not fetched. O(log n)."""
        session.requests -= 1
        self._returns -= 1
        self.acknowledge(entry)
        self._push_url(session.server, path_of(entry.url, session.server.key), entry, self._returns)
        self._expectations.given_back(entry, self._urls)
        self._queue.place(session.server)

    def acknowledge(self, entry: Entry) -> None:
        """An entry that ``next_url`` or ``take_dropped`` returned has been dealt with: it need not be stored longer.

        Until then it is handed out again after a restart.  Where nothing is stored this does nothing. O(log n).
        """
        if entry.place is not None:
            server = self._servers.by_key[server_key(entry.url)]
            server.urls.acknowledge(entry, server.key)

    # Sessions

    def open_session(self, now: float) -> Session | None:
        """Lease the best-ranked server that may be asked now; None if there is none. O(log servers).

        Servers of a busy politeness group are set aside on the way: O(log servers) for each, once.
        """
        self._servers.freshen_best(now)
        server = self._queue.lease(now)
        return None if server is None else server.take_session(now, self._max_batch)

    def next_url(self, session: Session, now: float) -> Entry | None:
        """The best URL of the session's server, if the session may ask for one now. O(log n).

        None when it is spent, its server rests or has no URL queued.
        """
        server = session.server
        if session.is_spent or now < session.ready_at or not server.urls:
            return None
        self._queue.tick(now)
        session.requests += 1
        session.waits = False
        if session.busy_since is None:
            session.busy_since = now
        self._urls -= 1
        entry = server.urls.pop(server.key)
        self._expectations.handed_out(entry, now, self._urls)
        return entry

    def is_worth_more(self, session: Session, now: float) -> bool:
        """Whether the policy lets the session make another request, or prefers the best server that waits. O(log n)."""
        server = session.server
        if not server.urls:
            return True
        alternative = self._queue.best_rank(now)
        return alternative is None or self._goes_on is None or self._goes_on(server, alternative)

    def record(self, measurement: Measurement) -> None:
        """Learn from a request that ended: estimates, politeness, back-off. O(log servers)."""
        server = self._servers.learn(measurement)
        self._servers.expect_afresh()
        if server.failures >= self._max_failures > 0:
            self.give_up(server.key)
        self._servers.move(server)

    def rest(self, key: str, now: float, fetch_time: float) -> None:
        """The server ``key`` has answered: the polite wait begins, whether or not this is recorded. O(log n)."""
        self._servers.rest(key, now, fetch_time)

    def back_off(self, key: str, now: float, failures: int, retry_after: float | None = None, error: str = "") -> float:
        """End the server's session, have it rest as after ``failures`` in a row, the last of them ``error`` in words.

        Returns until when it rests. O(log servers).
        """
        return self._servers.back_off(key, now, failures, retry_after, error)

    def set_crawl_delay(self, key: str, delay: float) -> None:
        """Keep ``delay`` seconds between any two requests to the server ``key`` (robots.txt). O(log servers)."""
        self._servers.set_crawl_delay(key, delay)

    def learn_content(self, key: str, *, copy: bool) -> None:
        """A page of the server ``key`` was looked at; ``copy``: its content was met before. O(log servers)."""
        self._servers.learn_content(key, copy=copy, counts=self.copies_count)

    def learn_copy(self, key: str, content: int) -> int:
        """A page of the server ``key`` has the ``content`` (hash) of an earlier one; how often now (``CopyRun``). O(1).

        ``learn_content`` comes first.
        """
        return self._servers.learn_copy(key, content)

    def learn_shared(self, key: str, first: str) -> str | None:
        """A page of the server ``key`` is the same in its place on the server ``first``, which had it first.

        Returns the key of the one that is a mirror of the other, once. O(1).
        """
        return self._servers.learn_shared(key, first)

    def demote(self, key: str, factor: float) -> None:
        """Rank the server ``key`` at ``factor`` (above 0) of what it would be, from now on. O(log servers)."""
        self._servers.demote(key, factor, copies_count=self.copies_count)

    def connection_lost(self, key: str, now: float) -> None:
        """The server ``key`` has closed its session's connection: no further request on it. O(batch)."""
        self._servers.connection_lost(key, now)

    def close_session(self, session: Session, now: float) -> None:
        """End the lease; the server rests as politeness says. O(log servers).

        Raises ValueError if the session is not open.
        """
        self._servers.release(session, now)

    def park_session(self, session: Session, now: float) -> bool:
        """``close_session``, but its connection stays open: the server's next session is this one. O(log servers).

        That lasts until ``session.parked_until``, when ``unpark`` must be called.  False, and nothing is done, where
        no request could follow on the connection, or not in time.
        """
        return self._servers.release(session, now, park=True)

    def unpark(self, session: Session, now: float) -> None:
        """The connection of a parked session is closed. O(log servers)."""
        self._servers.unpark(session, now)

    def next_due(self) -> float | None:
        """When ``open_session`` can next succeed, now if that has passed; None if no server waits. O(1) amortised."""
        return self._queue.first_due()

    def upcoming(self, count: int, until: float) -> list[str]:
        """Keys of the servers that probably get the next ``count`` sessions, the next first: those ready, and those
        whose rest ends by ``until``. O(count log count).
        """
        return [server.key for server in self._queue.upcoming(count, until)]

    # Groups, and what became of URLs

    def join_group(self, key: str, group_key: str) -> bool:
        """Put the leased server ``key`` into a politeness group that was not known before (its IP address).

        False if the group is busy or rests: then its session must be closed without a request.
        """
        return self._queue.join(self._servers.by_key[key], group_key)

    def take_dropped(self) -> list[Entry]:
        """The entries of servers given up since the last call; they are no longer in the frontier."""
        dropped, self._dropped = self._dropped, []
        return dropped

    def take_refilled(self) -> list[Session]:
        """Sessions that waited for URLs of their server and have been given some since the last call."""
        refilled, self._refilled = self._refilled, []
        return refilled

    def give_up(self, key: str) -> None:
        """Drop the URLs of the server ``key``, and those still to come. O(URLs)."""
        server = self._servers.meet(key)
        if not server.given_up:
            server.given_up = True
            self._drop_urls(server)

    def page_fetched(self, key: str, limit: int) -> int:
        """Count a page of the server ``key``, which is full from ``limit`` pages on (0: never); how many it has now.

        The URLs of a full server are dropped, and those still to come; a count outlives the process, ``full`` does not.
        O(log servers), or O(URLs) once.
        """
        server = self._servers.meet(key)
        server.fetched += 1
        if server.fetched >= limit > 0:
            self.fill(key)
        self._servers.changed(server)
        return server.fetched

    def fill(self, key: str) -> None:
        """The server ``key`` is full. O(URLs)."""
        server = self._servers.meet(key)
        if not server.full:
            server.full = True
            self._drop_urls(server)

    def changed(self, server: Server) -> None:
        """Something that is stored of ``server`` was changed from outside (its guard, its kinds of files). O(1)."""
        self._servers.changed(server)

    # Looking in

    @property
    def now(self) -> float:
        """The latest time the frontier was told."""
        return self._queue.now

    def server(self, key: str) -> Server | None:
        """The server ``key``, if a URL of it was ever met. O(1)."""
        return self._servers.by_key.get(key)

    def servers(self) -> Iterator[Server]:
        """All servers ever met."""
        return iter(self._servers.by_key.values())

    def counts(self) -> dict[str, int]:
        """Servers by state, ``servers`` and ``urls`` in all. O(1), or O(groups) where there are groups."""
        counts = self._queue.counts()
        counts["idle"] = len(self._servers.by_key) - sum(counts.values())
        return counts | {"servers": len(self._servers.by_key), "urls": self._urls}

    # Inside

    def _drop_urls(self, server: Server) -> None:
        self._urls -= len(server.urls)
        dropped = list(server.urls.drain(server.key))
        self._expectations.sitemaps.dropped(dropped)
        self._dropped += dropped
        self._servers.move(server)

    def _push_url(self, server: Server, path: str, entry: Entry, arrival: int) -> None:
        if server.given_up:
            self._dropped.append(entry)
            return
        server.urls.push(entry, path, arrival)
        if server.full:  # a run with a higher limit finds it stored
            self._dropped.append(server.urls.pop(server.key))
            return
        self._urls += 1
        session = server.session
        if session is not None and session.waits:
            session.waits = False
            self._refilled.append(session)

    def check(self) -> None:
        """Assert every invariant. O(n log n); for tests."""
        from crawlproject.frontier.invariants import check

        check(self)
