"""Decides which addresses the crawl may contact: by default only those of the public Internet.

Pages are untrusted: a link, a redirect or a DNS record may point to a service that only this machine or its network
can reach.  Therefore addresses are checked when a socket is about to connect, after DNS resolution.

Sources: IANA's IPv4 and IPv6 Special-Purpose Address Registries, and the cloud providers' documentation of their
metadata services.  Python's ``is_global`` and similar attributes differ between versions, and cover neither metadata
services nor addresses embedded in other addresses.
"""

from __future__ import annotations

import errno
import socket
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.exceptions import IgnoreRequest

from crawlproject.options.network import NetworkOptions
from crawlproject.urls.server_key import host_of, server_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self

    from scrapy.crawler import Crawler

    from crawlproject.options.network import Network

Address = IPv4Address | IPv6Address

#: Kind -> networks; the first network that contains an address gives its kind.
_REFUSED = {
    # EC2, Azure and most others; ECS; Azure's host; Alibaba; Oracle; EC2, Google and Scaleway over IPv6.
    "metadata": "169.254.169.254 169.254.170.2 168.63.129.16 100.100.100.200 192.0.0.192"
    " fd00:ec2::/32 fd20:ce::254 fd00:42::42",
    "unspecified": "0.0.0.0/8 ::",
    "loopback": "127.0.0.0/8 ::1",
    "link_local": "169.254.0.0/16 fe80::/10",
    "private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10 64:ff9b:1::/48",
    "shared": "100.64.0.0/10",
    "multicast": "224.0.0.0/4 ff00::/8",
    # Protocol assignments, documentation, benchmarks, future use; in IPv6, also everything but global unicast.
    "reserved": "192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4"
    " 2001::/23 2001:db8::/32 3fff::/20 ::/3 4000::/2 8000::/1",
}
_TABLE = [(ip_network(network), kind) for kind, networks in _REFUSED.items() for network in networks.split()]

_TEREDO = ip_network("2001::/32")
#: IPv6 networks with embedded IPv4 addresses -> the bit offset of each.
_CARRIERS = {
    ip_network("::ffff:0:0/96"): (0,),  # IPv4-mapped
    ip_network("64:ff9b::/96"): (0,),  # NAT64
    ip_network("2002::/16"): (80,),  # 6to4
    _TEREDO: (64, 0),  # Teredo: the server, and the client with all bits inverted
}
_LOW = 0xFFFFFFFF

#: Servers, and addresses, whose check is remembered.
SERVERS_REMEMBERED = 10_000


class AddressRefused(IgnoreRequest):
    """A request was not sent because the server's address is not allowed (``FRONTIER_ALLOWED_NETWORKS``)."""

    def __init__(self, server: str, refusal: Refusal) -> None:
        super().__init__(f"{server} is not contacted: {refusal}")
        self.server = server
        self.kind = refusal.kind


class Refusal(NamedTuple):
    """Reason for not contacting an address."""

    address: str
    kind: str
    network: Network

    def __str__(self) -> str:
        to_allow = f"FRONTIER_ALLOWED_NETWORKS={self.network}, or that address alone"
        return f"its address {self.address} is {self.kind} (to allow it: {to_allow})"


