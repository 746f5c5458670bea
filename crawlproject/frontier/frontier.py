"""The two-level frontier: a priority queue of servers over one priority queue of URLs per server."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from crawlproject.frontier.budgets import Budgets
from crawlproject.frontier.drops import Drops
from crawlproject.frontier.entry import path_of
from crawlproject.frontier.learning.expectation import Expectations
from crawlproject.frontier.measurement import Measurement
from crawlproject.frontier.politeness import Politeness
from crawlproject.frontier.quality import QualityTally
from crawlproject.frontier.queues.sort_key import WAITING
from crawlproject.frontier.server_queue import ServerQueue
from crawlproject.frontier.server_table import ServerTable
from crawlproject.frontier.states import SessionEvent, SessionState
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.policy import Policy
    from crawlproject.frontier.queues.protocols import ServerUrls
    from crawlproject.frontier.server import Server, Session
    from crawlproject.frontier.server_table import FrontierStore

#: First arrival number: leaves room below it, so that a returned entry sorts before all others of its quality.
FIRST_ARRIVAL = 1 << 39

#: URLs that ``rewrite_queue`` judges in one step: 0.1 s.
REWRITE_STEP = 2_000

#: A server that has never answered is given up after this many failed look-ups of its name, unless ``max_failures`` is
#: lower: with the usual ``FRONTIER_MIN_BACKOFF``, after 90 s.
MAX_NAME_FAILURES = 4

BUSY = SessionState.BUSY
LINGERING = SessionState.LINGERING  # an enum look-up for each URL would take longer than the rest


class Frontier:
    """Holds all discovered, unfetched URLs and decides which server gets the next connection.

    Nothing here scans: ``push``, ``open_session``, ``next_url``, ``record``, ``close_session`` are O(log n) amortised
    per URL or server moved (``record`` also O(batch) when a server's number of requests per connection changes).
    Memory grows with the number of queued URLs and known servers.

    ``servers``: all known servers, and what was learned about each.  ``queue``: their order, to be asked who is next.
    ``quality``: how much was gathered and is queued.  ``drops``: URLs of servers that were given up, or are full.
    ``given_up``: number of servers given up.  ``blocked``: number of queued URLs of servers that the operator blocked.

    ``max_batch``: maximum requests per session.  ``max_failures``: the frontier gives up a server after this many
    consecutive failures and hands its URLs to ``drops``.  ``group_of``: server key -> politeness group;
    None if there are no groups.  ``admits_newcomers``: see ``ServerQueue``.
    """

    def __init__(  # noqa: PLR0913
        self,
        policy: Policy,
        politeness: Politeness | None = None,
        *,
        max_batch: int = 100,
        max_failures: int = 10,
        group_of: Callable[[str], str] | None = None,
        admits_newcomers: bool = False,
        budgets: Budgets | None = None,
    ) -> None:
        self.policy = policy
        self.budgets = budgets or Budgets()
        self.politeness = politeness or Politeness()
        self.max_failures = max_failures
        self._max_batch = max_batch
        self._learns = policy.learns_prior or policy.looks_ahead  # from all servers, so ranks change
        self.queue = ServerQueue(policy.rank, policy.rerank_above, group_of, admits_newcomers=admits_newcomers)
        self._expectations = Expectations(learns_prior=policy.learns_prior, looks_ahead=policy.looks_ahead)
        self.servers = ServerTable(
            self.queue,
            self._expectations,
            self.politeness,
            max_batch,
            by_quality=policy.by_quality,
            prices=self.budgets.prices,
        )
        self.quality = QualityTally()
        self._urls = 0
        self.blocked = 0
        self.given_up = 0
        self._arrivals = FIRST_ARRIVAL
        self._returns = FIRST_ARRIVAL
        self._refilled: list[Session] = []
        self.drops = Drops(self._is_known)

    def keep_in(self, store: FrontierStore, now: float) -> None:
        """Keep URLs and servers in ``store``; call before the first URL. Memory then grows only with servers."""
        self.servers.store = store
        self.queue.tick(now)

    def __len__(self) -> int:
        """Number of queued URLs, without those handed out by ``next_url`` and those of blocked servers. O(1)."""
        return self._urls

    # URLs in

    def push(
        self,
        entries: Iterable[Entry],
        found_on: str | None = None,
        *,
        from_sitemap: bool = False,
        elsewhere: float = 0.0,
    ) -> None:
        """Queue discovered URLs that passed the seen-set. O(log n) each.

        ``found_on``: key of the server whose page showed these URLs. ``entries`` must be all new URLs of that page, and
        may be empty: the frontier learns from them what the server's next pages will bring, and a session that waited
        for them continues or closes.  ``from_sitemap``: the page came from a sitemap, so the frontier also learns what
        sitemap URLs bring.  ``elsewhere``: expected number of further new URLs of that page, which another frontier
        queues.
        Raises ValueError for a URL without a server; the entries before it are queued.
        """
        changed: dict[Server, None] = {}
        locate, rate = self.servers.locate, self.queue.last_rank
        look_ahead = None if found_on is None else self._expectations.look_ahead
        prices = self.budgets.prices
        count, gain = 0, 0.0
        added, worth = 0, 0.0
        try:
            for each in entries:
                count += 1
                server, path = locate(each.url)
                entry = each
                if prices.byte:
                    entry = each._replace(quality=each.quality * self._size_factor(server, each.url))
                quality = entry.quality
                self._arrivals += 1
                if quality > server.rerank_above:
                    changed[server] = None
                if server.session is None and not (server.full or server.given_up or server.blocked):  # most frequent
                    server.urls.push(entry, path, self._arrivals)
                    added += 1
                    worth += quality
                else:
                    self._push_url(server, path, entry, self._arrivals)
                if entry.priority in WAITING and server.guard is not None:
                    server.guard.waiting += 1
                if look_ahead is not None:
                    gain += look_ahead.learn_url(quality * server.worth, rate, server.page_cost)
        finally:
            self._urls += added
            self.quality.add(added, worth)
            if look_ahead is not None and found_on is not None:
                source = self.servers.get_or_add(found_on)
                self._expectations.learn_source(source, count + elsewhere, gain if from_sitemap else None)
                changed[source] = None
                self.servers.changed(source)
            for server in changed:
                self.queue.place(server)
            if found_on is not None:
                self.links_known(found_on)

    def push_sitemap(self, entry: Entry) -> None:
        """Queue a sitemap's URL. Its quality is the estimated gain of a sitemap and rises with that. O(log n)."""
        self.push([self._expectations.sitemaps.priced(entry, self._page_price())])

    def raise_quality(self, gains: Iterable[tuple[str, float]]) -> None:
        """Add each gain (> 0) to the quality of its URL; ignores URLs that are not queued. O(log n) each."""
        servers, has_price = self.servers, self.budgets.prices.byte > 0.0
        found = [
            (located, gain * self._size_factor(located[0], url) if has_price else gain)
            for url, gain in gains
            if (located := servers.locate_known(url)) is not None
        ]
        if servers.store is not None:  # one read for all URLs
            servers.store.read_ahead([located for located, _ in found])
        changed: dict[Server, None] = {}
        for (server, path), gain in found:
            quality = server.urls.raise_quality(path, gain)
            if quality is None:
                continue
            self.quality.raised(min(gain, quality))  # a demoted URL gains less
            if quality > server.rerank_above:
                changed[server] = None
        for server in changed:
            self.queue.place(server)

    def give_back(self, session: Session, entry: Entry) -> None:
        """Requeue ``entry``, the last one from ``next_url``, unless its server was removed. O(log n)."""
        if not self._is_known(session.server):
            return
        session.requests -= 1
        self._returns -= 1
        self.acknowledge(entry)
        self._push_url(session.server, path_of(entry.url, session.server.key), entry, self._returns)
        self.queue.place(session.server)

    def acknowledge(self, entry: Entry) -> None:
        """Delete from the store an entry that ``next_url`` or ``drops`` returned: the caller has processed it.

        An unacknowledged entry is handed out again after a restart.  O(log n).
        """
        server = None if entry.place is None else self.servers.get(server_key(entry.url))
        if server is not None:
            server.urls.acknowledge(entry, server.key)

    # Sessions

    def open_session(self, now: float, sessions: float = inf) -> Session | None:
        """Lease the best-ranked server that may be requested now; None if there is none. O(log servers).

        ``sessions``: maximum number of open ones; see ``ServerQueue.lease``.
        """
        if self._learns:
            self.queue.rank_best(now, self.servers.expect)
        server = self.queue.lease(now, sessions)
        if server is None:
            return None
        several = self.politeness.most_connections > 1 and self.servers.room(server) > 1
        return server.take_session(now, self._max_batch, several=several)

    def next_url(self, session: Session, now: float) -> Entry | None:
        """The best URL of the session's server. O(log n).

        None if the session is spent, or if its server rests or has no queued URL.
        """
        server = session.server
        if session.is_spent or now < session.ready_at or not server.urls:
            return None
        self.queue.tick(now)
        self.budgets.begin(now)
        session.requests += 1
        if session.busy_since is None:
            session.busy_since = now
        self._urls -= 1
        entry = server.urls.pop(server.key)
        if entry.priority in WAITING and server.guard is not None:
            server.guard.waiting = max(0, server.guard.waiting - 1)
        self.quality.left(entry)
        self._expectations.sitemaps.handed_out(entry)
        return entry

    def is_worth_more(self, session: Session, now: float) -> bool:
        """Whether the policy prefers another request of this session to the best waiting server. O(log n).

        A session beyond its domain's share ends for a domain that has less than its share, and never the other way.
        """
        server = session.server
        other = self.queue.best(now) if server.urls else None
        if other is None or other.heap_item is None:
            return True
        shares = self.queue.shares
        if shares.is_full(other):
            if not shares.is_full(server):
                return True
        elif shares.has_more(server):
            return False
        return self.policy.goes_on(server, -other.heap_item[0])

    def gives_way(self, server: Server, now: float, *, is_full: bool) -> bool:
        """Whether ``server``, which has a session and has never answered, keeps another from having one. O(log n).

        ``is_full``: no further session may be opened.  False if one more failure would give the server up.
        """
        if server.answered or server.failures + 1 >= self.max_failures > 0:
            return False
        return self.queue.someone_waits(now, is_full=is_full)

    def record(self, measurement: Measurement) -> None:
        """Learn from a finished request: estimates, politeness, back-off. O(log servers)."""
        server = self.servers.learn(measurement)
        self.budgets.learn(measurement)
        if self.budgets.prices.byte and measurement.url:
            self._expectations.sizes.learn(measurement.url, measurement.size)
        if self._learns:
            self._rank_again()
        if server.failures >= self.max_failures > 0:
            self.give_up(server.key)
        self.servers.move(server)
        self.queue.count(server)

    def close_session(self, session: Session, now: float) -> None:
        """End the lease; the server starts its polite rest. O(log servers).

        A request in flight counts as ended now.  Raises IllegalStepError and changes nothing if the session is closed.
        """
        is_busy = session.state is BUSY
        session.step(SessionEvent.CLOSE)
        self.queue.tick(now)
        politeness = self.servers.politeness_of(session.server)
        if is_busy:
            session.server.cut_off(session, now, politeness)
        session.server.rest_after(session, politeness)
        self._release(session.server)

    def take_refilled(self) -> list[Session]:
        """Sessions that were lingering, and are free since the last call: links of their last page are known."""
        refilled, self._refilled = self._refilled, []
        return refilled

    # Newcomers: servers that have never answered

    def ask_newcomer(self, now: float, admitted: int) -> str | None:
        """Key of the best newcomer that should be admitted by ``admit`` or refused by ``name_failed``; None: of none.

        See ``ServerQueue.ask_newcomer``.  O(log servers).
        """
        server = self.queue.ask_newcomer(now, admitted)
        return None if server is None else server.key

    def admit(self, key: str, address: str = "") -> bool:
        """``ServerQueue.admit``, by key; False if it no longer waits for that. O(log servers)."""
        server = self.servers.get(key)
        return server is not None and self.queue.admit(server, address)

    def name_failed(self, key: str, now: float, error: str, wait: float = 0.0, *, is_final: bool) -> bool:
        """Learn that the name of the server ``key`` was not found; ``is_final``: it does not exist.

        The server rests as after any failure, at least ``wait`` seconds.  One that has never answered is given up at
        once if that is final, else after ``MAX_NAME_FAILURES``.  Returns whether it is given up now.  O(log servers),
        and ``give_up`` once.
        """
        if is_final and self.name_missing(key, error):
            return True
        self.record(Measurement(key, now, failed=True, error=error, retry_after=wait))
        server = self.servers[key]
        if not server.answered and server.failures >= min(MAX_NAME_FAILURES, self.max_failures) > 0:
            self.give_up(key)
        return server.given_up

    def name_missing(self, key: str, error: str) -> bool:
        """Learn that the name of the server ``key`` does not exist; returns whether the server is given up.

        One that has answered is not: a fault of the name servers is more likely.  O(1), and ``give_up`` once.
        """
        server = self.servers.get_or_add(key)
        if server.answered or not self.max_failures:
            return False
        server.note_error(error)
        self.give_up(key)
        return True

    # Servers that leave

    def hold(self, key: str) -> None:
        """Give the known server ``key`` no further session; an open one carries no further request. O(log servers).

        Its URLs stay queued, and new ones are queued.  Ends only with ``remove``.
        """
        server = self.servers[key]
        if server.session is not None:
            server.session.ending = True
        self.queue.hold(server)

    def remove(self, key: str) -> None:
        """Forget the known server ``key`` and its URLs; a store keeps them. O(log servers).

        What is reported of it later starts a new record.
        Raises IllegalStepError and changes nothing if it has a session.
        """
        server = self.servers[key]
        self.queue.remove(server)
        self.given_up -= server.given_up
        self._count(server, -len(server.urls))
        self.servers.remove(server)

    # URLs that are dropped or changed

    def give_up(self, key: str) -> None:
        """Drop the URLs of the server ``key``, queued and future ones. O(log servers)."""
        server = self.servers.get_or_add(key)
        if not server.given_up:
            server.given_up = True
            self.given_up += 1
            self._drop_urls(server)

    def page_fetched(self, key: str, limit: int, quality: float = 0.0) -> int:
        """Count a fetched page of the server ``key`` and return its count; at ``limit`` (0: none) the server is full.

        ``quality``: of its entry.  The count persists, ``full`` does not.  O(log servers).
        """
        server = self.servers.get_or_add(key)
        server.fetched += 1
        server.gathered += quality
        self.quality.fetched(quality)
        self.budgets.page_fetched(self.queue.now, self._urls, quality)
        if server.fetched >= limit > 0:
            self.fill(key)
        self.servers.changed(server)
        return server.fetched

    def fill(self, key: str) -> None:
        """Mark the server ``key`` as full and drop its URLs, queued and future ones. O(log servers)."""
        server = self.servers.get_or_add(key)
        if not server.full:
            server.full = True
            self._drop_urls(server)

    def reopen(self, key: str) -> None:
        """Let the full server ``key`` take URLs again; a store has those that were dropped for a later run. O(1)."""
        self.servers[key].full = False

    def leave(self, key: str) -> None:
        """``fill`` the known server ``key``, which does not answer, for this run. O(log servers)."""
        self.servers[key].left = True
        self.fill(key)

    @property
    def only_failing(self) -> bool:
        """Whether there are only servers that fail and have never answered, and will be given up. O(1)."""
        return self.max_failures > 0 and self.queue.only_failing

    def rewrite_queue(self, server: Server, judge: Callable[[Entry], Entry | None]) -> Iterator[int]:
        """Replace each queued URL of ``server`` by the result of ``judge``; None drops it.

        In steps of ``REWRITE_STEP`` URLs: yields the number of URLs dropped in each step.  O(n log n) in the server's
        queued URLs; URLs already handed out are not judged.  New URLs may be queued between steps.  If the generator is
        closed early, the others keep what they have.  Ends early if the server is removed, given up or full.  See
        ``ServerUrls.rewrite``.
        """
        steps = server.urls.rewrite(server.key, judge, REWRITE_STEP)
        try:
            while not (server.given_up or server.full):
                before = len(server.urls)
                changed = next(steps, None)
                self._count(server, len(server.urls) - before)
                if changed is None:
                    return
                for entry, after in changed:
                    self.quality.left(entry)
                    if after is not None:
                        self.quality.add(1, after.quality)
                self.servers.move(server)
                yield sum(after is None for _, after in changed)
                if not self._is_known(server):
                    return
        finally:
            before = len(server.urls)
            steps.close()
            if self._is_known(server):
                self._count(server, len(server.urls) - before)
                if server.given_up or server.full:
                    self._drop_urls(server)
                else:
                    self.servers.move(server)

    # Orders of the operator

    def block(self, name: str, *, blocked: bool) -> Iterator[None]:
        """Block the servers that ``name`` (``server_name``) covers, known and new, or unblock them.

        A blocked server keeps its URLs and takes new ones, which count as ``blocked``; an open session carries no
        further request.  Servers that another name blocks stay blocked.  In steps, as ``ServerTable.for_covered``.
        O(servers), or O(1) if ``name`` is a server.  Raises ValueError for too many names.
        """
        names = self.servers.orders.blocked
        if blocked:
            names.set(name, True)
        elif not names.remove(name):
            return
        yield from self.servers.for_covered(name, self._obey_block)

    def _obey_block(self, server: Server) -> None:
        blocked = self.servers.orders.is_blocked(server.key)
        if blocked == server.blocked:
            return
        self._count(server, -len(server.urls))
        server.blocked = blocked
        self._count(server, len(server.urls))
        if blocked and server.session is not None:
            server.session.ending = True
        self.queue.place(server)

    # Inspection

    def server(self, key: str) -> Server | None:
        """The server ``key``, if known. O(1)."""
        return self.servers.get(key)

    def counts(self) -> dict[str, int]:
        """Number of servers in each state, and the totals ``servers``, ``urls`` and ``blocked`` (URLs). O(groups)."""
        counts = self.queue.counts()
        counts["idle"] = len(self.servers) - sum(counts.values())
        return counts | {"servers": len(self.servers), "urls": self._urls, "blocked": self.blocked}

    # For the store

    @property
    def arrivals(self) -> tuple[int, int]:
        """(Highest arrival number of a URL, lowest of a returned one); the arguments of ``raise_arrivals``."""
        return self._arrivals, self._returns

    def raise_arrivals(self, arrivals: int, returns: int) -> None:
        """Number new URLs after ``arrivals`` and returned ones before ``returns``, those of another frontier.

        Call it before its servers are restored.  Raises ValueError for numbers that do not fit into a sort key.
        """
        if not 0 <= returns <= FIRST_ARRIVAL <= arrivals < 2 * FIRST_ARRIVAL:
            raise ValueError(f"arrivals={arrivals}, returns={returns}: not the arrival numbers of a frontier")
        self._arrivals = max(self._arrivals, arrivals)
        self._returns = min(self._returns, returns)

    def restore_server(self, key: str, urls: ServerUrls, restore: Callable[[Server], None]) -> Server:
        """Add a server with its stored queue; ``restore`` sets what was learned about it. O(log servers)."""
        server = self.servers.add(key, urls)
        restore(server)
        self.servers.restored(server)
        if server.given_up:
            self.given_up += 1
            self.drops.add_queue(server, urls.abandon(key))
        self._count(server, len(server.urls))
        self.queue.place(server)
        return server

    # Internal

    def _page_price(self) -> float:
        return self.budgets.prices.page * self.queue.last_rank

    def _size_factor(self, server: Server, url: str) -> float:
        """Factor on the quality of ``url``, by which its server's mean cost of a page stands for its own. O(length)."""
        more = server.byte_cost * (self._expectations.sizes.relative(url) - 1.0)
        cost = server.page_cost
        return cost / (cost + more)

    def _count(self, server: Server, urls: int) -> None:
        if server.blocked:
            self.blocked += urls
        else:
            self._urls += urls

    def _is_known(self, server: Server) -> bool:
        return self.servers.get(server.key) is server

    def _rank_again(self) -> None:
        """Apply what was learned from all servers: raise sitemaps, rerank the best ready servers, a few per call."""
        queue, sitemaps = self.queue, self._expectations.sitemaps
        if not (queue.outdated or sitemaps.outdated):
            is_outdated = self._expectations.is_outdated(len(queue.ready) + len(queue.admitted))
            if not (self.budgets.are_outdated() or is_outdated):
                return
            sitemaps.raise_again()
            queue.rank_again()
        if sitemaps.outdated:
            self.raise_quality(sitemaps.raised(self._page_price()))
        queue.rank_some(self.servers.expect)

    def _release(self, server: Server) -> None:
        server.session = None
        self._expectations.update(server)
        self.queue.release(server)
        self.servers.changed(server)

    def _leaving(self, entry: Entry) -> Entry:
        self.quality.left(entry)
        return entry

    def _drop_urls(self, server: Server) -> None:
        self._count(server, -len(server.urls))
        if server.guard is not None:
            server.guard.waiting = 0
        if server.urls:
            self.drops.add_queue(server, map(self._leaving, server.urls.abandon(server.key)))
        self.servers.move(server)

    def _push_url(self, server: Server, path: str, entry: Entry, arrival: int) -> None:
        if server.given_up:
            self.drops.add(entry)
            return
        server.urls.push(entry, path, arrival)
        if server.full:  # pushed first, so that the store keeps it for a run with a higher limit
            self.drops.add(server.urls.pop(server.key))
            return
        self.quality.add(1, entry.quality)
        self._count(server, 1)
        if server.session is not None and not server.blocked:
            self._wake(server.session)

    def _wake(self, session: Session) -> None:
        if session.state is LINGERING:
            session.step(SessionEvent.WAKE)
            self._refilled.append(session)

    def links_known(self, key: str) -> None:
        server = self.servers.get(key)
        if server is not None and server.session is not None:
            server.session.heard = server.session.answered
            self._wake(server.session)
