"""A model of Redis: the commands and scripts that ``control`` uses, restarts, and the loss of the last writes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from redis.exceptions import NoScriptError, ResponseError

from crawlproject.workers import scripts

#: Seconds of writes that can be taken back.
UNDO = 4.0
#: Redis's clock at the start, seconds.
EPOCH = 1_700_000_000.0

Script = Callable[["RedisModel", list[str], list[bytes]], Any]


@dataclass
class Stream:
    """Messages by id."""

    rows: dict[tuple[int, int], bytes] = field(default_factory=dict)
    last: tuple[int, int] = (0, 0)


class RedisModel:
    """``now`` tells the time, seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.data: dict[str, Any] = {}
        self.runs = 1
        self._ahead = 0.0  # of the true time, by its own clock
        self._stepped_at = -1000.0
        self.started = now() - 1000.0
        self._scripts: set[str] = set()
        self._undo: deque[tuple[float, str, Any]] = deque()
        #: Called with the name of a script, its keys, arguments and answer.
        self.observe: Callable[[str, list[str], list[bytes], Any], None] = lambda *_: None

    # life

    def restart(self, lost: float, *, is_replica: bool = False) -> None:
        """Start again, without the writes of the last ``lost`` seconds; or a replica takes over that lacks them."""
        while self._undo and self._undo[-1][0] > self._now() - lost:
            _, key, value = self._undo.pop()
            self._set(key, value)
        self._undo.clear()
        self.runs += 1
        if not is_replica:  # that one has been up for long
            self.started = self._now() + self._ahead
        self._scripts.clear()

    def step_clock(self, seconds: float) -> None:
        """Its clock is set forward, or back if negative."""
        self._ahead += seconds
        self._stepped_at = self._now()

    def has_stepped(self, age: float) -> bool:
        """Whether its clock was set within the last ``age`` seconds."""
        return self._stepped_at >= self._now() - age

    def save(self, key: str) -> None:
        """Keep the value of ``key``, which is about to change."""
        value = self.data.get(key)
        if isinstance(value, Stream):
            value = Stream(dict(value.rows), value.last)
        elif isinstance(value, (dict, list, set)):
            value = value.copy()
        self._undo.append((self._now(), key, value))
        while self._undo[0][0] < self._now() - UNDO:
            self._undo.popleft()

    def _set(self, key: str, value: Any) -> None:
        if value is None or value == [] or value == {}:
            self.data.pop(key, None)
        else:
            self.data[key] = value

    # commands

    def execute(self, command: Sequence[Any]) -> Any:
        """The answer as the client returns it; an exception is returned, too."""
        name, *arguments = command
        if name == "EVALSHA":
            return self._evalsha(*arguments)
        if name == "SCRIPT LOAD":
            self._scripts.add(scripts.digest(arguments[0]))
            return scripts.digest(arguments[0])
        return getattr(self, f"do_{name.lower()}")(*arguments)

    def _evalsha(self, digest: str, key_count: int, *rest: Any) -> Any:
        if digest not in self._scripts:
            return NoScriptError("No matching script. Please use EVAL.")
        name, script = SCRIPTS[digest]
        keys, arguments = list(rest[:key_count]), [to_bytes(value) for value in rest[key_count:]]
        try:
            answer = script(self, keys, arguments)
        except (ValueError, TypeError) as error:
            return ResponseError(str(error))
        self.observe(name, keys, arguments, answer)
        return answer

    def time_ms(self) -> int:
        return int((EPOCH + self._now() + self._ahead) * 1000)

    def do_time(self) -> tuple[int, int]:
        return self.time_ms() // 1000, self.time_ms() % 1000 * 1000

    def do_info(self, _: str) -> dict[str, Any]:
        return {"run_id": self.run_id, "uptime_in_seconds": int(self._now() + self._ahead - self.started)}

    @property
    def run_id(self) -> str:
        return f"run{self.runs}"

    def do_get(self, key: str) -> bytes | None:
        return self.data.get(key)

    def do_set(self, key: str, value: Any) -> bool:
        self.save(key)
        self.data[key] = to_bytes(value)
        return True

    def do_del(self, *keys: str) -> int:
        found = 0
        for key in keys:
            if key in self.data:
                self.save(key)
                del self.data[key]
                found += 1
        return found

    def do_hget(self, key: str, name: str) -> bytes | None:
        return self.data.get(key, {}).get(to_bytes(name))

    def do_hgetall(self, key: str) -> dict[bytes, bytes]:
        return dict(self.data.get(key, {}))

    def do_rpush(self, key: str, *values: Any) -> int:
        self.save(key)
        rows = self.data.setdefault(key, [])
        rows += [to_bytes(value) for value in values]
        return len(rows)

    def do_lrange(self, key: str, start: int, end: int) -> list[bytes]:
        rows = self.data.get(key, [])
        first, last = (place if place >= 0 else len(rows) + place for place in (start, end))
        return list(rows[max(0, first) : last + 1])

    def do_ltrim(self, key: str, start: int, end: int) -> None:
        assert end == -1
        self.save(key)
        rows = self.data.get(key, [])
        self._set(key, rows[max(0, start if start >= 0 else len(rows) + start) :])

    def do_xadd(self, key: str, name: str, field_name: str, value: Any) -> bytes:
        assert (name, field_name) == ("*", "b")
        self.save(key)
        stream = self.data.setdefault(key, Stream())
        now = self.time_ms()
        stream.last = (now, 0) if now > stream.last[0] else (stream.last[0], stream.last[1] + 1)
        stream.rows[stream.last] = to_bytes(value)
        return b"%d-%d" % stream.last

    def do_xlen(self, key: str) -> int:
        return len(self.data[key].rows) if key in self.data else 0

    def do_xrange(self, key: str, start: bytes | str, end: str, option: str, limit: int) -> list[Any]:
        assert (end, option) == ("+", "COUNT")
        after = _stream_id(start[1:]) if to_bytes(start).startswith(b"(") else (-1, -1)
        rows = self.data[key].rows.items() if key in self.data else ()
        found = [(b"%d-%d" % name, {b"b": value}) for name, value in rows if name > after]
        return found[:limit]

    def do_xread(self, option: str, limit: int, word: str, *keys_and_ids: Any) -> list[Any]:
        assert (option, word) == ("COUNT", "STREAMS")
        half = len(keys_and_ids) // 2
        found = []
        for key, after in zip(keys_and_ids[:half], keys_and_ids[half:], strict=True):
            rows = self.do_xrange(key, b"(" + (after if b"-" in after else after + b"-0"), "+", "COUNT", limit)
            found += [[to_bytes(key), rows]] if rows else []
        return found

    def do_xdel(self, key: str, *names: bytes) -> int:
        if key not in self.data:
            return 0
        self.save(key)
        return sum(self.data[key].rows.pop(_stream_id(name), None) is not None for name in names)

    # parts of scripts

    def hash_of(self, key: str) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = self.data.get(key, {})
        return found

    def hset(self, key: str, **fields: Any) -> None:
        self.save(key)
        rows = self.data.setdefault(key, {})
        rows.update({name.encode(): to_bytes(value) for name, value in fields.items()})

    def hset_one(self, key: str, name: bytes, value: Any) -> None:
        self.save(key)
        self.data.setdefault(key, {})[name] = to_bytes(value)

    def hdel(self, key: str, name: bytes) -> None:
        if key in self.data:
            self.save(key)
            self.data[key].pop(name, None)
            self._set(key, self.data[key])


