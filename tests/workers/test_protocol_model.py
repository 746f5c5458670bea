"""The protocol of workers under faults: whole crawls in virtual time, see ``model``.

``WORKERS_MODEL_SEEDS=1000:1040`` tries other seeds, 0.5 s for each kind of faults; a failure shows the trace.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import pytest
import redis.asyncio

from crawlproject.workers.control import Commit, Control, Spent, call
from crawlproject.workers.keys import Keys
from crawlproject.workers.loading import read_partition
from crawlproject.workers.part import Part
from crawlproject.workers.scripts import JOIN, MAX_FORMERS
from testbed.redis_server import RunningRedis
from tests.workers.model.crawl import ModelCopy
from tests.workers.model.redis_model import Direct, RedisModel
from tests.workers.model.runs import FAULTS, OF, PARTITIONS, Run

KEYS = Keys("web")

#: Kind of faults, seed: what found bugs, one run of most kinds.
RUNS = [
    ("none", 1),
    ("cuts", 28),
    ("restarts", 2),
    ("losses and kills", 11),
    ("all", 16),
    ("losses and churn", 3),
    ("fail-over", 0),
    ("fail-overs in a row", 1),
    ("heirs", 3),
    ("orders and losses", 1),
    ("clocks", 30),
    ("deaf", 1),
    ("deaf", 2),
]
#: What found bugs of kinds that are above, and each kind once more: most of these faults, one at a time, are there.
MORE_RUNS = [
    ("losses", 11),
    ("all but losses", 1),
    ("all", 59),
    ("losses and churn", 21),
    ("losses and churn", 3080),
    ("losses in a row", 1),
    ("fail-over", 3094),
    ("orders", 0),
    *((kind, 1) for kind in FAULTS if kind not in ("none", "all but losses", "losses in a row", "orders and losses")),
]
LONG = [pytest.param(*run, marks=pytest.mark.long) for run in MORE_RUNS if run not in RUNS]


def _fresh() -> list[tuple[str, int]]:
    first, _, end = os.environ.get("WORKERS_MODEL_SEEDS", "0:0").partition(":")
    return [(kind, seed) for kind in FAULTS for seed in range(int(first), int(end))]


@cache
def finished(kind: str, seed: int) -> Run:
    """A run that several tests look at."""
    return Run(kind, seed).run()


@pytest.mark.parametrize(("kind", "seed"), [*RUNS, *LONG, *_fresh()])
def test_every_page_is_fetched_by_one_worker_at_a_time_and_all_workers_end(kind: str, seed: int) -> None:
    run = finished(kind, seed)
    assert run.errors == [], "\n".join(run.simulation.trace[-60:])


@pytest.mark.parametrize(("kind", "seed", "rate"), [("none", 1, 500), ("kills", 2, 500)])
def test_a_slow_line_delays_the_crawl_and_does_not_stop_it(kind: str, seed: int, rate: int) -> None:
    """What workers have to send, or to read, takes longer than the timeout of a call."""
    run = Run(kind, seed)
    run.server.rate = rate
    run.run()
    assert run.errors == [], "\n".join(run.simulation.trace[-60:])


@pytest.mark.parametrize(
    ("kind", "seed"),
    # seeds of "none": changes that are too many, too large, neither; those of "stops" found a bug
    [
        *(("none", 0), ("none", 1), ("churn", 0), ("stops", 35)),
        *(pytest.param(*run, marks=pytest.mark.long) for run in (("none", 2), ("churn", 1), ("stops", 0))),
    ],
)
def test_without_crashes_each_page_is_fetched_once(kind: str, seed: int) -> None:
    """Also if workers come and go; if all of them are stopped at once; if changes are too many for one commit."""
    run = finished(kind, seed)
    assert run.errors == []
    assert set(run.observer.fetched.values()) == {1}


@pytest.mark.parametrize("kind", [pytest.param("none", marks=pytest.mark.long), "losses and churn", "heirs"])
def test_the_crawl_ends_when_only_blocked_servers_are_left(kind: str) -> None:
    """Their URLs stay in Redis; every page that others lead to is fetched."""
    run = Run(kind, 1)
    run.web.blocked = frozenset(f"http://www.d{number}.com" for number in (3, 8, 13))
    run.run()
    assert run.errors == [], "\n".join(run.simulation.trace[-60:])
    assert len(run.observer.fetched) > 100
    assert asyncio.run(_queued_servers(run)) == run.web.blocked


async def _queued_servers(run: Run) -> set[str]:
    """Servers with URLs in Redis."""
    control, copy = Control(Direct(run.redis), KEYS, 60.0), ModelCopy(run.web, OF, lambda: 0.0)
    for number, record in enumerate(await control.records(range(PARTITIONS))):
        await read_partition(control, copy.write, Part(number, record.epoch, record.seq, record.gen), record)
        for _ in copy.restore(number, {}):
            pass
    return {server.key for server in copy.servers.values() if server.queue}


@pytest.mark.parametrize(("kind", "seed"), [("calls", 1), ("churn", 0)])
def test_pages_are_counted_once(kind: str, seed: int) -> None:
    """Also if the answer to a worker that leaves is lost."""
    run = finished(kind, seed)
    assert int(run.redis.hash_of(KEYS.meta)[b"pages"]) == sum(run.observer.fetched.values())


@pytest.mark.parametrize("seed", [0, 1])
def test_changes_too_large_for_a_commit_become_a_snapshot(seed: int) -> None:
    """Too many rows (seed 0), too many bytes (seed 1)."""
    run = finished("none", seed)
    assert run.errors == []
    assert run.counts["snapshots"]


def test_a_run_follows_from_its_seed() -> None:
    assert finished("restarts", 2).simulation.trace == Run("restarts", 2).run().simulation.trace


def test_round_trips() -> None:
    """A tick needs two: a beat, and one for all that is sent and read. The beat loop adds none of its own."""
    run = Run("none", 0)
    calls = run.idle(seconds=100)
    ticks = 100 / run.interval
    assert ticks <= calls <= 2.2 * ticks + 20  # and what was learned, every ten seconds; the start


# the model of Redis


class _Calls:
    """Two workers' calls, and what was answered; ids of messages and times, which differ, are left out."""

    def __init__(self, one: Control, other: Control) -> None:
        self.one, self.other = one, other
        self.one.id, self.other.id = "one", "other"
        self.answers: list[object] = []
        self._ids: dict[bytes, bytes] = {}

    async def __call__(self, call: Awaitable[Any]) -> Any:
        answer = await call
        self.answers.append(answer)
        return answer

    async def beat(self, control: Control, lease: float, changed: float = 0.0) -> None:
        spent = Spent(round(lease), 2 * round(lease))
        beat = await control.beat(lease, {"pages": 3}, {"id": control.id, "lease": lease}, spent, changed)
        told = beat.members, beat.over.keys(), bool(beat.run_id), beat.changed
        self.answers.append((beat.status, beat.crawl, beat.state, beat.spent, *told))

    async def messages(self, control: Control, last: dict[int, bytes]) -> dict[int, list[bytes]]:
        found = await control.messages(last)
        self.answers.append({partition: [blob for _, blob in rows] for partition, rows in found.items()})
        return {partition: [name for name, _ in rows] for partition, rows in found.items()}


