"""The operator's orders for all workers: each worker comes to the same ones, whatever it has missed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from unittest import mock

import pytest
import redis.asyncio
from redis.exceptions import ConnectionError as RedisConnectionError

from crawlproject.workers import orders
from crawlproject.workers.control import Control
from crawlproject.workers.keys import Keys
from crawlproject.workers.orders import Action, SharedOrders
from crawlproject.workers.roster import read_workers
from crawlproject.workers.scripts import JOIN
from testbed.redis_server import RunningRedis
from tests.workers.model.redis_model import RedisModel

KEYS = Keys("web")


class Client:
    """Of the model of Redis; raises ``error`` if there is one."""

    def __init__(self, model: RedisModel) -> None:
        self.model = model
        self.error: Exception | None = None
        self._commands: list[Any] = []

    def pipeline(self, *, transaction: bool) -> Client:
        made = Client(self.model)
        made.error = self.error
        return made

    def execute_command(self, *command: Any) -> None:
        self._commands.append(command)

    async def execute(self, *, raise_on_error: bool) -> list[Any]:
        if self.error is not None:
            raise self.error
        return [self.model.execute(command) for command in self._commands]


class Worker:
    """A worker's copy of the orders, and what it was told to do."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.control = Control(client, KEYS, timeout=60.0)
        self.copy = SharedOrders()
        self.copy.open(self.control, "c1")
        self.restored: Mapping[str, str] | None = None
        self.applied: list[tuple[str, str | None]] = []
        self.by: list[str] = []

    async def begin(self) -> None:
        await self.copy.begin(self._restore, self._apply)

    async def beat(self) -> None:
        """As the worker's beat does; returns when what it told is applied."""
        beat = await self.control.beat(1000.0, {"actions": self.copy.number}, {})
        self.copy.announced(beat.actions)
        if self.copy._task is not None:
            await self.copy._task

    async def _restore(self, found: Mapping[str, str]) -> None:
        self.restored = dict(found)

    async def _apply(self, order: str, value: str | None, by: str) -> None:
        self.applied.append((order, value))
        self.by.append(by)
        if order == "bad":
            raise ValueError(order)

    @property
    def orders(self) -> dict[str, str]:
        """What it obeys."""
        found = dict(self.restored or {})
        for order, value in self.applied:
            found.pop(order, None)
            if value is not None:
                found[order] = value
        return found


@pytest.fixture
def model() -> RedisModel:
    clock = [0.0]
    model = RedisModel(lambda: clock[0])
    model.clock = clock  # type: ignore[attr-defined]
    return model


def run(model: RedisModel, test: Callable[[Callable[[], Awaitable[Worker]]], Awaitable[None]]) -> None:
    """``test`` gets a function that makes workers which have joined."""

    async def join() -> Worker:
        worker = Worker(Client(model))
        await worker.control._scripts([(JOIN, [KEYS.meta], ["crawl", "c1", "state", "running"])])
        await worker.beat()
        await worker.begin()
        return worker

    async def inner() -> None:
        await test(join)

    asyncio.run(inner())


def test_an_order_reaches_all_workers_also_those_that_join(redis_server: RunningRedis) -> None:
    """In the order in which they were given; the giver obeys at once, the others with their next beat."""

    async def test() -> None:
        def client() -> Any:
            return redis.asyncio.Redis.from_url(redis_server.url)

        one, other = Worker(client()), Worker(client())
        await one.control._scripts([(JOIN, [KEYS.meta], ["crawl", "c1", "state", "running"])])
        for worker in (one, other):
            await worker.beat()
            await worker.begin()
        assert one.restored == {}
        assert await one.copy.give({"paused": "1"}) == 1
        assert await one.copy.give({"block a.example": "1"}) == 2
        assert await other.copy.give({"paused": None}) == 3
        assert other.applied == [("paused", "1"), ("block a.example", "1"), ("paused", None)]
        assert other.by == [one.control.id, one.control.id, ""]
        assert one.applied == [("paused", "1"), ("block a.example", "1")]
        for _ in range(2):  # the second tells what was applied after the first
            await other.beat()
            await one.beat()
        assert one.applied == other.applied
        third = Worker(client())
        await third.beat()
        await third.begin()
        assert third.restored == {"block a.example": "1"}
        found = await read_workers(one.control, KEYS)
        assert [(each["number"], each["applied"]) for each in found["actions"]] == [(3, 2), (2, 2), (1, 2)]
        await third.beat()
        assert (await read_workers(one.control, KEYS))["actions"][0]["applied"] == 3
        for worker in (one, other, third):
            await worker.client.aclose()

    asyncio.run(test())


