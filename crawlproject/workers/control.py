"""The calls to Redis: the crawl and its workers, partitions and their journals, inboxes.

One call is one round trip, however many partitions it is about (in a cluster, one to each node).  Each raises one of
``AWAY``; then it may have been carried out or not, and is repeated: all of them may be, except ``add_stats``.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from dataclasses import dataclass, field
from itertools import chain, islice
from math import ceil
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from redis.asyncio import Redis, RedisCluster
from redis.exceptions import NoScriptError, ReadOnlyError, RedisClusterException, RedisError

from crawlproject.storage.errors import StoreError
from crawlproject.workers.connection import LONG
from crawlproject.workers.scripts import (
    ADD,
    ALL,
    APPEND,
    BEAT,
    BEGIN,
    COMMIT,
    JOIN,
    ORDER,
    RELEASE,
    REMOVE,
    STATE,
    SUM,
    SWITCH,
    TAKE,
    digest,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawlproject.workers.keys import Keys

T = TypeVar("T")

#: Errors of a call: the answer is unknown, or Redis refuses to write.
AWAY = (RedisError, RedisClusterException, OSError, TimeoutError)

#: Elements of a list fetched by one call, which may take ``LONG``: no tick waits for it, and ``LOADED_AT_ONCE``
#: partitions share a line that may be slow.
ELEMENTS = 4
#: Messages of an inbox read at once, and of all inboxes, about.
MESSAGES = 64
ALL_MESSAGES = 1024
#: Bytes sent by one call, about; and those of a blob for which it may take the timeout: longer for a larger one.
ALL_BYTES, IN_TIME = 64 << 10, 32 << 10
#: The least part of all messages and bytes in one call: less and less after timeouts, or on a slow line they would
#: never arrive.
LEAST = 1 / 16

#: Partitions that one script changes: 1 ms of Redis's time.
AT_ONCE = 32

#: Partition -> ids and contents of messages.
Inboxes = dict[int, list[tuple[bytes, bytes]]]
Command = tuple[Any, ...]


class Spent(NamedTuple):
    """What workers have spent of the limits that they share."""

    pages: int = 0
    size: int = 0  # bytes


NOTHING = Spent()


@dataclass(frozen=True, slots=True)
class Beat:
    """The answer of Redis to a beat."""

    #: ``ok``; ``dead``: this id was buried; ``gone``: Redis knows no such crawl.
    status: str
    #: Redis's clock, seconds.
    now: float = 0.0
    crawl: str = ""
    #: ``running`` or ``ended``.
    state: str = ""
    #: Of all workers.
    spent: Spent = NOTHING
    #: Id of each worker -> what the others act on: ``leaving``, the ``run`` of Redis that it knew before its last beat,
    #: and when Redis was ``changed``, if it noticed that.
    members: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    #: Id -> end of a lease that is over, seconds on Redis's clock.
    over: Mapping[str, float] = field(default_factory=dict)
    #: Identifies the run of the Redis server.
    run_id: str = ""
    #: Seconds since the Redis server was started.
    uptime: float = 0.0
    #: Mark of the operator's last action (``orders``).
    actions: str = ""
    #: When a worker, who may have left since, noticed for the last time that Redis was another one, or its clock was
    #: set; on that clock.
    changed: float = 0.0
    #: End of this worker's lease before, on that clock; 0 if Redis knew of none.
    before: float = 0.0
    #: When it was sent (``boot_time``).
    at: float = 0.0
    #: Since when this worker has reached Redis without a long break (``boot_time``).
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class Record:
    """The fields of a partition."""

    owner: str = ""
    #: Owners before it whose contacts with servers the rows may lack: they did not release it, or not after loading it.
    formers: tuple[str, ...] = ()
    epoch: int = 0
    seq: int = 0
    #: Number of the journal's first commit.
    first: int = 1
    #: URLs queued or in progress.
    stored: int = 0
    servers: int = 0
    #: Name of the snapshot; "" if there is none yet.
    gen: str = ""
    #: The announced snapshot, if its writing has begun.
    next: str = ""
    #: Numbers of the servers in session at the last commit, of the owner or the former ones.
    open: tuple[int, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: Mapping[bytes, bytes]) -> Record:
        """From a hash; {} is a partition that nobody took yet. Raises ValueError for damaged fields."""
        text = {key.decode("ascii", "replace"): value for key, value in fields.items()}
        numbers = {name: int(text.get(name) or b"0") for name in ("epoch", "seq", "stored", "servers")}
        return cls(
            owner=text.get("owner", b"").decode(),
            formers=tuple(text.get("former", b"").decode().split()),
            first=int(text.get("first") or b"1"),
            gen=text.get("gen", b"").decode(),
            next=text.get("next", b"").decode(),
            open=tuple(int(number) for number in text.get("open", b"").split(b",") if number),
            extra=json.loads(text.get("extra") or b"{}"),
            **numbers,
        )


@dataclass(slots=True)
class Commit:
    """The changes of a partition since its last commit."""

    partition: int
    epoch: int
    seq: int
    blob: bytes
    stored: int
    servers: int
    #: Numbers of the servers in session; and those of the former owners until ``settles``.
    open: Sequence[int]
    extra: Mapping[str, Any]
    #: Ids of the messages that these changes contain.
    applied: Sequence[bytes]
    #: Whether the rows say how long servers rest that former owners have contacted.
    settles: bool = False

    def arguments(self, extra: str) -> list[Any]:
        """For the script, after the worker's id; ``extra``: as JSON."""
        opened = ",".join(map(str, self.open))
        numbers = self.stored, self.servers
        settles = int(self.settles)
        return [self.epoch, self.seq, self.blob, *numbers, opened, extra, settles, len(self.applied), *self.applied]