class AddressGuard:
    """Checks addresses; networks in ``allowed`` may be contacted even if they are not public.

    ``limits_own``: sessions at these are limited as well (``FRONTIER_ADDRESS_SESSIONS``).
    """

    def __init__(self, allowed: Iterable[Network] = (), *, limits_own: bool = False) -> None:
        self._allowed = tuple(allowed)
        self._limits_own = limits_own
        self._of_server = lru_cache(SERVERS_REMEMBERED)(self._refusal_of_server)
        self.refusal = lru_cache(SERVERS_REMEMBERED)(self._refusal)
        self._of_public = lru_cache(SERVERS_REMEMBERED)(partial(self._refusal, allowed=()))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """By the settings (``FRONTIER_ALLOWED_NETWORKS``)."""
        options = NetworkOptions.of(crawler)
        return cls(options.allowed_networks, limits_own=options.limits_own_addresses)

    def limited(self, address: str) -> str:
        """``address`` if the sessions there are limited, else "": it is not public. O(1) if known, O(networks)."""
        return address if self._limits_own or self._of_public(address) is None else ""

    def _refusal(self, address: str, allowed: tuple[Network, ...] | None = None) -> Refusal | None:
        """The reason not to contact ``address`` (an IP address, optionally with a zone); None if allowed. O(networks).

        An IPv6 address with embedded IPv4 addresses is judged by those.
        """
        for each in _meant(ip_address(address.partition("%")[0])):
            if any(each in network for network in (self._allowed if allowed is None else allowed)):
                continue
            for network, kind in _TABLE:
                if each in network:
                    return Refusal(address, kind, network)
        return None

    def check_url(self, url: str) -> None:
        """Raise AddressRefused if the host of ``url`` is a refused IP address, in any notation.

        O(length of the host) for a known server.
        """
        try:
            key = server_key(url)
        except ValueError:
            key = url
        self.check_server(key)

    def check_server(self, key: str) -> None:
        """``check_url`` for any URL of the server ``key``. O(1) for a known server."""
        refusal = self._of_server(key)
        if refusal is not None:
            raise AddressRefused(key, refusal)

    def _refusal_of_server(self, key: str) -> Refusal | None:
        address = literal_address(key)
        return None if address is None else self.refusal(address)


def literal_address(url: str) -> str | None:
    """The IP address if the host of ``url`` is one, 127.0.0.1 for ``localhost``, else None.

    >>> literal_address("http://0x7f.1:8080/"), literal_address("ftp://u@2130706433/"), literal_address("http://a.org/")
    ('127.0.0.1', '127.0.0.1', None)
    """
    try:
        host = host_of(server_key(url))
        if ":" not in host and not url.startswith("http"):  # server_key normalizes numbers for http only
            host = host_of(server_key(f"http://{host}"))
        if host.rstrip(".").rpartition(".")[2] == "localhost":  # RFC 6761, section 6.3
            return "127.0.0.1"
        return str(ip_address(host)) if host[-1:].isdigit() or ":" in host else None
    except ValueError:
        return None


def _meant(address: Address) -> Iterator[Address]:
    """The addresses that a packet to ``address`` reaches: itself, or the embedded ones."""
    for network, shifts in _CARRIERS.items():
        if address in network:
            for shift in shifts:
                carried = int(address) >> shift & _LOW
                yield IPv4Address(carried ^ _LOW if network is _TEREDO and not shift else carried)
            return
    yield address


class GuardedSockets:
    """A factory of sockets: called with each address before a connection to it is opened.

    Every address passes here, whether it comes from DNS, a redirect or a retry.  A refused address is handled like one
    that does not answer: the host's next address is tried.  So is one that has no room for another session, as
    ``has_room`` says, which is called with "" for a proxy.  ``local``: the address that they are to be bound to.
    """

    def __init__(
        self,
        guard: AddressGuard,
        local: tuple[str, int] | None = None,
        has_room: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self.local = local
        self._guard = guard
        self._has_room = has_room
        self.expect(to_proxy=False)

    def expect(self, *, to_proxy: bool) -> None:
        """Called before each request. ``to_proxy``: it goes to the user's proxy, whose address is not checked."""
        self._to_proxy = to_proxy
        self._has_tried = False
        #: The reason why no connection was opened, and the address for whose room it has to wait; forgotten when
        #: another address was tried.
        self.refusal: Refusal | None = None
        self.full = ""

    def __call__(self, address_info: Any) -> socket.socket:
        """Create the socket for an entry of ``getaddrinfo``; raises PermissionError if its address is refused."""
        family, kind, protocol, _, address = address_info
        refusal = None if self._to_proxy else self._guard.refusal(address[0])
        if refusal is not None:
            self.refusal = None if self._has_tried else refusal
            raise PermissionError(errno.EACCES, str(refusal))
        limited = "" if self._to_proxy else self._guard.limited(address[0])
        if not self._has_room(limited):
            self.full = "" if self._has_tried else limited
            raise PermissionError(errno.EACCES, f"{limited} has as many sessions as it may have")
        self._has_tried, self.refusal, self.full = True, None, ""
        return socket.socket(family, kind, protocol)
