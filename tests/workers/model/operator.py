"""The operator: gives orders at the consoles of workers, and sees whether all workers obey them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from itertools import count

from crawlproject.workers.lease import MAX_LAG
from crawlproject.workers.orders import SharedOrders
from tests.workers.model.redis_model import RedisModel
from tests.workers.model.simulation import Simulation
from tests.workers.model.web import Observer, Page

PAUSED, STOPPED = "paused", "stopped"


class Operator:
    """``lease``: seconds, of all workers."""

    def __init__(self, simulation: Simulation, redis: RedisModel, key: str, lease: float, observer: Observer) -> None:
        self._simulation = simulation
        self._redis = redis
        self._key = key
        self._late = MAX_LAG * lease
        self._observer = observer
        #: What was in force in Redis, and since when.
        self._states: list[tuple[float, dict[str, str]]] = [(0.0, {})]
        self._values = count(1)

    def in_force(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self._redis.hash_of(self._key).items()}

    def blocked(self) -> frozenset[str]:
        return frozenset(name.partition(" ")[2] for name in self.in_force() if name.startswith("block "))

    def changed(self) -> None:
        """The orders in Redis are others: one was given, or some were lost."""
        self._states.append((self._simulation.now, self.in_force()))

    def next_order(self) -> dict[str, str | None]:
        """Some order; two have never the same value."""
        random, value = self._simulation.random, str(next(self._values))
        orders = self.in_force()
        server = f"http://www.d{random.randrange(20)}.com"
        choice = random.random()
        if choice < 0.25:
            return {PAUSED: None if PAUSED in orders else value}
        if choice < 0.6:
            blocked = [name for name in orders if name.startswith("block ")]
            return {random.choice(blocked): None} if len(blocked) > 2 else {f"block {server}": value}
        if choice < 0.63:
            return {STOPPED: value, PAUSED: None}
        return {f"delay {server}": random.choice([value, value, None])}

    def undo(self) -> dict[str, str | None]:
        """What is left to be undone; {} at the end."""
        name = next((name for name in self.in_force() if name == PAUSED or name.startswith("block ")), None)
        return {} if name is None else {name: None}

    def check(self, worker: str, page: Page, obeyed: Mapping[str, str]) -> None:
        """A worker begins a request, by the orders ``obeyed``.

        It may not know yet what it can only have learned by a beat after which its lease would not have lasted so long.
        """
        since, found = self._simulation.now - self._late, list[Mapping[str, str]]()
        for time, orders in reversed(self._states):
            found.append(orders)
            if time <= since:
                break
        if obeyed not in found:
            self._observer.error(f"{worker} fetches {page.url} and obeys {obeyed}, not {found[-1]} or later ones")


class Obeyed:
    """What one worker obeys. ``stop``: ends the worker."""

    def __init__(self, simulation: Simulation, stop: Callable[[], None], wake: Callable[[], None]) -> None:
        self.shared = SharedOrders()
        self.orders: dict[str, str] = {}
        self._simulation = simulation
        self._stop = stop
        self._wake = wake

    async def restore(self, orders: Mapping[str, str]) -> None:
        await self._take_time()
        self.orders = dict(orders)
        self._wake()

    async def apply(self, order: str, value: str | None) -> None:
        await self._take_time()
        self._simulation.note(f"obeys {order}: {value}")
        if value is None:
            self.orders.pop(order, None)
        else:
            self.orders[order] = value
        if order == STOPPED and value is not None:
            self._stop()
        self._wake()

    async def _take_time(self) -> None:
        await asyncio.sleep(self._simulation.random.choice([0.0, 0.0, 0.3]))

    def may_start(self) -> bool:
        return not self.shared.is_waited_for and PAUSED not in self.orders

    def blocks(self, server: str) -> bool:
        return f"block {server}" in self.orders

    def blocks_any(self) -> bool:
        return any(order.startswith("block ") for order in self.orders)
