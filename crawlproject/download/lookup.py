"""Resolves names: first by ``/etc/hosts``, then by name servers, using dnspython.

dnspython was chosen because it returns TTLs and does not cache.  c-ares (aiodns) needs a quarter of the CPU time (0.19
against 0.77 ms for a name's two queries), but caches answers for up to an hour, which its binding cannot switch off, so
that the limits on TTLs would not hold; and it sends queries from few ports.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import dns.asyncresolver
import dns.exception
import dns.nameserver
import dns.resolver

from crawlproject.options.network import NetworkOptions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

#: RFC 8305, section 3: after the IPv4 answer, wait this long (seconds) for the IPv6 answer.
RESOLUTION_DELAY = 0.05

HOSTS_FILE = Path("/etc/hosts")
RESOLV_FILE = Path("/etc/resolv.conf")

_KINDS: dict[type[Exception], str] = {
    dns.resolver.NXDOMAIN: "nxdomain",
    dns.exception.Timeout: "timeout",
    dns.resolver.NoNameservers: "servfail",
}

#: Kinds of ``NameLookupError`` that are answers: the name has no address.
FINAL = frozenset(("nxdomain", "no_address", "malformed"))

_WORDS = {
    "nxdomain": "no such name",
    "no_address": "the name has no address",
    "servfail": "its name servers fail",
    "timeout": "its name servers do not answer",
    "malformed": "not a host name",
}
_IN_WORDS = frozenset(_WORDS.values())

#: Names of a chain of CNAME records that are read: dnspython follows 16.
MAX_NAMES = 4


class Answer(NamedTuple):
    """The addresses of a name."""

    #: IPv4 before IPv6.
    addresses: tuple[str, ...]
    #: TTL in seconds.
    ttl: float
    #: Of which it is an alias (CNAME), in order; at most ``MAX_NAMES``.
    names: tuple[str, ...] = ()


class NameLookupError(OSError):
    """A name has no address, or the look-up failed.

    ``kind``: ``nxdomain``, ``no_address``, ``servfail`` (no name server gave a usable answer), ``timeout``,
    ``malformed`` (not a valid DNS name).
    """

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(f"DNS: {kind} for {name}")
        self.name = name
        self.kind = kind

    @property
    def in_words(self) -> str:
        """For the log."""
        return f"{_WORDS.get(self.kind, self.kind)}: {self.name}"

    @property
    def is_final(self) -> bool:
        """Whether the name does not exist; otherwise another look-up may succeed."""
        return self.kind in FINAL


def is_of_name(words: str) -> bool:
    """Whether ``words`` are the ``in_words`` of an error."""
    return words.partition(": ")[0] in _IN_WORDS


class NameLookup:
    """Looks names up without a cache.

    ``servers``: (address, port) of name servers, asked in random order; empty: those of ``/etc/resolv.conf``.  After
    2 s without an answer a query is repeated, to the next server if there is one; a truncated answer is requested again
    over TCP; a server that answers SERVFAIL or garbage is skipped.  ``timeout``: seconds for all of this.

    ``has_ipv6``: whether to look up IPv6 addresses of names that have IPv4 addresses; default: if the system has an
    IPv6 route.
    """

    def __init__(
        self,
        servers: Sequence[tuple[str, int]] = (),
        timeout: float = 10.0,
        *,
        hosts_file: Path = HOSTS_FILE,
        resolv_file: Path = RESOLV_FILE,
        has_ipv6: bool | None = None,
    ) -> None:
        self._resolver = _resolver(servers, resolv_file)
        self._timeout = timeout
        self._hosts = _read_hosts(hosts_file)
        self._has_ipv6 = has_ipv6_route() if has_ipv6 is None else has_ipv6

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """By the settings."""
        options = NetworkOptions.of(crawler)
        return cls(options.dns_servers, options.dns_timeout)

    async def answers(self, name: str) -> bool:
        """Whether name servers answer if they are asked for ``name`` now."""
        try:
            await self.look_up(name)
        except NameLookupError as error:
            return error.is_final
        return True

    async def look_up(self, name: str) -> Answer:
        """The addresses of ``name``; raises NameLookupError."""
        known = self._hosts.get(name.rstrip(".").lower())
        if known is not None:
            return Answer(known, float("inf"))
        try:
            answers = await self._ask(name)
        except (dns.exception.DNSException, UnicodeError) as error:
            kinds = (kind for exception, kind in _KINDS.items() if isinstance(error, exception))
            raise NameLookupError(name, next(kinds, "malformed")) from error
        found = [answer for answer in answers if answer.addresses]
        if not found:
            raise NameLookupError(name, "no_address")
        addresses = tuple(each for answer in found for each in answer.addresses)
        return Answer(addresses, min(answer.ttl for answer in found), found[0].names)

    async def _ask(self, name: str) -> list[Answer]:
        if not self._has_ipv6:  # without a route, query IPv6 only if there is no IPv4 address
            found = await self._ask_for(name, "A")
            return [found] if found.addresses else [await self._ask_for(name, "AAAA")]
        ipv6 = asyncio.ensure_future(self._ask_for(name, "AAAA"))
        ipv6.add_done_callback(_look_at)
        try:
            found = await self._ask_for(name, "A")
            await asyncio.wait([ipv6], timeout=RESOLUTION_DELAY if found.addresses else None)
            if not found.addresses:
                return [await ipv6]
            return [found, ipv6.result()] if ipv6.done() and ipv6.exception() is None else [found]
        finally:
            ipv6.cancel()

    async def _ask_for(self, name: str, record: str) -> Answer:
        answer = await self._resolver.resolve(
            name, record, lifetime=self._timeout, raise_on_no_answer=False, search="." not in name
        )
        addresses = tuple(each.address for each in answer.rrset) if answer.rrset is not None else ()
        return Answer(addresses, float(answer.chaining_result.minimum_ttl), _names(answer) if addresses else ())


def _names(answer: dns.resolver.Answer) -> tuple[str, ...]:
    targets = [records[0].target for records in answer.chaining_result.cnames[:MAX_NAMES]]
    return tuple(target.to_text(omit_final_dot=True).lower() for target in targets)


def _look_at(task: asyncio.Task[Answer]) -> None:
    """Retrieve the task's exception, so that asyncio does not log it; it may arrive even after cancellation."""
    if not task.cancelled():
        task.exception()