class Direct:
    """A client of the model, without a network; raises ``error`` if there is one."""

    def __init__(self, model: RedisModel) -> None:
        self.model = model
        self.error: Exception | None = None
        self._commands: list[Any] = []

    def pipeline(self, *, transaction: bool) -> Direct:
        assert not transaction
        made = Direct(self.model)
        made.error = self.error
        return made

    def execute_command(self, *command: Any) -> None:
        self._commands.append(command)

    async def execute(self, *, raise_on_error: bool) -> list[Any]:
        assert not raise_on_error
        if self.error is not None:
            raise self.error
        return [self.model.execute(command) for command in self._commands]

    async def aclose(self) -> None:
        """Nothing to close."""


def to_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _stream_id(name: bytes | str) -> tuple[int, int]:
    first, second = to_bytes(name).split(b"-")
    return int(first), int(second)


def _flat(fields: dict[bytes, bytes]) -> list[bytes]:
    return [value for pair in fields.items() for value in pair]


# the scripts


def _join(redis: RedisModel, keys: list[str], arguments: list[bytes]) -> Any:
    if b"crawl" not in redis.hash_of(keys[0]):
        for name, value in zip(arguments[::2], arguments[1::2], strict=True):
            redis.hset_one(keys[0], name, value)
    redis.hset(keys[0], state="running")
    return _flat(redis.hash_of(keys[0]))