def _commit(epoch: int, seq: int, *applied: bytes, partition: int = 7, settles: bool = False) -> Commit:
    return Commit(partition, epoch, seq, b"blob %d" % seq, seq, 1, [3, 5], {"arrivals": seq}, applied, settles)


async def _lease_calls(calls: _Calls) -> None:
    one, other = calls.one, calls.other
    await calls.beat(one, 1000.0)
    await calls.beat(other, 1000.0)
    await calls(other.bury("one", 0.0))
    await calls(other.bury("nobody", 0.0))
    await calls.beat(one, -1.0)
    await calls.beat(other, 1000.0)
    await calls(other.bury("one", 0.0))
    await calls(other.bury("one", 0.0))
    calls.answers.append(await other.buried_at("one") > 0)
    await calls.beat(one, 1000.0)
    await calls(other.set_ended("c1", "7 later"))
    await calls(other.set_ended("c1", ""))
    await calls(other.set_running("another"))
    await calls.beat(other, 1000.0)
    await calls(other.leave())
    one.id = "third"
    await calls.beat(one, 1000.0)
    for changed in (5.0, 0.0, 4.0, 1e11, 6.0, 0.0):  # the fourth is later than now: the clock was set back since
        await calls.beat(one, 1000.0, changed)
    calls.answers.append(await one.learned())
    await calls(one.set_learned(b"state"))
    state, run_id = await one.learned_in_run()
    calls.answers.append((state, bool(run_id)))


async def _partition_calls(calls: _Calls) -> None:
    one, other = calls.one, calls.other
    free = await calls(one.records([7, 8]))
    taken = await calls(one.take({7: free[0], 8: free[1]}))
    await calls(other.take({7: free[0]}))
    await calls(one.take({8: taken[8]}))
    await calls(one.send([(7, b"a"), (7, b"b"), (9, b"c")], [_commit(1, 1), _commit(1, 1), _commit(1, 3)]))
    found = await calls.messages(one, {7: b"", 8: b"", 9: b""})
    await calls.messages(one, {7: found[7][0]})
    await calls(one.send([], [_commit(1, 2, *found[7], b"1-1"), _commit(2, 3)]))
    await calls(one.scan([7, 8, 9]))
    await calls(other.take({7: (await one.records([7]))[0]}))
    await calls(one.send([], [_commit(1, 3)]))
    await calls(one.release({7: 1}))
    await calls(other.release({7: 2}))
    await calls(one.take({7: (await one.records([7]))[0]}))
    await calls(one.records([7, 8, 9]))
    await calls(other.take({7: (await one.records([7]))[0]}))
    await calls(other.send([], [_commit(4, 4, settles=True)]))
    await calls(one.records([7]))
    await calls(other.release({7: 4}))
    await calls(one.records([7]))


