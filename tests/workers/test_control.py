"""The calls to a real Redis: fences, repeated calls, lost answers."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any

import pytest
import redis
import redis.asyncio

from crawlproject.workers.control import Commit, Control, Record, Spent, join, may_run, new_id
from crawlproject.workers.keys import Keys
from crawlproject.workers.scripts import ALL
from testbed.redis_server import RunningRedis

KEYS = Keys("web")
CRAWL = {"crawl": "abc", "state": "running"}


Test = Callable[[Control, Control, redis.Redis], Coroutine[Any, Any, None]]


@pytest.fixture
def client(redis_server: RunningRedis) -> Iterator[redis.Redis]:
    with redis_server.client() as client:
        join(client, KEYS, CRAWL)
        yield client


def with_two(test: Test) -> Callable[[RunningRedis, redis.Redis], None]:
    """A test of the calls of two workers."""

    async def run(server: RunningRedis, client: redis.Redis) -> None:
        one, other = (Control(redis.asyncio.Redis.from_url(server.url), KEYS, timeout=60.0) for _ in range(2))
        try:
            await test(one, other, client)
        finally:
            for control in (one, other):
                await control.close()

    def made(redis_server: RunningRedis, client: redis.Redis) -> None:
        asyncio.run(run(redis_server, client))

    return made


def commit(epoch: int, seq: int, applied: tuple[bytes, ...] = (), stored: int = 1) -> Commit:
    return Commit(7, epoch, seq, b"blob %d" % seq, stored, 1, [3, 5], {"arrivals": seq}, applied)


def test_first_worker_creates_the_crawl_others_let_it_go_on(client: redis.Redis) -> None:
    client.hset(KEYS.meta, "state", "ended")
    found = join(client, KEYS, {"crawl": "other", "state": "other"})
    assert (found["crawl"], found["state"]) == ("abc", "running")


@with_two
async def test_scripts_are_loaded_in_one_round_trip(one: Control, other: Control, client: redis.Redis) -> None:
    """With one for each, a crawl never began on a Redis that was a third of a second away."""
    await one.beat(15.0, {}, {})
    client.script_flush()
    client.config_resetstat()
    await other.beat(15.0, {}, {})
    await other.beat(15.0, {}, {})
    found = client.info("stats")
    assert found["total_reads_processed"] < 10, found
    counts = client.info("commandstats")
    loads = counts.get("cmdstat_script|load") or counts["cmdstat_script"]  # Redis 6 counts SCRIPT as a whole
    assert loads["calls"] == len(ALL)


@with_two
async def test_beat_shows_all_workers(one: Control, other: Control, client: redis.Redis) -> None:
    await one.beat(15.0, {"host": "a"}, {"run": "x"}, Spent(3, 500))
    beat = await other.beat(15.0, {}, {"leaving": True}, Spent(4, 10**12))
    assert beat.status == "ok"
    assert (beat.crawl, beat.state) == ("abc", "running")
    assert beat.members == {one.id: {"run": "x"}, other.id: {"leaving": True}}
    assert beat.over == {}
    assert beat.spent == (7, 10**12 + 500)
    assert beat.run_id
    assert beat.uptime >= 0


@with_two
async def test_beat_tells_of_other_workers_only_what_has_changed(
    one: Control, other: Control, client: redis.Redis
) -> None:
    large = {"leaving": False, "run": "x" * 100_000}
    await other.beat(15.0, {"host": "y" * 100_000}, large)
    await one.beat(15.0, {}, {})
    before = client.info("stats")["total_net_output_bytes"]
    told = [await one.beat(15.0, {"pages": number}, {}, Spent(number)) for number in range(5)]
    assert client.info("stats")["total_net_output_bytes"] < before + 50_000
    assert all(beat.members == {one.id: {}, other.id: large} for beat in told)
    assert [beat.spent.pages for beat in told] == [0, 1, 2, 3, 4]
    await other.beat(15.0, {}, {"leaving": True})
    assert (await one.beat(15.0, {}, {})).members[other.id] == {"leaving": True}
    await other.leave()
    assert (await one.beat(15.0, {}, {})).members.keys() == {one.id}


@with_two
async def test_beat_tells_that_the_crawl_is_gone(one: Control, other: Control, client: redis.Redis) -> None:
    client.flushall()
    assert (await one.beat(15.0, {}, {})).status == "gone"
    assert client.keys() == []


@with_two
async def test_only_a_worker_whose_lease_is_over_is_buried(one: Control, other: Control, client: redis.Redis) -> None:
    await one.beat(1000.0, {}, {}, Spent(3))
    assert not await other.bury(one.id, 0.0)
    await one.beat(0.0, {}, {}, Spent(3))
    await asyncio.sleep(0.002)  # Redis counts milliseconds
    beat = await other.beat(15.0, {}, {})
    assert beat.over.keys() == {one.id}
    assert 0 < beat.now - beat.over[one.id] < 60
    assert await other.bury(one.id, 0.0)
    assert not await other.bury(one.id, 0.0)
    beat = await other.beat(15.0, {}, {})
    assert beat.members.keys() == {other.id}
    assert beat.over == {}
    assert beat.spent.pages == 3
    assert await other.buried_at(one.id) > 0


@with_two
async def test_who_lost_a_partition_changes_nothing(one: Control, other: Control, client: redis.Redis) -> None:
    taken = await one.take({7: Record()})
    await one.send([], [commit(1, 1)])
    await other.take(taken)
    before = client.hgetall(KEYS.m(7))
    assert await one.send([], [commit(1, 2)]) == ["lost"]
    assert not await one.begin_snapshot(7, 1, "1-1", Record())
    assert not await one.add_to_snapshot(7, 1, "1-1", [b"rows"], [])
    assert not await one.switch_snapshot(7, 1, old="", gen="1-1", base=1)
    await one.release({7: 1})
    assert client.hgetall(KEYS.m(7)) == before
    assert client.lrange(KEYS.j(7), 0, -1) == [b"blob 1"]


@with_two
async def test_inboxes_are_read_in_the_round_trip_of_the_commits(
    one: Control, other: Control, client: redis.Redis
) -> None:
    await one.take({7: Record()})
    await other.send([(7, b"first"), (9, b"elsewhere")], [])
    calls = one.calls
    one.read_along({7: b"", 8: b"", 9: b""})
    assert await one.send([(7, b"second")], [commit(1, 1)]) == ["ok"]
    found = await one.messages({7: b"", 8: b""})  # 9 was lost meanwhile
    assert {number: [blob for _, blob in messages] for number, messages in found.items()} == {7: [b"first", b"second"]}
    assert one.calls == calls + 1
    assert await one.messages({7: found[7][-1][0]}) == {}  # a call of its own
    assert one.calls == calls + 2


@with_two
async def test_a_call_for_a_snapshot_that_comes_late_changes_nothing(
    one: Control, other: Control, client: redis.Redis
) -> None:
    """Redis carries out what it was sent, also if the worker has given up the call and has begun again."""
    await one.take({7: Record()})
    await one.begin_snapshot(7, 1, "1-0-1", Record())
    await one.begin_snapshot(7, 1, "1-0-2", Record(next="1-0-1"))
    await one.add_to_snapshot(7, 1, "1-0-2", [b"rows"], [b"seen"])
    late = [
        lambda: one.begin_snapshot(7, 1, "1-0-1", Record()),
        lambda: one.begin_snapshot(7, 1, "1-0-1", Record(next="1-0-1")),
        lambda: one.add_to_snapshot(7, 1, "1-0-1", [b"rows"], []),
        lambda: one.switch_snapshot(7, 1, old="", gen="1-0-1", base=0),
    ]
    for switched in (False, True):
        for call in late:
            with pytest.raises(TimeoutError):
                await call()
        if not switched:
            assert await one.switch_snapshot(7, 1, old="", gen="1-0-2", base=0)
    assert client.lrange(one.keys.snapshot(7, "1-0-2")[0], 0, -1) == [b"rows"]
    assert not client.exists(*one.keys.snapshot(7, "1-0-1"))


@with_two
async def test_what_former_owners_left_is_kept_until_an_owner_has_dealt_with_it(
    one: Control, other: Control, client: redis.Redis
) -> None:
    """Also if one stops while it is loading, in order or not."""

    async def take(by: Control) -> tuple[tuple[str, ...], tuple[int, ...]]:
        (record,) = (await by.take({7: (await by.records([7]))[0]})).values()
        return record.formers, record.open

    assert await take(one) == ((), ())
    await one.send([], [commit(1, 1)])
    assert await take(other) == ((one.id,), (3, 5))
    await other.release({7: 2})
    assert await take(other) == ((one.id,), (3, 5))
    await other.send([], [commit(3, 2)])  # while it is loading
    assert await take(one) == ((one.id, other.id), (3, 5))
    await one.send([], [replace(commit(4, 3), settles=True)])
    assert await take(other) == ((one.id,), (3, 5))
    await other.send([], [replace(commit(5, 4), settles=True)])
    await other.release({7: 5})
    assert await take(one) == ((), ())


@with_two
async def test_long_lists_are_read_piece_by_piece(one: Control, other: Control, client: redis.Redis) -> None:
    client.rpush("list", *map(str, range(6)))
    assert await one.elements(["list", "none"], 0) == [[b"%d" % n for n in range(4)], []]
    assert await one.elements(["list"], 4) == [[b"4", b"5"]]


def test_only_a_process_of_this_machine_is_known_to_have_ended() -> None:
    own = new_id()
    host, pid, started, number = own.split(":")
    assert may_run(own, "elsewhere:1:2:3")
    assert not may_run(own, new_id())
    assert may_run(f"elsewhere:{pid}:{started}:{number}", own)
    assert not may_run(f"{host}:{pid}:{started}0:{number}", own)
    assert may_run("", own)
