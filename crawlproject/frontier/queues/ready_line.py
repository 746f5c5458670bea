"""Limits the sessions, and look-ups, of the servers of one registered domain while servers of other domains are ready,
and the sessions at one IP address in any case.

A host name costs nothing: one wildcard record makes as many servers as a page has links, each with a session of its
own.  A registered domain costs money.  So the domains share the sessions, as they share the pages in IRLbot (Lee et
al. 2008).  Names of many domains may still be one small machine.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from sys import intern
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from crawlproject.frontier.queues.heap import LazyHeap
from crawlproject.urls.server_key import domain_of_server, end_of_host

if TYPE_CHECKING:
    from crawlproject.frontier.queues.heap import HeapItem

#: Servers of full domains and addresses that one look at a line sets aside, about 10 µs each: causes no pause.
SET_ASIDE_PER_LOOK = 64


class InDomain(Protocol):
    """A ready server, as far as it is known here."""

    key: str
    address: str  # IP address; empty: not known
    domain: str | None  # registered, once it was needed
    crowd: Any  # in which it stands: a ``Crowd``
    heap_item: HeapItem | None


T = TypeVar("T", bound=InDomain)


class Crowd(Generic[T]):
    """Ready servers of one registered domain, or at one address, by rank, that stand in a line as one.

    ``heap``: that of the line in which it stands.
    """

    __slots__ = ("heap", "heap_item", "name", "servers")

    def __init__(self, name: str, heap: LazyHeap[Any]) -> None:
        self.name = name
        self.heap = heap
        self.servers: LazyHeap[T] = LazyHeap()
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
        self.are_exact = False
        self.shares: list[DomainShares] = []

    def of(self, server: InDomain) -> str:
        """The registered domain of ``server``; the end of its host while that is enough."""
        if not self.are_exact:
            return end_of_host(server.key)
        if server.domain is None:
            server.domain = intern(domain_of_server(server.key))
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
        self._full = {domain for domain, count in self._taken.items() if count >= self._most}

    def _count(self) -> None:
        """Find the full domains. O(domains with a place), once O(places)."""
        before = self._full
        self._full = {domain for domain, count in self._taken.items() if count >= self._most}
        if self._full and not self.domains.are_exact:
            self.domains.be_exact()
        for domain in before - self._full:
            self._reopen(domain)

    def _reopen(self, domain: str) -> None:
        for line in self.lines:
            line.reopen(domain)


class AddressPlaces:
    """Counts the sessions at each IP address: one is *full* while it has ``most``; 0: no limit.

    O(1), but O(lines log servers) when an address is no longer full.  Memory: the servers with a place.
    """

    def __init__(self) -> None:
        self._limit = self._most = 0
        self._placed: dict[InDomain, str] = {}
        self._taken: dict[str, int] = {}
        self.lines: list[ReadyLine[Any]] = []

    def limit(self, most: int) -> None:
        """Allow ``most`` sessions at each address; call before the first one."""
        self._limit = self._most = most

    def share(self, processes: int) -> None:
        """Of the limit this process has its part, one at least. O(1), O(full addresses) if that rises."""
        before, self._most = self._most, self._limit and max(1, self._limit // max(1, processes))
        if before < self._most:
            for line in self.lines:
                line.reopen_addresses()

    def is_full(self, address: str) -> bool:
        """Whether no further session may be opened at ``address``."""
        return bool(self._most) and self._taken.get(address, 0) >= self._most

    def take(self, server: InDomain) -> None:
        """Count a session of ``server``, if its address is known."""
        if self._most and server.address:
            self._placed[server] = server.address
            self._taken[server.address] = self._taken.get(server.address, 0) + 1

    def leave(self, server: InDomain) -> None:
        """The session of ``server`` has ended, or is at another address."""
        address = self._placed.pop(server, "")
        if address:
            was_full = self.is_full(address)
            self._taken[address] -= 1
            if not self._taken[address]:
                del self._taken[address]
            if was_full:
                for line in self.lines:
                    line.reopen(crowd_at(address))

    def move(self, server: InDomain, address: str) -> bool:
        """The session of ``server`` is about to connect to ``address``; empty: to a proxy. False: that is full."""
        if self._placed.get(server, "") != address or server.address != address:
            if self.is_full(address):
                return False
            self.wait_at(server, address)
            self.take(server)
        return True

    def wait_at(self, server: InDomain, address: str) -> None:
        """``server``, which is in no line, is at ``address``; its session, if it has one, is not counted any more."""
        self.leave(server)
        server.address = address


def crowd_at(address: str) -> str:
    """The name of a crowd of servers at ``address``: no domain has it."""
    return f"@{address}"


class ReadyLine(Generic[T]):
    """Sorts ready servers by rank, puts the servers of full domains (by any of the ``shares``) behind all others, and
    leaves out those at full ``addresses``.

    When the next server belongs to a full domain, or is at a full address, it is set aside in a *crowd*.  From then on
    the crowd takes all further servers of this domain, or at this address, and stands for them in the line, until it is
    empty.  So ``peek`` is O(log servers) amortised: a domain that becomes full again moves as one.
    """

    def __init__(self, addresses: AddressPlaces, *shares: DomainShares) -> None:
        addresses.lines.append(self)
        for each in shares:
            each.lines.append(self)
        self._addresses = addresses
        self._shares = shares
        self._domain = shares[0].domains.of
        self._open: LazyHeap[T | Crowd[T]] = LazyHeap()
        self._set_aside: LazyHeap[Crowd[T]] = LazyHeap()  # of full domains
        self._shut: LazyHeap[Crowd[T]] = LazyHeap()  # at full addresses
        self._crowds: dict[str, Crowd[T]] = {}
        self._count = 0
        #: Whether the last ``peek`` has not found any, and the next one may.
        self.is_unsure = False

    def __len__(self) -> int:
        return self._count

    @property
    def crowded(self) -> int:
        """Number of servers set aside. O(largest numbers of full domains and addresses so far)."""
        return self.shut + sum(len(crowd.servers) for crowd in self._set_aside.values())

    @property
    def shut(self) -> int:
        """Number of servers set aside because their address is full. O(largest number of full addresses so far)."""
        return sum(len(crowd.servers) for crowd in self._shut.values())

    def push(self, server: T, key: float, arrival: int | None = None) -> None:
        """Queue a server that is in no line; ``arrival`` as in ``LazyHeap.push``. O(log servers)."""
        self._count += 1
        crowds = self._crowds
        crowd = crowds and (crowds.get(crowd_at(server.address)) or crowds.get(self._domain(server)))
        if not crowd:
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
        self._take_out(server)

    def _take_out(self, server: T) -> None:
        crowd = server.crowd
        if crowd is None:
            self._open.remove(server)
        else:
            server.crowd = None
            crowd.servers.remove(server)
            self._moved(crowd)

    def peek(self) -> T | None:
        """The best server of a domain that is not full, else the best one of a full domain, else None.

        After ``SET_ASIDE_PER_LOOK`` servers it is one of a full domain, or None, although others may wait.
        """
        self.is_unsure = False
        shares, addresses = self._shares, self._addresses
        for _ in range(SET_ASIDE_PER_LOOK):
            heap: LazyHeap[Any] = self._open
            best = heap.peek()
            if best is None:
                heap = self._set_aside
                if (best := heap.peek()) is None:
                    return None
            server: T | None = best.servers.peek() if isinstance(best, Crowd) else best
            assert server is not None
            if server.address and addresses.is_full(server.address):
                self._put_aside(best, server, crowd_at(server.address), self._shut)
                continue
            if heap is self._set_aside:
                return server
            for each in shares:
                if each.is_full(server):
                    break
            else:
                return server
            self._put_aside(best, server, self._domain(server), self._set_aside)
        self.is_unsure = True
        crowd = self._set_aside.peek()
        server = None if crowd is None else crowd.servers.peek()
        return None if server is None or self._addresses.is_full(server.address) else server

    def reopen(self, name: str) -> None:
        """Let the servers of the crowd ``name`` be next again. O(log servers)."""
        crowd = self._crowds.get(name)
        if crowd is not None and crowd.heap is not self._open:
            self._put(crowd, self._open)

    def reopen_addresses(self) -> None:
        """Look at all full addresses again: they may have more sessions. O(full addresses)."""
        for crowd in self._shut.values():
            self._put(crowd, self._open)

    def about_first(self, count: int) -> list[T]:
        """Roughly the best ``count`` servers, roughly in order; none at a full address that was set aside. O(count)."""
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

    def _put_aside(self, one: T | Crowd[T], server: T, name: str, heap: LazyHeap[Any]) -> None:
        """Move ``one``, of which ``server`` is the best, into the crowd ``name``, and that into ``heap``."""
        if isinstance(one, Crowd) and one.name == name:
            self._put(one, heap)
            return
        assert server.heap_item is not None
        key, arrival, _ = server.heap_item
        self._take_out(server)
        crowd = self._crowds.get(name)
        if crowd is None:
            crowd = self._crowds[name] = Crowd(name, heap)
            heap.push(crowd, key)
        self._join(crowd, server, key, arrival)

    def _put(self, crowd: Crowd[T], heap: LazyHeap[Any]) -> None:
        crowd.heap.remove(crowd)
        crowd.heap = heap
        heap.push(crowd, crowd.first_key())

    def _join(self, crowd: Crowd[T], server: T, key: float, arrival: int | None) -> None:
        server.crowd = crowd
        crowd.servers.push(server, key, arrival)
        self._moved(crowd)

    def _moved(self, crowd: Crowd[T]) -> None:
        if len(crowd.servers):
            crowd.heap.rekey(crowd, crowd.first_key())
        else:
            crowd.heap.remove(crowd)
            del self._crowds[crowd.name]