def test_a_worker_that_has_missed_too_many_compares(model: RedisModel) -> None:
    """What was undone meanwhile is undone here."""

    async def test(join: Callable[[], Awaitable[Worker]]) -> None:
        one, other = await join(), await join()
        await one.copy.give({"block a.example": "1"})
        await other.beat()
        await one.copy.give({"block a.example": None})
        for number in range(5):
            await one.copy.give({"sessions": str(number)})
        assert len(model.data[KEYS.actions]) == 3
        await other.beat()
        assert other.orders == one.orders == {"sessions": "4"}
        assert len(other.applied) == 3
        assert other.copy.number == 7

    with mock.patch.object(orders, "KEPT", 3):
        run(model, test)


def test_what_redis_has_lost_is_given_again(model: RedisModel) -> None:
    """By the worker at whose console it was given. What no living worker has given is undone: Redis has the truth."""
    clock = model.clock  # type: ignore[attr-defined]

    async def test(join: Callable[[], Awaitable[Worker]]) -> None:
        one, other, third = await join(), await join(), await join()
        await one.copy.give({"sessions": "8"})
        clock[0] = 10.0
        await one.copy.give({"block a.example": "1"})
        await third.copy.give({"paused": "1"})
        await one.beat()
        await other.beat()
        assert other.orders == {"sessions": "8", "block a.example": "1", "paused": "1"}
        model.restart(lost=1.0)
        for worker in (other, one, other):
            await worker.beat()
        assert one.orders == other.orders == {"sessions": "8", "block a.example": "1"}
        assert (await read_workers(one.control, KEYS))["actions"][0]["changes"] == {"block a.example": "1"}
        await other.copy.give({"paused": "1"})
        model.restart(lost=0.0)
        for worker in (one, other, third):
            await worker.beat()
        assert one.orders == other.orders == third.orders == {"sessions": "8", "block a.example": "1", "paused": "1"}
        assert model.data[KEYS.meta][b"actions"].split()[0] == b"4"  # the third's again, and another one's since then

    run(model, test)


def test_a_lost_order_is_given_again_if_redis_was_away_meanwhile(model: RedisModel) -> None:
    """As often as it takes."""
    clock = model.clock  # type: ignore[attr-defined]

    async def test(join: Callable[[], Awaitable[Worker]]) -> None:
        one, other = await join(), await join()
        clock[0] = 10.0
        await one.copy.give({"block a.example": "1"})
        model.restart(lost=1.0)
        with mock.patch.object(one.control, "order", side_effect=RedisConnectionError):
            await one.beat()
        for worker in (one, other):
            await worker.beat()
        assert one.orders == other.orders == {"block a.example": "1"}
        assert len(one.copy._own) == 1

    run(model, test)


def test_a_lost_order_is_not_given_again_over_a_later_one(model: RedisModel) -> None:
    """Of the same server; whether what was lost came before or after others."""
    clock = model.clock  # type: ignore[attr-defined]

    async def test(join: Callable[[], Awaitable[Worker]]) -> None:
        one, other = await join(), await join()
        await one.copy.give({"block b.example": "1"})
        clock[0] = 10.0
        await one.copy.give({"block a.example": "1"})
        await one.copy.give({"block b.example": None})
        await other.beat()
        model.restart(lost=1.0)
        clock[0] = 11.0
        await other.copy.give({"block a.example": None})
        for worker in (one, other):
            await worker.beat()
        assert one.orders == other.orders == {}
        assert model.data.get(KEYS.orders, {}) == {}

    run(model, test)


@pytest.mark.parametrize("has_new_order", [False, True])
def test_an_order_given_again_hides_no_other_loss(redis_server: RunningRedis, has_new_order: bool) -> None:
    """A worker that has applied it sees it again, and that what came before it is missing; whatever its number is."""

    async def test() -> None:
        crew = [Worker(redis.asyncio.Redis.from_url(redis_server.url)) for _ in range(3)]
        one, other, _ = crew
        await one.control._scripts([(JOIN, [KEYS.meta], ["crawl", "c1", "state", "running"])])
        for worker in crew:
            await worker.beat()
            await worker.begin()
        redis_server.client().save()
        await one.copy.give({"block a.example": "1"})
        await other.copy.give({"paused": "1"})
        for worker in crew:
            await worker.beat()
            await worker.client.connection_pool.disconnect()
        redis_server.kill()
        redis_server.start()  # with the file of before
        expected = {"block a.example": "1", "paused": "1"}
        if has_new_order:  # takes the place of the first one
            fourth = Worker(redis.asyncio.Redis.from_url(redis_server.url))
            crew.append(fourth)
            await fourth.beat()
            await fourth.begin()
            await fourth.copy.give({"sessions": "3"})
            expected["sessions"] = "3"
        for worker in (other, *crew, *crew):
            await worker.beat()
        assert [worker.orders for worker in crew] == [expected] * len(crew)
        assert (await one.control.orders())[1] == expected
        for worker in crew:
            await worker.client.aclose()

    asyncio.run(test())


