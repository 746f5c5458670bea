"""Limits the sessions, and look-ups, of the servers of one registered domain while servers of other domains are ready.

A host name costs nothing: one wildcard record makes as many servers as a page has links, each with a session of its
own.  A registered domain costs money.  So the domains share the sessions, as they share the pages in IRLbot (Lee et
al. 2008).
"""

from __future__ import annotations

from collections import Counter
from math import inf
from sys import intern
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from crawlproject.frontier.queues.heap import LazyHeap

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlproject.frontier.queues.heap import HeapItem

#: Servers of full domains that one look at a line sets aside, about 10 µs each: causes no pause.
SET_ASIDE_PER_LOOK = 64


class InDomain(Protocol):
    """A ready server."""

    key: str
    domain: str | None  # registered, once it was needed
    crowd: Crowd[Any] | None  # in which it stands
    heap_item: HeapItem | None


T = TypeVar("T", bound=InDomain)


class Crowd(Generic[T]):
    """Ready servers of one registered domain, by rank, that stand in a line as one."""

    __slots__ = ("domain", "heap_item", "is_set_aside", "servers")

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self.servers: LazyHeap[T] = LazyHeap()
        self.is_set_aside = False  # the domain is full
        self.heap_item: HeapItem | None = None

    def first_key(self) -> float:
        """The key of its best server; it must not be empty."""
        key = self.servers.first_key()
        assert key is not None
        return key


class Domains:
    """The registered domains of servers; O(1) for each server after the first time.

    Finding them takes a long list, which most crawls never need: while the servers whose hosts have the same end
    (``example.org``, ``co.uk``) together hold less than a share of the places, so does each registered domain.
    """

    def __init__(self) -> None:
        self._domain_of: Callable[[str], str] = str
        self._end_of: Callable[[str], str] = str
        self.are_exact = False
        self.shares: list[DomainShares] = []

    def find_by(self, domain_of: Callable[[str], str], end_of: Callable[[str], str]) -> None:
        """``domain_of``: server key -> registered domain; ``end_of``: -> the same or a shorter end of the host."""
        self._domain_of, self._end_of = domain_of, end_of

    def of(self, server: InDomain) -> str:
        """The registered domain of ``server``; the end of its host while that is enough."""
        if not self.are_exact:
            return self._end_of(server.key)
        if server.domain is None:
            server.domain = intern(self._domain_of(server.key))
        return server.domain

    def be_exact(self) -> None:
        """From now on the ends of hosts are not enough. O(places taken)."""
        self.are_exact = True
        for shares in self.shares:
            shares.count_again()


class DomainShares:
    """Counts the places, such as sessions, that each domain has taken: one is *full* while it has its share, or more.

    Nothing is counted without ``limit``.  O(1), but O(domains with a place) when a domain becomes full.  Memory: the
    servers with a place, and their domains.
    """

    def __init__(self, domains: Domains) -> None:
        domains.shares.append(self)
        self.domains = domains
        self._share = 1.0
        self._most: float = inf  # places of a domain
        self._placed: set[InDomain] = set()
        self._taken: dict[str, int] = {}
        self._full: set[str] = set()
        self.lines: list[ReadyLine[Any]] = []

    def limit(self, share: float) -> None:
        """Give each domain this ``share`` of the places, rounded down, at least one; call before one is taken."""
        self._share = share

    def set_places(self, places: float) -> None:
        """Set the number of places that are shared. O(1), O(places) if it has changed."""
        most = max(1, int(places * self._share)) if self._share < 1 and places < inf else inf
        if most != self._most:
            self._most = most
            self._count()

    def is_full(self, server: InDomain) -> bool:
        """Whether the server's domain has its share of the places, or more."""
        return bool(self._full) and self.domains.of(server) in self._full

    def has_more(self, server: InDomain) -> bool:
        """Whether the server's domain has more than its share of the places."""
        return bool(self._full) and self._taken.get(self.domains.of(server), 0) > self._most

    def take(self, server: InDomain) -> None:
        """Count a place for ``server``."""
        if self._share < 1:
            self._placed.add(server)
            domain = self.domains.of(server)
            count = self._taken[domain] = self._taken.get(domain, 0) + 1
            if count >= self._most and domain not in self._full:
                self._count()

    def leave(self, server: InDomain) -> None:
        """Count the server's place as free."""
        if self._share < 1:
            self._placed.remove(server)
            domain = self.domains.of(server)
            count = self._taken[domain] - 1
            if count:
                self._taken[domain] = count
            else:
                del self._taken[domain]
            if count < self._most and domain in self._full:
                self._full.remove(domain)
                self._reopen(domain)

    def count_again(self) -> None:
        """The domains are now found more exactly; before, none was full. O(places taken)."""
        self._taken = dict(Counter(map(self.domains.of, self._placed)))
        self._full = self._with_share()

    def _count(self) -> None:
        """Find the full domains. O(domains with a place), once O(places)."""
        before, self._full = self._full, self._with_share()
        if self._full and not self.domains.are_exact:
            self.domains.be_exact()
        for domain in before - self._full:
            self._reopen(domain)

    def _with_share(self) -> set[str]:
        return {domain for domain, count in self._taken.items() if count >= self._most}

    def _reopen(self, domain: str) -> None:
        for line in self.lines:
            line.reopen(domain)


