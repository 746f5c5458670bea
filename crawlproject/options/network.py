"""The settings ``FRONTIER_DNS_*``, ``ALLOWED_NETWORKS``, ``DOWNLOAD_MAX_ACTIVE_SIZE``, and Scrapy's own on DNS.

Read here, checked once.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any

from crawlproject.options.values import SettingValues

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from crawlproject.download.address_guard import Network

DEFAULTS: dict[str, Any] = {
    # Those of the system: they are near, and its owner chose them.
    "FRONTIER_DNS_SERVERS": None,
    # A first packet lost is sent again after 2 s, and then again; a live name answers in 0.1 s or less.
    "FRONTIER_DNS_TIMEOUT": 10.0,
    # Content networks say 20-60 s to move load about in a minute; their addresses go on answering.
    "FRONTIER_DNS_MIN_TTL": 300.0,
    # A server that moved is found within a day whatever its old answer said.
    "FRONTIER_DNS_MAX_TTL": 86_400.0,
    # The back-off leaves a server whose name failed alone, too (5, 10, 20, ... s): then the name is asked for again.
    "FRONTIER_DNS_FAILURE_TTL": 30.0,
    # Servers looked up before their sessions open: some seconds' worth of sessions at 64 of them.
    "FRONTIER_DNS_PREFETCH": 256,
    "ALLOWED_NETWORKS": [],
    # A quarter of a megabyte for each of 64 sessions: 13 times the mean page. With one body above it
    # (DOWNLOAD_MAXSIZE), its text and the process itself (110 MB) less than 300 MB, whatever servers send.
    "DOWNLOAD_MAX_ACTIVE_SIZE": 16 * 1024 * 1024,
}

#: Names in the cache; Scrapy's default (10,000) is for few sites. About 600 bytes each.
CACHE_SIZE = 100_000


@dataclass(frozen=True)
class NetworkOptions:
    """How names become addresses, and which may be contacted, checked. Times in seconds."""

    #: (address, port) of each name server; empty: the system's.
    dns_servers: tuple[tuple[str, int], ...]
    dns_timeout: float
    min_ttl: float
    max_ttl: float
    failure_ttl: float
    #: Names in the cache; 0: none.
    cache_size: int
    #: Servers looked up ahead; 0: none.
    prefetch: int
    allowed_networks: tuple[Network, ...]
    #: Bytes of all bodies under way together above which reading waits.
    max_active_size: int

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> NetworkOptions:
        """Read and check; raises ValueError naming setting and value."""
        reader = _Reader(settings, DEFAULTS)
        reader.ordered("FRONTIER_DNS_MIN_TTL", "FRONTIER_DNS_MAX_TTL")
        cache_size = reader.cache_size()
        return cls(
            dns_servers=tuple(_server(entry) for entry in reader.strings("FRONTIER_DNS_SERVERS")),
            dns_timeout=reader.timeout(),
            min_ttl=reader.number("FRONTIER_DNS_MIN_TTL"),
            max_ttl=reader.number("FRONTIER_DNS_MAX_TTL"),
            failure_ttl=reader.number("FRONTIER_DNS_FAILURE_TTL"),
            cache_size=cache_size,
            prefetch=reader.count("FRONTIER_DNS_PREFETCH", least=0) if cache_size else 0,
            allowed_networks=tuple(_network(entry) for entry in reader.strings("ALLOWED_NETWORKS")),
            max_active_size=reader.count("DOWNLOAD_MAX_ACTIVE_SIZE", least=1),
        )


class _Reader(SettingValues):
    """What besides single values these settings are."""

    def timeout(self) -> float:
        """Ours, else Scrapy's where the project has set it (its own default, 60, is for the system's resolver)."""
        by_project = (self._settings.getpriority("DNS_TIMEOUT") or 0) > 0
        name = "DNS_TIMEOUT" if by_project and self._settings.get("FRONTIER_DNS_TIMEOUT") is None else None
        name = name or "FRONTIER_DNS_TIMEOUT"
        if self.number(name) == 0:
            raise ValueError(f"{name}={self.value(name)!r}: must be above 0")
        return self.number(name)

    def cache_size(self) -> int:
        """Scrapy's ``DNSCACHE_SIZE`` where the project has set it; 0 without ``DNSCACHE_ENABLED``."""
        if not self._settings.getbool("DNSCACHE_ENABLED", True):
            return 0
        by_project = (self._settings.getpriority("DNSCACHE_SIZE") or 0) > 0
        return self.count("DNSCACHE_SIZE", least=0) if by_project else CACHE_SIZE


def _server(entry: str) -> tuple[str, int]:
    """``ADDRESS``, ``ADDRESS:PORT``, ``[ADDRESS]:PORT``."""
    address, port = entry, "53"
    if entry.startswith("["):
        address, _, port = entry[1:].partition("]")
        port = port.removeprefix(":") or "53"
    elif entry.count(":") == 1:
        address, _, port = entry.partition(":")
    try:
        ip_address(address)
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
            raise ValueError(f"{port!r} is no port")
    except ValueError as error:
        message = f"FRONTIER_DNS_SERVERS={entry!r}: must be IP addresses, with :PORT or without ({error})"
        raise ValueError(message) from error
    return address, int(port)


def _network(entry: str) -> Network:
    try:
        return ip_network(entry)
    except ValueError as error:
        message = f"ALLOWED_NETWORKS={entry!r}: must be networks such as 127.0.0.0/8 or addresses ({error})"
        raise ValueError(message) from error
