"""The operator's orders for all workers: each worker comes to the same ones, whatever it has missed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any
from unittest import mock

import pytest
import redis.asyncio
from redis.exceptions import ConnectionError as RedisConnectionError

from crawlproject.workers.control import Control, call
from crawlproject.workers.keys import Keys
from crawlproject.workers.orders import Action, SharedOrders
from crawlproject.workers.scripts import JOIN
from crawlproject.workers.stored_crawl import read_workers
from testbed.redis_server import RunningRedis
from tests.workers.model.redis_model import Direct, RedisModel

KEYS = Keys("web")


class Worker:
    """A worker's copy of the orders, and what it was told to do."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.control = Control(client, KEYS, timeout=60.0)
        self.copy = SharedOrders()
        self.copy.open(self.control, "c1")
        self.restored: Mapping[str, str] | None = None
        self.applied: list[tuple[str, str | None]] = []

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

    async def _apply(self, order: str, value: str | None) -> None:
        self.applied.append((order, value))
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


Join = Callable[[], Awaitable[Worker]]


def of_workers(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that gets the model of Redis, and a function that makes workers which have joined."""

    def made(model: RedisModel, caplog: pytest.LogCaptureFixture) -> None:
        async def join() -> Worker:
            worker = Worker(Direct(model))
            await worker.control.commands([call(JOIN, [KEYS.meta], "crawl", "c1", "state", "running")])
            await worker.beat()
            await worker.begin()
            return worker

        asyncio.run(test(model, join, caplog))

    return made


def test_an_order_reaches_all_workers_also_those_that_join(redis_server: RunningRedis) -> None:
    """The giver obeys at once, the others with their next beat."""

    async def test() -> None:
        def client() -> Any:
            return redis.asyncio.Redis.from_url(redis_server.url)

        one, other = Worker(client()), Worker(client())
        await one.control.commands([call(JOIN, [KEYS.meta], "crawl", "c1", "state", "running")])
        for worker in (one, other):
            await worker.beat()
            await worker.begin()
        assert one.restored == {}
        assert await one.copy.give({"paused": "1"}) == 1
        assert await one.copy.give({"block a.example": "1"}) == 2
        assert await other.copy.give({"paused": None}) == 3
        assert other.applied == [("block a.example", "1")]
        assert one.applied == [("paused", "1"), ("block a.example", "1")]
        for _ in range(2):  # the second tells what was applied after the first
            await other.beat()
            await one.beat()
        assert one.orders == other.orders == {"block a.example": "1"}
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


@of_workers
async def test_a_worker_that_has_missed_some_obeys_those_in_force(
    model: RedisModel, join: Join, caplog: pytest.LogCaptureFixture
) -> None:
    """What was ordered and undone meanwhile it never applies."""
    one, other = await join(), await join()
    await one.copy.give({"block a.example": "1"})
    await other.beat()
    await one.copy.give({"block a.example": None, "block b.example": "1"})
    await one.copy.give({"block b.example": None})
    await one.copy.give({"sessions": "4"})
    await other.beat()
    assert other.orders == one.orders == {"sessions": "4"}
    assert other.applied == [("block a.example", "1"), ("block a.example", None), ("sessions", "4")]
    assert other.copy.number == 4


@of_workers
async def test_all_obey_what_redis_has_after_it_has_lost_writes(
    model: RedisModel, join: Join, caplog: pytest.LogCaptureFixture
) -> None:
    """Also if the numbers of what was lost are used again, and by the worker at whose console it was given."""
    crew = [await join() for _ in range(3)]
    await crew[0].copy.give({"sessions": "8"})
    model.clock[0] = 10.0  # type: ignore[attr-defined]
    await crew[0].copy.give({"block a.example": "1"})
    for worker in crew:
        await worker.beat()
        assert worker.orders == {"sessions": "8", "block a.example": "1"}
    model.restart(lost=1.0)
    await crew[1].copy.give({"paused": "1"})
    for worker in crew:
        await worker.beat()
        assert worker.orders == {"sessions": "8", "paused": "1"}
        assert worker.copy.number == 2


@of_workers
async def test_without_redis_an_order_is_refused_and_a_start_waits(
    model: RedisModel, join: Join, caplog: pytest.LogCaptureFixture
) -> None:
    """In one line; nothing may be fetched before the orders are known."""
    one = await join()
    await one.copy.give({"paused": "1"})
    late = Worker(Direct(model))
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


@of_workers
async def test_an_order_that_cannot_be_applied_stops_no_other(
    model: RedisModel, join: Join, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged once."""
    one, other = await join(), await join()
    await one.copy.give({"bad": "1"})
    await one.copy.give({"paused": "1"})
    await other.beat()
    assert other.orders["paused"] == "1"
    await other.beat()
    assert caplog.text.count("cannot be applied: 'bad': bad\n") == 2  # by each worker, in one line
    assert "Traceback" not in caplog.text


@of_workers
async def test_nothing_starts_between_the_beat_that_tells_of_an_order_and_its_application(
    model: RedisModel, join: Join, caplog: pytest.LogCaptureFixture
) -> None:
    """Also if Redis does not answer meanwhile; then the worker is woken."""
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


@of_workers
async def test_orders_are_read_as_they_were_at_one_moment(
    model: RedisModel, join: Join, caplog: pytest.LogCaptureFixture
) -> None:
    """Else an order that was undone later would be in force for a moment."""
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


@of_workers
async def test_a_worker_whose_restore_fails_applies_each_order(
    model: RedisModel, join: Join, caplog: pytest.LogCaptureFixture
) -> None:
    """It did not start anything, for ever, and nothing said why."""
    one = await join()
    await one.copy.give({"bad": "1"})
    await one.copy.give({"paused": "1"})
    late = Worker(Direct(model))

    async def restore(_: Mapping[str, str]) -> None:
        raise RuntimeError("unforeseen")

    await late.copy.begin(restore, late._apply)
    assert not late.copy.is_waited_for
    assert late.orders["paused"] == "1"
    assert late.copy.bad == 2
    assert "cannot be restored together" in caplog.text


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
def test_rows_of_actions() -> None:
    """Those that cannot be read are not shown: the orders themselves count."""
    assert [Action.read(row) for row in BAD] == [None] * len(BAD)
    text = json.dumps({"by": "w", "changes": {"paused": None, "sessions": "5"}})
    assert Action.read(f"7 id 1500 {text}".encode()) == Action(7, "id", 1.5, "w", {"paused": None, "sessions": "5"})


@of_workers
async def test_orders_of_an_earlier_crawl_of_the_same_name_do_not_count(
    model: RedisModel, join: Join, caplog: pytest.LogCaptureFixture
) -> None:
    """Of which somebody has deleted the rest."""
    one = await join()
    await one.copy.give({"paused": "1"})
    model.do_del(KEYS.meta)
    again, third = await join(), await join()
    assert again.restored == {}
    await again.copy.give({"sessions": "3"})
    await third.beat()
    assert third.orders == again.orders == {"sessions": "3"}
    assert model.data[KEYS.orders] == {b"sessions": b"3"}