class Control:
    """The crawl ``keys`` in Redis, as the worker ``id``. ``timeout``: seconds that a call may take."""

    def __init__(self, redis: Any, keys: Keys, timeout: float) -> None:
        self._redis = redis
        self.keys = keys
        self._timeout = timeout
        self.id = new_id()
        self._is_cluster = isinstance(redis, RedisCluster)
        self._members: tuple[str, Mapping[str, dict[str, Any]]] = ("", {})  # their version, and they
        self._wanted: dict[int, bytes] = {}  # inboxes to be read by the next ``send``
        self._read: Inboxes | None = None  # what it found
        self._part = 1.0  # of ALL_MESSAGES, ALL_BYTES: less after a timeout
        #: Round trips so far.
        self.calls = 0

    # the crawl and its workers

    async def beat(
        self,
        lease: float,
        info: Mapping[str, Any],
        member: Mapping[str, Any],
        spent: Spent = NOTHING,
        changed: float = 0.0,
    ) -> Beat:
        """Extend the lease of this worker by ``lease`` seconds from now.

        ``info`` is for display, ``member`` for the other workers, which receive it only when it changes; ``spent``:
        under this id; ``changed``: see ``Beat``, as far as this worker noticed it.
        """
        known, members = self._members
        keys = [*self._worker_keys(), self.keys.spent]
        texts_ = self.id, round(lease * 1000), json.dumps(info), json.dumps(member), known
        script = call(BEAT, keys, *texts_, round(changed * 1000), *spent)
        if self._is_cluster:
            answer, server = (await self.commands([script]))[0], await self._info_of_all()
        else:
            answer, server = await self.commands([script, ("INFO", "server")])
        status = answer[0].decode()
        if status != "ok":
            return Beat(status)
        if (version := answer[6].decode()) != known:
            members = {name: worker_info(value) for name, value in texts(answer[7]).items()}
            self._members = version, members
        return Beat(
            status,
            answer[1] / 1000,
            answer[2].decode(),
            (answer[3] or b"running").decode(),
            Spent(*answer[4]),
            members,
            {name: int(until) / 1000 for name, until in texts(answer[5]).items()},
            str(server.get("run_id", "")),
            float(server.get("uptime_in_seconds", 0)),
            answer[8].decode(),
            answer[9] / 1000,
            answer[10] / 1000,
        )

    async def bury(self, worker: str, grace: float) -> bool:
        """Remove another worker if its lease ended ``grace`` seconds ago; False if not."""
        return bool(await self._one(REMOVE, self._worker_keys(), worker, round(grace * 1000)))

    async def buried_at(self, worker: str) -> float:
        """End of the lease of a worker that was buried, on Redis's clock; 0 if it was not."""
        found = (await self.commands([("HGET", self.keys.dead, worker)]))[0]
        return int(found or 0) / 1000

    async def leave(self) -> None:
        """Remove this worker, which has released its partitions."""
        await self._one(REMOVE, self._worker_keys(), self.id, "")

    async def add_stats(self, stats: Mapping[str, float]) -> dict[str, float]:
        """After ``leave``: add ``stats`` to those of workers that left before; returns the sums after the last one.

        Not to be repeated.
        """
        pairs = [text for name, number in stats.items() for text in (name, repr(number))]
        answer = await self._one(SUM, [self.keys.workers, self.keys.stats], *pairs)
        return {name: float(number) for name, number in texts(answer).items()}

    async def set_running(self, crawl: str) -> None:
        await self._one(STATE, [self.keys.meta], crawl, "running")

    async def set_ended(self, crawl: str, mark: str) -> bool:
        """Say that the crawl has ended; False if the operator has acted since his action with this ``mark``."""
        return bool(await self._one(STATE, [self.keys.meta], crawl, "ended", mark))

    async def order(self, crawl: str, action: Sequence[Any], changes: Mapping[str, str | None]) -> int:
        """Change the operator's orders; ``action``: see ``ORDER``. Returns its number; 0 if it is another crawl."""
        keys = self.keys
        pairs = [text for name, value in changes.items() for text in (name, value or "")]
        return int(await self._one(ORDER, [keys.meta, keys.orders, keys.actions], crawl, *action, *pairs))

    async def orders(self) -> tuple[str, dict[str, str]]:
        """The mark of the operator's last action, and the orders after it.

        Orders after a later action would be undone for a moment when its row is applied.
        """
        read = ("HGET", self.keys.meta, "actions")
        while True:
            before, fields, mark = await self.commands([read, ("HGETALL", self.keys.orders), read])
            if mark == before:
                return (mark or b"").decode("ascii", "replace"), texts(fields) if mark else {}

    async def learned(self) -> bytes | None:
        """The state that a worker learned from all servers. Permission to read is enough."""
        found: bytes | None = (await self.commands([("GET", f"{self.keys.meta}:learned")]))[0]
        return found

    async def learned_in_run(self) -> tuple[bytes | None, str]:
        """The same, and the ``run_id`` of Redis."""
        if self._is_cluster:
            found, server = await self.learned(), await self._info_of_all()
        else:
            found, server = await self.commands([("GET", f"{self.keys.meta}:learned"), ("INFO", "server")])
        return found, str(server.get("run_id", ""))

    async def set_learned(self, state: bytes) -> None:
        """Keep it for workers that join."""
        await self.commands([("SET", f"{self.keys.meta}:learned", state)])

    # partitions

    async def records(self, partitions: Sequence[int]) -> list[Record]:
        answers = await self.commands([("HGETALL", self.keys.m(partition)) for partition in partitions])
        return [self._record(*pair) for pair in zip(partitions, answers, strict=True)]

    def _record(self, partition: int, answer: Any) -> Record:
        try:
            return Record.of(_fields(answer))
        except (ValueError, TypeError) as error:
            raise StoreError(self.keys.m(partition), f"damaged: {error}") from error

    async def scan(self, partitions: Sequence[int]) -> list[tuple[Record, int]]:
        """The fields of ``partitions`` and the lengths of their inboxes."""
        return (await self.scan_all(partitions))[2]

    async def scan_all(
        self, partitions: Sequence[int]
    ) -> tuple[str, dict[str, dict[str, Any]], list[tuple[Record, int]]]:
        """The mark of the operator's last action; each worker's description of itself; and then ``scan``."""
        keys = self.keys
        commands: list[Command] = [("HGET", keys.meta, "actions")]
        commands += [("HGETALL", key) for key in (keys.info, *map(keys.m, partitions))]
        commands += [("XLEN", keys.i(partition)) for partition in partitions]
        mark, infos, *answers = await self.commands(commands)
        half = len(partitions)
        records = map(self._record, partitions, answers[:half])
        found = {name: worker_info(value) for name, value in texts(infos).items()}
        return (mark or b"").decode("ascii", "replace"), found, list(zip(records, answers[half:], strict=True))

    async def take(self, expected: Mapping[int, Record]) -> dict[int, Record]:
        """Take each partition that still has the owner and epoch of its record; returns those taken."""
        answers = await self.commands(
            [
                call(TAKE, [self.keys.m(partition)], self.id, record.owner, record.epoch)
                for partition, record in expected.items()
            ]
        )
        return {
            partition: self._record(partition, answer)
            for partition, answer in zip(expected, answers, strict=True)
            if answer is not None
        }

    async def release(self, epochs: Mapping[int, int]) -> None:
        """Give partitions back; those that another took meanwhile are not touched."""
        await self.commands(
            [call(RELEASE, [self.keys.m(partition)], self.id, epoch) for partition, epoch in epochs.items()]
        )

    @property
    def at_once(self) -> int:
        """Bytes that a call should send: fewer while calls take too long."""
        return round(self._part * ALL_BYTES)

    async def send(self, messages: Sequence[tuple[int, bytes]], commits: Sequence[Commit]) -> list[str]:
        """Add ``messages`` to the inboxes of their partitions; then carry out ``commits``; returns their results."""
        size = 1 if self._is_cluster else AT_ONCE  # partitions of a script: in a cluster, all its keys are of one
        scripts = [*map(self._append, _batches(messages, size)), *map(self._commit, _batches(commits, size))]
        wanted, self._wanted = self._wanted, {}
        answers = await self._run_in_parts([*scripts, *self._reads(wanted)])
        if wanted:
            self._read = self._found(wanted, answers[len(scripts) :])
        return [each.decode() for each in chain.from_iterable(answers[ceil(len(messages) / size) : len(scripts)])]

    def _append(self, messages: Sequence[tuple[int, bytes]]) -> Command:
        return call(APPEND, [self.keys.i(partition) for partition, _ in messages], *[blob for _, blob in messages])

    def _commit(self, commits: Sequence[Commit]) -> Command:
        keys = self.keys
        used = [key(each.partition) for each in commits for key in (keys.m, keys.j, keys.i)]
        extras = {id(each.extra): each.extra for each in commits}  # most often one for all
        encoded = {number: json.dumps(extra, separators=(",", ":")) for number, extra in extras.items()}
        return call(
            COMMIT, used, self.id, *chain.from_iterable(each.arguments(encoded[id(each.extra)]) for each in commits)
        )

    def read_along(self, last: Mapping[int, bytes]) -> None:
        """Let the next ``send`` also read what the next ``messages`` will ask for: one round trip less."""
        self._wanted, self._read = self._some(last), None

    async def _run_in_parts(self, commands: Sequence[Command]) -> list[Any]:
        try:
            answers = await self.commands(commands)
        except TimeoutError:
            self._part = max(LEAST, self._part / 4)
            raise
        self._part = min(1.0, 2 * self._part)
        return answers

    async def messages(self, last: Mapping[int, bytes]) -> Inboxes:
        """Ids and contents of the messages after the id ``last`` in each inbox.

        ``MESSAGES`` at most of each, and of the inboxes together not many more than ``ALL_MESSAGES``.
        """
        found, self._read, self._wanted = self._read, None, {}
        if found is None:
            some = self._some(last)
            found = self._found(some, await self._run_in_parts(self._reads(some)))
        return {partition: messages for partition, messages in found.items() if partition in last}

    def _some(self, last: Mapping[int, bytes]) -> dict[int, bytes]:
        return dict(islice(last.items(), round(self._part * ALL_MESSAGES)))

    def _reads(self, last: Mapping[int, bytes]) -> list[Command]:
        if not last:
            return []
        count = max(1, min(MESSAGES, round(self._part * ALL_MESSAGES) // len(last)))
        keys = [self.keys.i(partition) for partition in last]
        if self._is_cluster:  # one command may not read the keys of several nodes
            pairs = zip(keys, last.values(), strict=True)
            return [("XRANGE", key, b"(" + after if after else "-", "+", "COUNT", count) for key, after in pairs]
        return [("XREAD", "COUNT", count, "STREAMS", *keys, *(after or b"0" for after in last.values()))]

    def _found(self, last: Mapping[int, bytes], answers: Sequence[Any]) -> Inboxes:
        if self._is_cluster:
            rows = dict(zip(last, answers, strict=True))
        else:
            partitions = {self.keys.i(partition).encode(): partition for partition in last}
            rows = {partitions[key]: messages for key, messages in (answers[0] if answers else None) or ()}
        return {
            partition: [(name, _fields(fields).get(b"b", b"")) for name, fields in messages]
            for partition, messages in rows.items()
            if messages
        }

    async def elements(self, keys: Sequence[str], start: int) -> list[list[bytes]]:
        """``ELEMENTS`` elements of each of these lists from ``start`` on, fewer at its end."""
        return await self.commands([("LRANGE", key, start, start + ELEMENTS - 1) for key in keys], patience=LONG)

    async def begin_snapshot(self, partition: int, epoch: int, gen: str, record: Record) -> bool:
        """Announce a snapshot, and delete one that was never finished; False if the partition is another's.

        ``record``: as it is now.  Like the next two calls, raises TimeoutError if a call is carried out now for which
        nobody waits any longer: begin again, with another ``gen``.
        """
        used = [self.keys.m(partition), *self.keys.snapshot(partition, record.next)]
        return await self._snapshot_step(BEGIN, used, epoch, gen, record.gen, record.next)

    async def add_to_snapshot(
        self, partition: int, epoch: int, gen: str, rows: Sequence[bytes], seen: Sequence[bytes]
    ) -> bool:
        """Append parts to an announced snapshot; False if the partition is another's."""
        used = [self.keys.m(partition), *self.keys.snapshot(partition, gen)]
        return await self._snapshot_step(ADD, used, epoch, gen, len(rows), *rows, *seen)

    async def switch_snapshot(self, partition: int, epoch: int, *, old: str, gen: str, base: int) -> bool:
        """Use the announced snapshot of all commits up to ``base``; False if the partition is another's."""
        used = [self.keys.m(partition), self.keys.j(partition), *self.keys.snapshot(partition, old)]
        return await self._snapshot_step(SWITCH, used, epoch, gen, base)

    async def _snapshot_step(self, script: str, used: list[str], epoch: int, gen: str, *more: Any) -> bool:
        answer = (await self._one(script, used, self.id, epoch, gen, *more))[0]
        if answer == b"late":
            raise TimeoutError(f"an earlier call for a snapshot was late: {used[0]}")
        return bool(answer == b"ok")

    async def close(self) -> None:
        await self._redis.aclose()

    # internal

    def _worker_keys(self) -> list[str]:
        keys = self.keys
        return [keys.meta, keys.workers, keys.dead, keys.info, keys.members]

    async def _one(self, script: str, keys: Sequence[str], *arguments: Any) -> Any:
        return (await self.commands([call(script, keys, *arguments)]))[0]

    async def commands(self, commands: Sequence[Command], patience: float = 1) -> list[Any]:
        """Send all in one pipeline; raises the first error after all answers have arrived.

        ``patience``: times the timeout that it may take; longer if much is sent.
        """
        if not commands:
            return []
        size = sum(len(each) for command in commands for each in command if isinstance(each, bytes))
        async with asyncio.timeout(self._timeout * max(patience, min(LONG, size / IN_TIME))):
            answers = await self._pipeline(commands)
            if any(isinstance(answer, NoScriptError) for answer in answers):  # a new server, or SCRIPT FLUSH
                await self._load_scripts()
                answers = await self._pipeline(commands)
        for answer in answers:
            if isinstance(answer, Exception):
                if isinstance(answer, ReadOnlyError) and isinstance(self._redis, Redis):
                    await self._redis.connection_pool.disconnect(inuse_connections=False)  # its name has moved
                raise answer
        return answers

    async def _load_scripts(self) -> None:
        """All of them, in one round trip: one for each would take longer than the timeout if Redis is far away."""
        answers: list[Any]
        if isinstance(self._redis, RedisCluster):  # its pipelines cannot; none goes on after the first that fails
            answers = await asyncio.gather(*map(self._redis.script_load, ALL), return_exceptions=True)
        else:
            answers = await self._pipeline([("SCRIPT LOAD", script) for script in ALL])
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    async def _info_of_all(self) -> dict[str, Any]:
        """What ``INFO server`` says of a Cluster: one that changes when any primary is another, or starts again."""
        self.calls += 1
        async with asyncio.timeout(self._timeout):
            found = await self._redis.info("server", target_nodes=RedisCluster.PRIMARIES)
        infos = [found] if "run_id" in found else list(found.values())
        return {
            "run_id": "+".join(sorted(str(info["run_id"]) for info in infos)),
            "uptime_in_seconds": min(info["uptime_in_seconds"] for info in infos),
        }

    async def _pipeline(self, commands: Sequence[Command]) -> list[Any]:
        self.calls += 1
        pipeline = self._redis.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        answers: list[Any] = await pipeline.execute(raise_on_error=False)
        return answers


def call(script: str, keys: Sequence[str], *arguments: Any) -> Command:
    """The command that runs ``script``, once it is loaded."""
    return "EVALSHA", digest(script), len(keys), *keys, *arguments


def _batches(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))


def new_id() -> str:
    """A name for this worker that nobody had before: host, process, when the process was started, a random number."""
    return f"{gethostname()}:{os.getpid()}:{_started(os.getpid())}:{secrets.token_hex(4)}"


def may_run(worker: str, own_id: str) -> bool:
    """Whether ``worker`` may still have open connections: False only if it certainly has not.

    An earlier id of this process (``own_id``) has none: they were closed when it took the new one.
    """
    if worker.rpartition(":")[0] == own_id.rpartition(":")[0]:
        return False
    host, _, rest = worker.rpartition(":")[0].rpartition(":")[0].rpartition(":")
    pid, started = rest, worker.split(":")[-2:-1]
    if host != gethostname() or not pid.isdecimal():
        return True
    return [_started(int(pid))] == started


def _started(pid: int) -> str:
    """Start time of a process of this machine, in ticks since boot; "" if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    state, *fields = stat.rpartition(")")[2].split()
    return "" if state == "Z" else fields[18]


def join(client: Any, keys: Keys, fields: Mapping[str, str]) -> dict[str, str]:
    """Create the crawl with ``fields`` unless there is one; returns the fields of the existing one.

    ``client``: a synchronous one.  Raises RedisError, also if the key has another type.
    """
    pairs = [text for pair in fields.items() for text in pair]
    return texts(client.eval(JOIN, 1, keys.meta, *pairs))


def _fields(answer: Any) -> dict[bytes, bytes]:
    """A hash: as a dict, or as a script returns it."""
    if isinstance(answer, dict):
        return answer
    return dict(zip(answer[::2], answer[1::2], strict=True))


def texts(answer: Any) -> dict[str, str]:
    """A hash of texts."""
    return {key.decode("utf-8", "replace"): value.decode("utf-8", "replace") for key, value in _fields(answer).items()}


def worker_info(text: str) -> dict[str, Any]:
    """A worker's description of itself; {} if it cannot be read."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
