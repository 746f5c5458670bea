"""Orders of the operator: blocked servers and minimum delays, by server key, host or domain.

Also the protocol of a store that shares the orders among all workers of a crawl.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from crawlproject.urls.server_key import names_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

T = TypeVar("T")

#: Maximum number of names in one table: memory and the file of orders stay small.
MAX_NAMES = 10_000


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
        """Set the value of a ``server_name``. O(1). Raises ValueError beyond ``MAX_NAMES``."""
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
        return next(((name, values[name]) for name in names_of(key) if name in values), None)


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
        apply: Callable[[str, str | None], Awaitable[None]],
    ) -> None:
        """Call ``restore`` with the orders in force, now or when Redis answers; from then on call ``apply`` for each
        order that changes: with its name and its value (None: the order is no longer in force).

        Nothing is fetched before ``restore`` has ended."""

    async def give(self, changes: Mapping[str, str | None]) -> int:
        """Change orders for all workers, this one included; returns the number of the action.

        Raises ConnectionError if Redis does not answer: the orders may have changed or not."""