def _resolver(servers: Sequence[tuple[str, int]], resolv_file: Path) -> dns.asyncresolver.Resolver:
    resolver = dns.asyncresolver.Resolver(configure=False)
    if not servers:
        try:
            resolver.read_resolv_conf(str(resolv_file))
        except (dns.exception.DNSException, ValueError, OSError) as error:
            if resolv_file.exists():
                logger.warning("%s: %s", resolv_file, error)
        else:
            resolver.timeout = max(1.0, resolver.timeout)  # like the C library
            return resolver
        servers = [("127.0.0.1", 53)]  # like the C library without a resolv.conf
    resolver.nameservers = [dns.nameserver.Do53Nameserver(address, port) for address, port in servers]
    resolver.rotate = True
    return resolver


def _read_hosts(path: Path) -> dict[str, tuple[str, ...]]:
    """Name -> addresses by hosts(5); always includes ``localhost``."""
    hosts: dict[str, tuple[str, ...]] = {}
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            address, *names = line.partition("#")[0].split() or [""]
            for name in names if is_address(address) else ():
                known = hosts.get(name.lower(), ())
                if address not in known:
                    hosts[name.lower()] = (*known, address)
    hosts.setdefault("localhost", ("127.0.0.1", "::1"))
    return hosts


@lru_cache(maxsize=4096)
def is_address(host: str) -> bool:
    """Whether ``host`` is an IP address."""
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def has_ipv6_route() -> bool:
    """Whether the system has a route to the IPv6 Internet; sends no packet."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
            sock.connect(("2001:db8::1", 53))
    except OSError:
        return False
    return True
