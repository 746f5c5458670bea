"""Orders of the operator: blocked servers and minimum delays, by server key, host or domain.

Also the protocol of a store that shares the orders among all workers of a crawl.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from crawlproject.urls.server_key import host_of, server_key

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

T = TypeVar("T")

#: Maximum number of names in one table: memory and the file of orders stay small.
MAX_NAMES = 10_000

#: Maximum length of a name: a host name has at most 253 characters.
MAX_NAME = 300


def canonical_name(text: str) -> str:
    """A server key, or a host or domain as in canonical URLs, from what a person wrote. O(length).

    Raises ValueError for anything else.

    >>> canonical_name("HTTPS://Example.org:443/a"), canonical_name(" *.Example.ORG "), canonical_name("[::1]")
    ('https://example.org', 'example.org', '::1')
    """
    text = text.strip()
    text = text.removeprefix("*." if text.startswith("*.") else ".")  # a domain covers its subdomains
    if not text or len(text) > MAX_NAME or any(char.isspace() for char in text):
        raise ValueError(f"not a server, host or domain: {text[:MAX_NAME]!r}")
    if "://" in text:
        key = server_key(text)
        if not key.startswith(("http://", "https://")):
            raise ValueError(f"not an http(s) server: {text!r}")
        return key
    bracketed = f"[{text}]" if text.count(":") > 1 and not text.startswith("[") else text
    if any(char in bracketed for char in "/?#@\\") or (":" in bracketed and not bracketed.endswith("]")):
        raise ValueError(f"not a server (http://host:port), host or domain: {text!r}")
    try:
        return host_of(server_key(f"http://{bracketed}/"))
    except ValueError:
        raise ValueError(f"not a server, host or domain: {text!r}") from None


class ServerNames(Generic[T]):
    """A value for each of some servers, hosts and domains; a domain covers its subdomains, any port and scheme."""

    def __init__(self) -> None:
        self._values: dict[str, T] = {}

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[tuple[str, T]]:
        """Names and values, in the order of setting."""
        return iter(self._values.items())

    def set(self, name: str, value: T) -> None:
        """Set the value of a ``canonical_name``. O(1). Raises ValueError beyond ``MAX_NAMES``."""
        if name not in self._values and len(self._values) >= MAX_NAMES:
            raise ValueError(f"at most {MAX_NAMES} names")
        self._values[name] = value

    def remove(self, name: str) -> bool:
        """Remove a name; returns whether it was there. O(1)."""
        return self._values.pop(name, None) is not None

    def find(self, key: str) -> tuple[str, T] | None:
        """The name that covers the server ``key`` and its value; the most specific one. O(labels)."""
        values = self._values
        if not values:
            return None
        if key in values:
            return key, values[key]
        host = host_of(key)
        while host:
            if host in values:
                return host, values[host]
            host = host.partition(".")[2]
        return None


def covers(name: str, key: str) -> bool:
    """Whether the canonical ``name`` covers the server ``key``. O(length)."""
    if "://" in name:
        return name == key
    host = host_of(key)
    return host == name or host.endswith(f".{name}")


class FrontierOrders:
    """A frontier's orders: ``blocked`` servers get no request; ``delays``: minimum seconds between two requests."""

    def __init__(self) -> None:
        self.blocked: ServerNames[bool] = ServerNames()
        self.delays: ServerNames[float] = ServerNames()

    def is_blocked(self, key: str) -> bool:
        """Whether the server ``key`` is blocked. O(labels); O(1) if nothing is."""
        return self.blocked.find(key) is not None

    def delay(self, key: str) -> float:
        """The minimum delay of the server ``key``, seconds; 0: none. O(labels); O(1) if there are no delays."""
        found = self.delays.find(key)
        return 0.0 if found is None else found[1]


class SharedOrders(Protocol):
    """The operator's orders, which all workers of a crawl obey (``workers.orders``): a map of texts."""

    async def begin(
        self,
        restore: Callable[[Mapping[str, str]], Awaitable[None]],
        apply: Callable[[str, str | None, str], Awaitable[None]],
    ) -> None:
        """Call ``restore`` with the orders in force, now or when Redis answers; from then on call ``apply`` for each
        new order: with its name, its value (None: the order is no longer in force) and the id of the worker at whose
        console it was given, "" for this worker.

        Nothing is fetched before ``restore`` has ended."""

    async def give(self, changes: Mapping[str, str | None]) -> int:
        """Change orders for all workers, this one included; returns the number of the action.

        Raises ConnectionError if Redis does not answer: the orders may have changed or not."""
