"""The settings of DNS look-ups and addresses."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, TypeVar

from crawlproject.options.values import Options, Reader, setting

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
Network = IPv4Network | IPv6Network

#: Names in the cache, about 600 bytes each; Scrapy's default (10,000) is for crawls of few sites.
CACHE_SIZE = 100_000


def _timeout(reader: Reader) -> float:
    """Ours, else Scrapy's if the project sets it (its default, 60, is for the system's resolver)."""
    # A lost first packet is sent again after 2 s, and then once more; a live name answers within 0.1 s.
    timeout = reader.positive("FRONTIER_DNS_TIMEOUT", 10.0)
    if reader.is_set("DNS_TIMEOUT") and not reader.is_set("FRONTIER_DNS_TIMEOUT"):
        return reader.positive("DNS_TIMEOUT", 60)
    return timeout


def _cache_size(reader: Reader) -> int:
    """Scrapy's ``DNSCACHE_SIZE`` if the project sets it; 0 without ``DNSCACHE_ENABLED``."""
    size = reader.count("DNSCACHE_SIZE", CACHE_SIZE) if reader.is_set("DNSCACHE_SIZE") else CACHE_SIZE
    return size if reader.switch("DNSCACHE_ENABLED", True) else 0


def _prefetch(reader: Reader) -> int:
    prefetch = reader.count("FRONTIER_DNS_PREFETCH", 256)  # some seconds' worth of sessions at 64 of them
    return prefetch if _cache_size(reader) else 0


def _server(entry: str) -> tuple[str, int]:
    """``ADDRESS``, ``ADDRESS:PORT``, ``[ADDRESS]:PORT``. Raises ValueError."""
    address, port = entry, "53"
    if entry.startswith("["):
        address, _, port = entry[1:].partition("]")
        port = port.removeprefix(":") or "53"
    elif entry.count(":") == 1:
        address, _, port = entry.partition(":")
    ip_address(address)
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
        raise ValueError(f"{port!r} is not a port")
    return address, int(port)


def _each(reader: Reader, name: str, parse: Callable[[str], T]) -> tuple[T, ...]:
    return tuple(reader.parsed(name, entry, parse) for entry in reader.strings(name, []))


@dataclass(frozen=True)
class NetworkOptions(Options):
    """DNS look-ups, and the addresses that may be contacted. Times in seconds.

    FRONTIER_ALLOWED_NETWORKS: non-public networks and addresses that may be contacted, such as `127.0.0.0/8,fd00::/8`
        ([addresses](limits.md#addresses))
    FRONTIER_ADDRESS_SESSIONS: sessions at once at one IP address, whatever the names of its servers; 0: no limit. By
        default public addresses only ([addresses](limits.md#sessions-at-one-address))
    FRONTIER_DNS_SERVERS: name servers, each `ADDRESS`, `ADDRESS:PORT` or `[IPV6]:PORT`; default: the system's
    FRONTIER_DNS_TIMEOUT: maximum time of a look-up with all its tries, seconds
    FRONTIER_DNS_PREFETCH: servers resolved before their sessions open; 0: none, for crawls through a proxy
    DNSCACHE_SIZE: Scrapy's: names kept; 100,000 if the project does not set it
    DNSCACHE_ENABLED: Scrapy's: if off, each new connection resolves its name again
    FRONTIER_MAX_ACTIVE_SIZE: total size of the bodies in progress, bytes, above which no request is sent
    """

    #: (address, port) of each name server; empty: the system's.
    # By default those of the system: they are near, and its owner chose them.
    dns_servers: tuple[tuple[str, int], ...] = setting(_each, "FRONTIER_DNS_SERVERS", _server)
    dns_timeout: float = setting(_timeout)
    #: How long a failed name is not asked for again.
    # Longer than the first rests of a server that fails.
    failure_ttl: float = setting(lambda reader: 6 * reader.number("FRONTIER_MIN_BACKOFF", 5.0))
    #: Names in the cache; 0: none.
    cache_size: int = setting(_cache_size)
    prefetch: int = setting(_prefetch)
    allowed_networks: tuple[Network, ...] = setting(_each, "FRONTIER_ALLOWED_NETWORKS", ip_network)
    #: 0: no limit.
    # Common web servers answer 8 requests at once; with 4, sites that share addresses as on the web took 1.7 times as
    # long until 80% of their quality, with 8 10% longer (docs/limits.md#sessions-at-one-address).
    address_sessions: int = setting(Reader.count, "FRONTIER_ADDRESS_SESSIONS", 8)
    #: Whether that holds at addresses that are not public, too: they are the user's own.
    limits_own_addresses: bool = setting(lambda reader: reader.is_set("FRONTIER_ADDRESS_SESSIONS"))
    # A quarter of a megabyte for each of 64 sessions: 13 times the mean page. With one body above it
    # (DOWNLOAD_MAXSIZE), its text and the process itself (110 MB) less than 300 MB, whatever servers send.
    max_active_size: int = setting(Reader.count, "FRONTIER_MAX_ACTIVE_SIZE", 16 * 1024 * 1024, least=1)