class ReadyLine(Generic[T]):
    """Sorts ready servers by rank, and puts the servers of full domains (by any of the ``shares``) behind all others.

    When the next server belongs to a full domain, it is set aside in the domain's *crowd*.  From then on the crowd
    takes all further servers of this domain, and stands for them in the line, until it is empty.  So ``peek`` is
    O(log servers) amortised: a domain that becomes full again moves as one.
    """

    def __init__(self, *shares: DomainShares) -> None:
        for each in shares:
            each.lines.append(self)
        self._shares = shares
        self._domain = shares[0].domains.of
        self._open: LazyHeap[T | Crowd[T]] = LazyHeap()
        self._set_aside: LazyHeap[Crowd[T]] = LazyHeap()
        self._crowds: dict[str, Crowd[T]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def crowded(self) -> int:
        """Number of servers set aside. O(largest number of full domains so far)."""
        return sum(len(crowd.servers) for crowd in self._set_aside.values())

    def push(self, server: T, key: float, arrival: int | None = None) -> None:
        """Queue a server that is in no line; ``arrival`` as in ``LazyHeap.push``. O(log servers)."""
        self._count += 1
        crowd = self._crowds.get(self._domain(server)) if self._crowds else None
        if crowd is None:
            self._open.push(server, key, arrival)
        else:
            self._join(crowd, server, key, arrival)

    def rekey(self, server: T, key: float) -> None:
        """Move a server of this line to ``key``. O(log servers)."""
        crowd = server.crowd
        if crowd is None:
            self._open.rekey(server, key)
        else:
            crowd.servers.rekey(server, key)
            self._moved(crowd)

    def remove(self, server: T) -> None:
        """Remove a server of this line. O(log servers)."""
        self._count -= 1
        crowd = server.crowd
        if crowd is None:
            self._open.remove(server)
        else:
            server.crowd = None
            crowd.servers.remove(server)
            self._moved(crowd)

    def peek(self) -> T | None:
        """The best server of a domain that is not full, else the best one of a full domain, else None.

        After ``SET_ASIDE_PER_LOOK`` servers it is one of a full domain, although others may wait.
        """
        shares = self._shares
        for _ in range(SET_ASIDE_PER_LOOK):
            best = self._open.peek()
            server = best.servers.peek() if isinstance(best, Crowd) else best
            if best is None or server is None:
                crowd = self._set_aside.peek()
                return None if crowd is None else crowd.servers.peek()
            for each in shares:
                if each.is_full(server):
                    break
            else:
                return server
            self._put_aside(best)
        return server

    def reopen(self, domain: str) -> None:
        """Let the servers of ``domain`` be next again. O(log servers)."""
        crowd = self._crowds.get(domain)
        if crowd is not None and crowd.is_set_aside:
            self._set_aside.remove(crowd)
            crowd.is_set_aside = False
            self._open.push(crowd, crowd.first_key())

    def first(self, count: int) -> list[T]:
        """The best ``count`` servers, in order; of each crowd only the best one. O(count log count)."""
        found: list[T | Crowd[T] | None] = [*self._open.first(count)]
        found += self._set_aside.first(count - len(found))
        best = (one.servers.peek() if isinstance(one, Crowd) else one for one in found)
        return [server for server in best if server is not None]

    def about_first(self, count: int) -> list[T]:
        """Roughly the best ``count`` servers, roughly in order. O(count)."""
        found: list[T] = []
        for heap in (self._open, self._set_aside):
            for one in heap.about_first(count):
                found += one.servers.about_first(count - len(found)) if isinstance(one, Crowd) else [one]
                if len(found) >= count:
                    return found
        return found

    def values(self) -> list[T]:
        """The servers in no order. O(largest size so far)."""
        servers = [one for one in self._open.values() if not isinstance(one, Crowd)]
        return servers + [server for crowd in self._crowds.values() for server in crowd.servers.values()]

    def _put_aside(self, one: T | Crowd[T]) -> None:
        if isinstance(one, Crowd):
            self._open.remove(one)
            one.is_set_aside = True
            self._set_aside.push(one, one.first_key())
            return
        assert one.heap_item is not None
        key, arrival, _ = one.heap_item
        self._open.remove(one)
        domain = self._domain(one)
        crowd = self._crowds.get(domain)
        if crowd is None:
            crowd = self._crowds[domain] = Crowd(domain)
            crowd.is_set_aside = True
            self._set_aside.push(crowd, key)
        self._join(crowd, one, key, arrival)

    def _join(self, crowd: Crowd[T], server: T, key: float, arrival: int | None) -> None:
        server.crowd = crowd
        crowd.servers.push(server, key, arrival)
        self._moved(crowd)

    def _moved(self, crowd: Crowd[T]) -> None:
        heap: LazyHeap[Any] = self._set_aside if crowd.is_set_aside else self._open
        if len(crowd.servers):
            heap.rekey(crowd, crowd.first_key())
        else:
            heap.remove(crowd)
            del self._crowds[crowd.domain]