async def _many_owners(calls: _Calls) -> None:
    """Who owned a partition, and did not release it, is kept once, and of very many the last ones."""
    one = calls.one
    for number in range(70):
        one.id = f"w{number // 2}" if number < 4 else f"w{number}"
        await one.take({7: (await one.records([7]))[0]})
    (record,) = await calls(one.records([7]))
    assert len(record.formers) == MAX_FORMERS == len(set(record.formers))
    assert record.formers[-1] == "w68"


async def _snapshot_calls(calls: _Calls) -> None:
    one, other = calls.one, calls.other
    await calls(one.take({7: (await one.records([7]))[0]}))
    await calls(one.send([], [_commit(1, seq) for seq in range(1, 25)]))
    (record,) = await one.records([7])
    await calls(one.begin_snapshot(7, 1, "1-20", record))
    await calls(other.begin_snapshot(7, 1, "1-20", record))
    for more in (one.begin_snapshot(7, 1, "1-19", record), one.add_to_snapshot(7, 1, "1-19", [b"x"], [])):
        with pytest.raises(TimeoutError):
            await more
    await calls(one.add_to_snapshot(7, 1, "1-20", [b"row", b"row 2"], [b"seen"]))
    await calls(one.add_to_snapshot(7, 1, "1-20", [], [b"seen"]))
    await calls(one.add_to_snapshot(7, 1, "1-20", [b"row"], []))
    with pytest.raises(TimeoutError):
        await one.switch_snapshot(7, 1, old="", gen="1-19", base=20)
    await calls(one.records([7]))
    await calls(other.switch_snapshot(7, 1, old="", gen="1-20", base=20))
    await calls(one.switch_snapshot(7, 1, old="", gen="1-20", base=20))
    for start in (0, 3, 16, 50):
        await calls(one.elements(one.keys.j(7), start))
    await calls(one.begin_snapshot(7, 1, "1-30", (await one.records([7]))[0]))
    await calls(one.switch_snapshot(7, 1, old="1-20", gen="1-30", base=30))
    for key in (*one.keys.snapshot(7, "1-20"), one.keys.j(7)):
        await calls(one.elements(key, 0))
    await calls(one.send([], [_commit(1, 31), _commit(1, 33)]))
    await calls(one.begin_snapshot(7, 1, "1-29", (await one.records([7]))[0]))
    await calls(one.switch_snapshot(7, 1, old="1-30", gen="1-29", base=29))  # what lies before has gone
    await calls(one.elements(one.keys.j(7), 0))
    await calls(one.records([7]))


async def _order_calls(calls: _Calls) -> None:
    one, other = calls.one, calls.other
    await calls(one.orders())
    await one.commands([("RPUSH", KEYS.actions, "left of an earlier crawl")])
    for number in range(1, 5):
        await calls(one.order("c1", (f"id{number}", "{}", 3), {"paused": "1", f"block {number}": "1"}))
    await calls(other.order("c1", ("id5", "{}", 3), {"paused": None, "block 2": None, "never": None}))
    await calls(other.order("another", ("id6", "{}", 3), {"paused": "1"}))
    (rows,) = await other.commands([("LRANGE", KEYS.actions, -100, -1)])
    calls.answers.append([row.split()[:2] for row in rows])
    await calls(other.orders())
    calls.answers.append((await other.beat(1000.0, {}, {})).actions)


@pytest.mark.parametrize("calls", [_lease_calls, _partition_calls, _many_owners, _snapshot_calls, _order_calls])
def test_the_model_of_redis_answers_as_redis_does(
    redis_server: RunningRedis, calls: Callable[[_Calls], Awaitable[None]]
) -> None:
    async def answers(client: Callable[[], Any]) -> list[object]:
        controls = [Control(client(), KEYS, 60.0) for _ in range(2)]
        recorded = _Calls(*controls)
        await controls[0].commands([call(JOIN, [KEYS.meta], "crawl", "c1", "state", "running")])
        await calls(recorded)
        for control in controls:
            await control.close()
        return recorded.answers

    model = RedisModel(lambda: 0.0)
    expected = asyncio.run(answers(lambda: redis.asyncio.Redis.from_url(redis_server.url)))
    assert asyncio.run(answers(lambda: Direct(model))) == expected
