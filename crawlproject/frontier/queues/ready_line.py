"""Limits the sessions that the servers of one registered domain may hold while servers of other domains are ready.

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


class DomainShares:
    """Counts the sessions of each domain: one is *full* while it has its share of them, or more.

    Nothing is counted without ``limit``.  O(1), but O(domains with a session) when a domain becomes full.  Memory: the
    servers with a session, and their domains.

    Registered domains are told by a long list, which most crawls never need: while the servers whose hosts end alike
    (``example.org``, ``co.uk``) do not have a share of the sessions together, no registered domain has.
    """

    def __init__(self) -> None:
        self._share = 1.0
        self._domain_of: Callable[[str], str] = str
        self._end_of: Callable[[str], str] = str
        self._is_exact = False
        self._places: float = inf
        self._served: set[InDomain] = set()
        self._sessions: dict[str, int] = {}
        self._full: set[str] = set()
        self.lines: list[ReadyLine[Any]] = []

    def limit(self, share: float, domain_of: Callable[[str], str], end_of: Callable[[str], str]) -> None:
        """Give each domain this ``share`` of the sessions, rounded down, at least one; call before the first session.

        ``domain_of``: server key -> registered domain; ``end_of``: -> the same or a shorter end of the host.
        """
        self._share, self._domain_of, self._end_of = share, domain_of, end_of

    def set_sessions(self, sessions: float) -> None:
        """Set the number of sessions that are shared. O(1), O(sessions) if it has changed."""
        places = max(1, int(sessions * self._share)) if self._share < 1 and sessions < inf else inf
        if places != self._places:
            self._places = places
            self._count()

    def domain(self, server: InDomain) -> str:
        """The registered domain of ``server``; the end of its host while that is enough."""
        if not self._is_exact:
            return self._end_of(server.key)
        if server.domain is None:
            server.domain = intern(self._domain_of(server.key))
        return server.domain

    def is_full(self, server: InDomain) -> bool:
        """Whether the server's domain has its share of the sessions, or more."""
        return bool(self._full) and self.domain(server) in self._full

    def has_more(self, server: InDomain) -> bool:
        """Whether the server's domain has more than its share of the sessions."""
        return bool(self._full) and self._sessions.get(self.domain(server), 0) > self._places

    def leased(self, server: InDomain) -> None:
        """Count a session."""
        if self._share < 1:
            self._served.add(server)
            domain = self.domain(server)
            count = self._sessions[domain] = self._sessions.get(domain, 0) + 1
            if count >= self._places and domain not in self._full:
                self._count()

    def released(self, server: InDomain) -> None:
        """Count the end of a session."""
        if self._share < 1:
            self._served.remove(server)
            domain = self.domain(server)
            count = self._sessions[domain] - 1
            if count:
                self._sessions[domain] = count
            else:
                del self._sessions[domain]
            if count < self._places and domain in self._full:
                self._full.remove(domain)
                self._reopen(domain)

    def _count(self) -> None:
        """Find the full domains. O(domains with a session), once O(sessions)."""
        before, self._full = self._full, self._with_share()
        if self._full and not self._is_exact:
            self._is_exact = True
            self._sessions = dict(Counter(map(self.domain, self._served)))
            self._full = self._with_share()
        for domain in before - self._full:
            self._reopen(domain)

    def _with_share(self) -> set[str]:
        return {domain for domain, count in self._sessions.items() if count >= self._places}

    def _reopen(self, domain: str) -> None:
        for line in self.lines:
            line.reopen(domain)


class ReadyLine(Generic[T]):
    """Sorts ready servers by rank, and puts the servers of full domains behind all others.

    When the next server belongs to a full domain, it is set aside in the domain's *crowd*.  From then on the crowd
    takes all further servers of this domain, and stands for them in the line, until it is empty.  So ``peek`` is
    O(log servers) amortised: a domain that becomes full again moves as one.
    """

    def __init__(self, shares: DomainShares) -> None:
        shares.lines.append(self)
        self._shares = shares
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

    def push(self, server: T, key: float) -> None:
        """Queue a server that is in no line. O(log servers)."""
        self._count += 1
        crowd = self._crowds.get(self._shares.domain(server)) if self._crowds else None
        if crowd is None:
            self._open.push(server, key)
        else:
            self._join(crowd, server, key)

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
        is_full = self._shares.is_full
        for _ in range(SET_ASIDE_PER_LOOK):
            best = self._open.peek()
            server = best.servers.peek() if isinstance(best, Crowd) else best
            if best is None or server is None:
                crowd = self._set_aside.peek()
                return None if crowd is None else crowd.servers.peek()
            if not is_full(server):
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
        key = one.heap_item[0]
        self._open.remove(one)
        domain = self._shares.domain(one)
        crowd = self._crowds.get(domain)
        if crowd is None:
            crowd = self._crowds[domain] = Crowd(domain)
            crowd.is_set_aside = True
            self._set_aside.push(crowd, key)
        self._join(crowd, one, key)

    def _join(self, crowd: Crowd[T], server: T, key: float) -> None:
        server.crowd = crowd
        crowd.servers.push(server, key)
        self._moved(crowd)

    def _moved(self, crowd: Crowd[T]) -> None:
        """Move ``crowd`` to the position of its best server, or forget it if it is empty."""
        heap: LazyHeap[Any] = self._set_aside if crowd.is_set_aside else self._open
        if len(crowd.servers):
            heap.rekey(crowd, crowd.first_key())
        else:
            heap.remove(crowd)
            del self._crowds[crowd.domain]
