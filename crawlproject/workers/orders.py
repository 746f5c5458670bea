"""This worker's copy of the operator's orders, which Redis holds for all workers of the crawl.

Orders are a small map of texts, such as ``"delay example.org": "30.0"``.  An action changes it in one step, and is a
numbered row in a list of the last ``KEPT`` ones.  A worker applies the rows that it has not applied yet; one that has
missed rows, or joins, compares its copy with the map.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
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
#: Rows read in addition to those that the last beat announced.
SLACK = 16
#: Actions of this worker that it sends again if Redis loses them.
MAX_OWN = 100

#: Applies all orders that are in force when the worker joins.
Restore = Callable[[Mapping[str, str]], Awaitable[None]]
#: Applies one order: its name, its value (None: it is no longer in force), the worker at whose console it was given;
#: "" if it was this one, or is not known.
Apply = Callable[[str, str | None, str], Awaitable[None]]


class Action(NamedTuple):
    """One row."""

    number: int
    #: Nobody had it before.
    id: str
    #: When it was given, also if Redis has lost it since: Redis's clock, seconds.
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
        #: Actions that could not be read, and orders that could not be applied.
        self.bad = 0
        self._id = ""  # of that action
        self._orders: dict[str, str] = {}
        self._own: deque[Action] = deque(maxlen=MAX_OWN)
        self._control: Control | None = None
        self._crawl = ""
        self._announced: str | None = None  # by the last beat
        self._restore: Restore | None = None
        self._apply: Apply | None = None
        self._is_known = False
        self._is_behind = False  # the last beat announced an action that is not applied yet
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
        if self._control is None:
            raise ConnectionError("this worker has not joined the crawl yet")
        try:
            action = await self._send(Action(0, token_hex(6), 0.0, self._control.id, changes))
        except AWAY as error:
            raise ConnectionError(reason_of(error)) from error
        await self._follow()
        return action.number

    def announced(self, mark: str) -> None:
        """A beat has reported the mark of the last action in Redis. O(1)."""
        self._announced = mark
        if self._apply is None or (self._is_known and self._is_applied(mark)):
            return
        self._is_behind = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._follow())

    def _is_applied(self, mark: str) -> bool:
        """Whether nothing is to be applied if ``mark`` is that of the last action in Redis. O(own actions)."""
        return _parsed(mark) == (self.number, self._id) and not any(self._unseen())

    def _unseen(self) -> Iterator[Action]:
        return (action for action in self._own if action.number > self.number)

    async def _follow(self) -> None:
        """Apply what is new; if Redis does not answer, the next beat tries again."""
        with suppress(*AWAY):
            async with self._applying:
                if self._apply is None:  # not begun, or closed
                    return
                if self._is_known:
                    await self._catch_up()
                else:
                    await self._begin()
                if self._is_behind and self._is_known:
                    self._is_behind = False
                    self._wake()

    async def _begin(self) -> None:
        control, restore = self._control, self._restore
        if control is None or restore is None:
            return
        mark, orders = ("", {}) if self._announced == "" else await control.orders()
        try:
            await restore(orders)
            self._orders = orders
        except Exception:
            self.bad += 1
            logger.exception("The orders of the console cannot be restored together: each is applied separately")
            for order, value in orders.items():
                await self._change(order, value, "")
        self.number, self._id = _parsed(mark)
        self._is_known = True

    async def _catch_up(self) -> None:
        assert self._control is not None
        missed = _parsed(self._announced or "")[0] - self.number
        mark, rows = await self._control.actions(min(KEPT, max(missed, 0) + SLACK))
        if self._is_applied(mark):
            return
        actions = [Action.read(row) for row in rows]
        missed = max(0, _parsed(mark)[0] - self.number)
        if bad := actions[max(0, len(actions) - missed) :].count(None):
            self.bad += bad
            logger.error("Actions of the console that cannot be read: %d; the orders in force are obeyed", bad)
        news = self._after_own(actions)
        if news is None:
            await self._compare()
        for action in news or ():
            for order, value in action.changes.items():
                await self._change(order, value, "" if action.by == self._control.id else action.by)
            self.number, self._id = action.number, action.id

    def _after_own(self, actions: Sequence[Action | None]) -> list[Action] | None:
        """Those after the last one that was applied; None if that is not known, or an own one is missing."""
        ids = ["" if action is None else action.id for action in actions]
        if any(action.id not in ids for action in self._unseen()):
            return None
        if self._id in ids:
            start = ids.index(self._id) + 1
        elif not self.number and actions and actions[0] is not None and actions[0].number == 1:
            start = 0
        else:
            return None
        found = [action for action in actions[start:] if action is not None]
        return found if len(found) == len(actions) - start else None

    async def _compare(self) -> None:
        """Rows are missing, because Redis has lost writes or there were too many: go by the orders themselves."""
        assert self._control is not None
        await self._give_lost()
        mark, orders = await self._control.orders()
        for order in {**self._orders, **orders}:
            if self._orders.get(order) != orders.get(order):
                await self._change(order, orders.get(order), "")
        self.number, self._id = _parsed(mark)

    async def _give_lost(self) -> None:
        """Give those actions again that this worker has given and Redis has lost, except what was ordered later."""
        assert self._control is not None
        mark, rows = await self._control.actions(KEPT)
        found = [action for action in map(Action.read, rows) if action is not None]
        kept = {action.id for action in found}
        oldest = _parsed(mark)[0] - KEPT
        if len(found) < len(rows):  # damaged, not lost
            return
        for action in sorted(self._own, key=lambda action: action.at):
            if action.id not in kept and action.number > oldest:
                later = {order for other in found if other.at > action.at for order in other.changes}
                changes = {order: value for order, value in action.changes.items() if order not in later}
                if changes:
                    logger.warning("Redis has lost an order of the console: it is sent again")
                    await self._send(action._replace(id=token_hex(6), changes=changes))
                with suppress(ValueError):  # there were ``MAX_OWN``
                    self._own.remove(action)

    async def _send(self, action: Action) -> Action:
        """Returns it with its number. Raises what a call to Redis raises, or ConnectionError."""
        assert self._control is not None
        text = json.dumps({"by": action.by, "changes": action.changes}, separators=(",", ":"))
        number, at = await self._control.order(self._crawl, (action.id, text, KEPT), action.changes, action.at)
        if not number:
            raise ConnectionError("Redis has lost this crawl")
        self._own.append(sent := action._replace(number=number, at=at))
        return sent

    async def _change(self, order: str, value: str | None, by: str) -> None:
        if self._apply is None:  # closed meanwhile
            return
        if value is None:
            self._orders.pop(order, None)
        else:
            self._orders[order] = value
        try:
            await self._apply(order, value, by)
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