@pytest.mark.parametrize("first", [0, 1])
def test_of_two_lost_orders_the_later_one_holds(model: RedisModel, first: int) -> None:
    """Whichever worker notices the loss first; a crawl that was resumed last does not stay paused."""
    clock = model.clock  # type: ignore[attr-defined]

    async def test(join: Callable[[], Awaitable[Worker]]) -> None:
        crew = [await join(), await join()]
        clock[0] = 10.0
        await crew[0].copy.give({"paused": "1"})
        clock[0] = 11.0
        await crew[1].copy.give({"paused": None})
        for again in (12.0, 13.0):  # also if what was given again is lost
            model.restart(lost=3.0)
            clock[0] = again
            for number in (first, 1 - first, first):
                await crew[number].beat()
            assert [worker.orders for worker in crew] == [{}, {}]
            assert model.data.get(KEYS.orders, {}) == {}

    run(model, test)


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ([], {"paused": "1"}),
        ([{"sessions": "3"}], {"paused": "1", "sessions": "3"}),
        ([{"paused": "1"}, {"paused": None}], {}),
    ],
)
def test_an_order_lost_before_its_worker_has_read_it_is_given_again(
    model: RedisModel, later: list[dict[str, str | None]], expected: dict[str, str]
) -> None:
    """Redis ended right after it was given; its number has been used again, or not."""
    clock = model.clock  # type: ignore[attr-defined]

    async def test(join: Callable[[], Awaitable[Worker]]) -> None:
        one, other = await join(), await join()
        clock[0] = 10.0
        with mock.patch.object(one.control, "actions", side_effect=RedisConnectionError):
            await one.copy.give({"paused": "1"})
        model.restart(lost=1.0)
        clock[0] = 11.0
        for changes in later:
            await other.copy.give(changes)
        for worker in (one, other):
            await worker.beat()
        assert one.orders == other.orders == expected

    run(model, test)


def test_a_damaged_mark_is_no_action(model: RedisModel) -> None:
    """However long it is."""

    async def test(join: Callable[[], Awaitable[Worker]]) -> None:
        one = await join()
        one.copy.announced("9" * 10_000)
        assert one.copy._task is None

    run(model, test)


def test_without_redis_an_order_is_refused_and_a_start_waits(model: RedisModel) -> None:
    """In one line; nothing may be fetched before the orders are known."""

    async def test(join: Callable[[], Awaitable[Worker]]) -> None:
        one = await join()
        await one.copy.give({"paused": "1"})
        late = Worker(Client(model))
        late.client.error = RedisConnectionError("Connection\nrefused")
        await late.begin()
        assert late.copy.is_waited_for
        with pytest.raises(ConnectionError, match=r"^cannot be reached: Connection refused$"):
            await late.copy.give({"sessions": "1"})
        assert late.restored is None
        late.client.error = None
        await late.beat()
        assert not late.copy.is_waited_for
        assert late.restored == {"paused": "1"}
        new = SharedOrders()
        assert not new.is_waited_for  # nobody applies them
        with pytest.raises(ConnectionError, match="not joined"):
            await new.give({"paused": "1"})

    run(model, test)


