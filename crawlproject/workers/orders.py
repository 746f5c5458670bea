"""This worker's copy of the operator's orders, which Redis holds for all workers of the crawl.

Orders are a small map of texts, such as ``"delay example.org": "30.0"``.  An action changes it in one step; its number
and id are the mark of the last one.  A worker that sees another mark reads the map, and applies what differs from its
copy.  So all obey what Redis has, also if it has lost its last second.  The last ``KEPT`` actions are shown to people.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING, NamedTuple

from crawlproject.workers.connection import reason_of
from crawlproject.workers.control import AWAY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from crawlproject.workers.control import Control

logger = logging.getLogger(__name__)

#: Actions in the list, and bytes of one.
KEPT, MAX_ROW = 1000, 10_000
#: Digits of an action's number.
MAX_DIGITS = 18

#: Applies all orders that are in force when the worker joins.
Restore = Callable[[Mapping[str, str]], Awaitable[None]]
#: Applies one order: its name, its value (None: it is no longer in force).
Apply = Callable[[str, str | None], Awaitable[None]]


class Action(NamedTuple):
    """One row."""

    number: int
    #: Nobody had it before.
    id: str
    #: When it was given: Redis's clock, seconds.
    at: float
    #: Id of the worker at whose console it was given.
    by: str
    #: Order -> its value; None: it is no longer in force.
    changes: Mapping[str, str | None]

    @classmethod
    def read(cls, row: bytes) -> Self | None:
        """From a row of the list; None if it cannot be read."""
        try:
            number, name, at, text = row[:MAX_ROW].decode().split(" ", 3)
            given = json.loads(text)
            by, changes = given["by"], given["changes"]
            texts = [by, *changes, *(value for value in changes.values() if value is not None)]
            is_sound = _are_texts(texts) and by.isprintable()
            return cls(int(number), name, int(at) / 1000, by, changes) if is_sound else None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None


def _are_texts(values: Sequence[object]) -> bool:
    return all(isinstance(value, str) for value in values)


class SharedOrders:
    """See the module. Nothing is applied before ``begin``."""

    def __init__(self) -> None:
        #: Number of the last action that was applied here.
        self.number = 0
        #: Orders that could not be applied.
        self.bad = 0
        self._id = ""  # of that action
        self._orders: dict[str, str] = {}
        self._control: Control | None = None
        self._crawl = ""
        self._announced: str | None = None  # by the last beat
        self._restore: Restore | None = None
        self._apply: Apply | None = None
        self._is_known = False
        self._is_behind = False  # there are orders that are not applied yet
        self._wake: Callable[[], None] = _nothing
        self._applying = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def open(self, control: Control, crawl: str, wake: Callable[[], None] | None = None) -> None:
        """The worker has joined ``crawl``; ``wake`` is called when it may continue."""
        self._control, self._crawl, self._wake = control, crawl, wake or _nothing

    async def close(self) -> None:
        """Apply nothing more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._apply = None

    @property
    def applied(self) -> int | None:
        """Number of the last action that was applied here; None if nothing here applies any. O(1)."""
        return None if self._restore is None else self.number

    @property
    def is_waited_for(self) -> bool:
        """Whether orders are in force that are not obeyed yet: nothing may be fetched. O(1).

        So an order holds everywhere when the leases are over that began before it was given.
        """
        return self._apply is not None and (self._is_behind or not self._is_known)

    async def begin(self, restore: Restore, apply: Apply) -> None:
        """Apply the orders in force, now or when Redis answers; from then on each one that is given."""
        self._restore, self._apply = restore, apply
        await self._follow()

    async def give(self, changes: Mapping[str, str | None]) -> int:
        """Change the orders of all workers; returns the number of this action.

        Raises ConnectionError, in one line, if Redis does not answer: it may have changed them or not.
        """
        control = self._control
        if control is None:
            raise ConnectionError("this worker has not joined the crawl yet")
        text = json.dumps({"by": control.id, "changes": changes}, separators=(",", ":"))
        try:
            number = await control.order(self._crawl, (token_hex(6), text, KEPT), changes)
        except AWAY as error:
            raise ConnectionError(reason_of(error)) from error
        if not number:
            raise ConnectionError("Redis has lost this crawl")
        await self._follow()
        return number

    def announced(self, mark: str) -> None:
        """A beat has reported the mark of the last action in Redis. O(1)."""
        self._announced = mark
        if self._apply is None or (self._is_known and _parsed(mark) == (self.number, self._id)):
            return
        self._is_behind = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._follow())

    async def _follow(self) -> None:
        """Obey the orders in Redis; if it does not answer, the next beat tries again."""
        with suppress(*AWAY):
            async with self._applying:
                if self._apply is None or self._control is None:  # not begun, or closed; not joined
                    return
                is_first = not self._is_known and self._announced == ""
                mark, orders = ("", {}) if is_first else await self._control.orders()
                self._is_behind = True
                if not self._is_known:
                    await self._begin(orders)
                for order in {**self._orders, **orders}:
                    if self._orders.get(order) != orders.get(order):
                        await self._change(order, orders.get(order))
                self.number, self._id = _parsed(mark)
                self._is_known, self._is_behind = True, False
                self._wake()

    async def _begin(self, orders: dict[str, str]) -> None:
        assert self._restore is not None
        try:
            await self._restore(orders)
            self._orders = orders
        except Exception:
            self.bad += 1
            logger.exception("The orders of the console cannot be restored together: each is applied separately")

    async def _change(self, order: str, value: str | None) -> None:
        if self._apply is None:  # closed meanwhile
            return
        if value is None:
            self._orders.pop(order, None)
        else:
            self._orders[order] = value
        try:
            await self._apply(order, value)
        except ValueError as error:  # another one may be of use
            self.bad += 1
            logger.error("An order of the console cannot be applied: %.200r: %.200s", order, error)
        except Exception:
            self.bad += 1
            logger.exception("An order of the console cannot be applied: %.200r", order)


def _nothing() -> None:
    pass


def number_of(mark: str) -> int:
    """The number of the action with this mark; 0 if there is none."""
    return _parsed(mark)[0]


def _parsed(mark: str) -> tuple[int, str]:
    number, _, name = mark.partition(" ")
    return (int(number), name) if number.isdecimal() and len(number) <= MAX_DIGITS else (0, "")