def _beat(redis: RedisModel, keys: list[str], arguments: list[bytes]) -> Any:
    meta, workers, dead, info, members, counts = keys
    worker, lease, text, member, version, changed, *spent = arguments
    fields = redis.hash_of(meta)
    if b"crawl" not in fields:
        return [b"gone"]
    if worker in redis.hash_of(dead):
        return [b"dead"]
    now = redis.time_ms()
    ended = int(redis.hash_of(workers).get(worker, b"0"))
    redis.hset_one(workers, worker, now + int(lease))
    redis.hset_one(info, worker, text)
    if redis.hash_of(members).get(worker) != member:
        redis.hset_one(members, worker, member)
        redis.hset(meta, members=_version(redis, meta))
    before = int(redis.hash_of(meta).get(b"changed", b"0"))
    if int(changed) > before or before > now:
        redis.hset(meta, changed=changed)
    totals = []
    for name, count in zip(("pages", "bytes"), spent, strict=True):
        field = b"%b %b" % (worker, name.encode())
        more = int(count) - int(redis.hash_of(counts).get(field, b"0"))
        if more:
            redis.hset_one(counts, field, count)
        totals.append(int(redis.hash_of(meta).get(name.encode(), b"0")) + more)
        redis.hset(meta, **{name: totals[-1]})
    fields = redis.hash_of(meta)
    leases = dict(redis.hash_of(workers))
    for name, until in leases.items():
        if int(until) > now + int(lease):
            redis.hset_one(workers, name, now + int(lease))
    over = {name: until for name, until in leases.items() if int(until) < now}
    shown = {} if fields[b"members"] == version else redis.hash_of(members)
    told = fields[b"crawl"], fields.get(b"state"), totals, _flat(over), fields[b"members"], _flat(shown)
    return [b"ok", now, *told, fields.get(b"actions", b""), int(fields.get(b"changed", b"0")), ended]


def _version(redis: RedisModel, meta: str) -> str:
    changes = int(redis.hash_of(meta).get(b"changes", b"0")) + 1
    redis.hset(meta, changes=changes)
    return f"{redis.time_ms()} {changes}"


def _remove(redis: RedisModel, keys: list[str], arguments: list[bytes]) -> Any:
    meta, workers, dead, *others = keys
    worker, grace = arguments
    lease = redis.hash_of(workers).get(worker)
    if grace:
        if lease is None or int(lease) + int(grace) > redis.time_ms():
            return 0
        redis.hset_one(dead, worker, lease)
    for key in (workers, *others):
        redis.hdel(key, worker)
    redis.hset(meta, members=_version(redis, meta))
    return 1


def _state(redis: RedisModel, keys: list[str], arguments: list[bytes]) -> Any:
    fields = redis.hash_of(keys[0])
    if fields.get(b"crawl") != arguments[0] or (arguments[2:] and fields.get(b"actions", b"") != arguments[2]):
        return 0
    redis.hset(keys[0], state=arguments[1])
    return 1


def _is_lost(redis: RedisModel, keys: list[str], arguments: list[bytes]) -> bool:
    fields = redis.hash_of(keys[0])
    return [fields.get(b"owner"), fields.get(b"epoch")] != arguments[:2]


def _take(redis: RedisModel, keys: list[str], arguments: list[bytes]) -> Any:
    fields = redis.hash_of(keys[0])
    if [fields.get(b"owner", b""), fields.get(b"epoch", b"0")] != arguments[1:]:
        return None
    if arguments[1]:
        names = [name for name in fields.get(b"former", b"").split() if name != arguments[1]]
        redis.hset(keys[0], former=b" ".join([*names, arguments[1]][-scripts.MAX_FORMERS :]))
    redis.hset(keys[0], owner=arguments[0], epoch=int(arguments[2]) + 1)
    return _flat(redis.hash_of(keys[0]))


def _release(redis: RedisModel, keys: list[str], arguments: list[bytes]) -> Any:
    if _is_lost(redis, keys, arguments):
        return [b"lost"]
    redis.hset(keys[0], owner="")
    if not redis.hash_of(keys[0]).get(b"former"):
        redis.hset(keys[0], open="")
    return [b"ok"]


def _commit(redis: RedisModel, keys: list[str], arguments: list[bytes]) -> Any:
    return [_commit_one(redis, *commit) for commit in commits_of(keys, arguments)]