def test_an_order_that_cannot_be_applied_stops_no_other(model: RedisModel, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged once."""

    async def test(join: Callable[[], Awaitable[Worker]]) -> None:
        one, other = await join(), await join()
        await one.copy.give({"bad": "1"})
        await one.copy.give({"paused": "1"})
        await other.beat()
        assert other.orders["paused"] == "1"
        await other.beat()

    run(model, test)
    assert caplog.text.count("cannot be applied: 'bad': bad\n") == 2  # by each worker, in one line
    assert "Traceback" not in caplog.text


def test_nothing_starts_between_the_beat_that_tells_of_an_order_and_its_application(model: RedisModel) -> None:
    """Also if Redis does not answer meanwhile; then the worker is woken."""

    async def test(join: Callable[[], Awaitable[Worker]]) -> None:
        one, other = await join(), await join()
        woken: list[bool] = []
        other.copy.open(other.control, "c1", lambda: woken.append(other.copy.is_waited_for))
        await one.copy.give({"block example.org": "1"})
        mark = (await other.control.beat(1000.0, {}, {})).actions
        other.client.error = RedisConnectionError("Connection refused")
        other.copy.announced(mark)
        assert other.copy._task is not None
        await other.copy._task
        assert other.copy.is_waited_for
        assert not woken
        other.client.error = None
        await other.beat()
        assert woken == [False]
        assert other.orders == {"block example.org": "1"}

    run(model, test)


def test_orders_are_read_as_they_were_at_one_moment(model: RedisModel) -> None:
    """Else an order that was undone later would be in force for a moment."""

    async def test(join: Callable[[], Awaitable[Worker]]) -> None:
        one = await join()
        await one.copy.give({"paused": "1"})
        read, marks = model.do_hgetall, []

        def slow(key: str) -> dict[bytes, bytes]:
            if key == KEYS.orders and not marks:  # another worker's order arrives between two commands
                marks.append(model.hash_of(KEYS.meta)[b"actions"])
                model.hset_one(KEYS.orders, b"sessions", b"3")
                model.hset(KEYS.meta, actions=b"2 another")
            return read(key)

        with mock.patch.object(model, "do_hgetall", slow):
            assert await one.control.orders() == ("2 another", {"paused": "1", "sessions": "3"})

    run(model, test)


def test_a_worker_whose_restore_fails_applies_each_order(model: RedisModel, caplog: pytest.LogCaptureFixture) -> None:
    """It did not start anything, for ever, and nothing said why."""

    async def test(join: Callable[[], Awaitable[Worker]]) -> None:
        one = await join()
        await one.copy.give({"bad": "1"})
        await one.copy.give({"paused": "1"})
        late = Worker(Client(model))

        async def restore(_: Mapping[str, str]) -> None:
            raise RuntimeError("unforeseen")

        await late.copy.begin(restore, late._apply)
        assert not late.copy.is_waited_for
        assert late.orders["paused"] == "1"
        assert late.copy.bad == 2

    run(model, test)
    assert "cannot be restored together" in caplog.text


@pytest.mark.usefixtures("no_collection")
def test_damaged_rows(model: RedisModel, caplog: pytest.LogCaptureFixture) -> None:
    """The orders themselves count; the table of the last actions leaves them out. Each costs one line and one stat."""

    async def test(join: Callable[[], Awaitable[Worker]]) -> None:
        one, other = await join(), await join()
        await one.copy.give({"paused": "1"})
        await other.beat()
        for number, row in enumerate(BAD, 2):
            await one.copy.give({"sessions": str(number)})
            model.data[KEYS.actions][-1] = row
            await other.beat()
            assert other.orders == {"paused": "1", "sessions": str(number)}
            assert other.copy.bad == number - 1
        assert [each["number"] for each in (await read_workers(one.control, KEYS))["actions"]] == [1]

    run(model, test)
    assert caplog.text.count("Actions of the console that cannot be read: 1;") == len(BAD)


BAD = [
    b"",
    b"2",
    b"2 id 5",
    b"x id 5 {}",
    b"2 id 5 " + b"[" * 9_000,
    b"2 id 5 []",
    b'2 id 5 {"by":1,"changes":{}}',
    b'2 id 5 {"by":"w","changes":[]}',
    b'2 id 5 {"by":"w\\nERROR","changes":{}}',
    b'2 id 5 {"by":"w","changes":{"paused":1}}',
    b'2 id 5 {"by":"w","changes":{"paused":"' + b"1" * 20_000 + b'"}}',
    b"2 \xff 5 {}",
]


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("row", BAD)
def test_rows_that_cannot_be_read(row: bytes) -> None:
    assert Action.read(row) is None


def test_a_row() -> None:
    text = json.dumps({"by": "w", "changes": {"paused": None, "sessions": "5"}})
    row = f"7 id 1500 {text}".encode()
    assert Action.read(row) == Action(7, "id", 1.5, "w", {"paused": None, "sessions": "5"})


def test_orders_of_an_earlier_crawl_of_the_same_name_do_not_count(model: RedisModel) -> None:
    """Of which somebody has deleted the rest."""

    async def test(join: Callable[[], Awaitable[Worker]]) -> None:
        one = await join()
        await one.copy.give({"paused": "1"})
        model.do_del(KEYS.meta)
        again, third = await join(), await join()
        assert again.restored == {}
        await again.copy.give({"sessions": "3"})
        await third.beat()
        assert third.orders == again.orders == {"sessions": "3"}
        assert model.data[KEYS.orders] == {b"sessions": b"3"}

    run(model, test)