def commits_of(keys: list[str], arguments: list[bytes]) -> Iterator[tuple[list[str], list[bytes]]]:
    """The keys and arguments of each commit of one call."""
    worker, *rest = arguments
    for start in range(0, len(keys), 3):
        end = 9 + int(rest[8])
        yield keys[start : start + 3], [worker, *rest[:8], *rest[9:end]]
        rest = rest[end:]


def _commit_one(redis: RedisModel, keys: list[str], arguments: list[bytes]) -> Any:
    if _is_lost(redis, keys, arguments):
        return b"lost"
    _, _, number, blob, stored, servers, opened, extra, settles, *applied = arguments
    seq = int(redis.hash_of(keys[0]).get(b"seq", 0))
    if int(number) <= seq:
        return b"old"
    if int(number) > seq + 1:
        return b"gap"
    redis.do_rpush(keys[1], blob)
    redis.hset(keys[0], seq=number, stored=stored, servers=servers, open=opened, extra=extra)
    if settles == b"1":
        redis.hdel(keys[0], b"former")
    if applied:
        redis.do_xdel(keys[2], *applied)
    return b"ok"


def _append(redis: RedisModel, keys: list[str], arguments: list[bytes]) -> Any:
    for key, blob in zip(keys, arguments, strict=True):
        redis.do_xadd(key, "*", "b", blob)
    return len(keys)


def _begin(redis: RedisModel, keys: list[str], arguments: list[bytes]) -> Any:
    if _is_lost(redis, keys, arguments):
        return [b"lost"]
    fields = redis.hash_of(keys[0])
    if [fields.get(b"gen", b""), fields.get(b"next", b"")] != arguments[3:]:
        return [b"late"]
    redis.do_del(keys[1], keys[2])
    redis.hset(keys[0], next=arguments[2])
    return [b"ok"]


def _add(redis: RedisModel, keys: list[str], arguments: list[bytes]) -> Any:
    if _is_lost(redis, keys, arguments):
        return [b"lost"]
    if redis.hash_of(keys[0]).get(b"next") != arguments[2]:
        return [b"late"]
    end = 4 + int(arguments[3])
    for key, blobs in zip(keys[1:], (arguments[4:end], arguments[end:]), strict=True):
        if blobs:
            redis.do_rpush(key, *blobs)
    return [b"ok"]


def _switch(redis: RedisModel, keys: list[str], arguments: list[bytes]) -> Any:
    if _is_lost(redis, keys, arguments):
        return [b"lost"]
    _, _, gen, base = arguments
    fields = redis.hash_of(keys[0])
    if fields.get(b"next") != gen:
        return [b"late"]
    seq = int(fields.get(b"seq", 0))
    redis.do_ltrim(keys[1], int(base) - int(fields.get(b"first", 1)) + 1, -1)
    redis.hset(keys[0], gen=gen, base=base, first=int(base) + 1, next="")
    if int(base) > seq:
        redis.hset(keys[0], seq=base)
    redis.do_del(keys[2], keys[3])
    return [b"ok"]


def _order(redis: RedisModel, keys: list[str], arguments: list[bytes]) -> Any:
    meta, orders, actions = keys
    crawl, name, action, length, *changes = arguments
    fields = redis.hash_of(meta)
    if fields.get(b"crawl") != crawl:
        return 0
    if b"actions" not in fields:
        redis.do_del(orders, actions)
    number = int(fields.get(b"actions", b"0").split()[0]) + 1
    for order, value in zip(changes[::2], changes[1::2], strict=True):
        if value:
            redis.hset_one(orders, order, value)
        else:
            redis.hdel(orders, order)
    redis.do_rpush(actions, b"%d %s %d %s" % (number, name, redis.time_ms(), action))
    redis.do_ltrim(actions, -int(length), -1)
    redis.hset(meta, actions=b"%d %s" % (number, name))
    return number


_BY_NAME: dict[str, Script] = {
    "JOIN": _join,
    "BEAT": _beat,
    "REMOVE": _remove,
    "STATE": _state,
    "SUM": lambda redis, keys, arguments: [],
    "TAKE": _take,
    "RELEASE": _release,
    "COMMIT": _commit,
    "APPEND": _append,
    "BEGIN": _begin,
    "ADD": _add,
    "SWITCH": _switch,
    "ORDER": _order,
}
#: Digest -> name and model of each script.
SCRIPTS: dict[str, tuple[str, Script]] = {
    scripts.digest(getattr(scripts, name)): (name, script) for name, script in _BY_NAME.items()
}
