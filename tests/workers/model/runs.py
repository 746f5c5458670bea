"""Whole crawls with random faults: each run follows from its seed and the kinds of its faults."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any
from unittest import mock

from crawlproject.workers import blobs, control, lease, loading, outbox, part, receiver, shares, worker, writer
from crawlproject.workers.control import Control, call
from crawlproject.workers.holdings import Holdings, WorkerOptions
from crawlproject.workers.keys import Keys
from crawlproject.workers.loading import write_snapshot
from crawlproject.workers.outbox import Outbox
from crawlproject.workers.partitions import Partitions
from crawlproject.workers.scripts import JOIN
from crawlproject.workers.worker import Worker
from tests.workers.model.crawl import ModelCopy, ModelCrawl
from tests.workers.model.network import Chances, Client, Server
from tests.workers.model.operator import Obeyed, Operator
from tests.workers.model.redis_model import RedisModel, commits_of
from tests.workers.model.simulation import Process, Simulation
from tests.workers.model.web import Observer, Web

KEYS = Keys("web")
CRAWL = "c1"
PARTITIONS = 8
WORKERS = 5
SERVERS = 20
PAGES = 14
#: Shared by all processes: it only computes.
OF = Partitions(PARTITIONS)
#: Faults happen between these times.
FIRST, LAST = 5.0, 60.0
#: The crawl must have ended by then.
END = 400.0
#: Redis loses the writes of so many seconds, at most.
MAX_LOST = 2.5


@dataclass(frozen=True)
class Faults:
    """Mean seconds between two faults of a kind (0: there are none), and probabilities for each call."""

    kill: float = 0.0
    pause: float = 0.0
    leave: float = 0.0
    join: float = 0.0
    #: One worker does not reach Redis.
    cut_off: float = 0.0
    #: Nobody reaches Redis.
    down: float = 0.0
    stall: float = 0.0
    restart: float = 0.0
    #: Restarts lose writes.
    loses: bool = False
    #: A replica takes over, without the last writes.
    fail_over: float = 0.0
    #: Redis's clock is set forward or back.
    clock: float = 0.0
    #: All workers leave at once, some after a short pause; others continue later.
    stop: float = 0.0
    calls: Chances = field(default_factory=Chances)
    #: The operator gives an order at some console.
    order: float = 0.0
    #: Links of a page that lead nowhere new.
    repeats: int = 2


_CALLS = Chances(lose_request=0.02, lose_answer=0.03, split=0.3, slow=0.02)

FAULTS = {
    "none": Faults(),
    "kills": Faults(kill=6.0, calls=Chances(split=0.5)),
    "pauses": Faults(pause=6.0),
    "calls": Faults(calls=Chances(lose_request=0.06, lose_answer=0.1, split=0.5, slow=0.05)),
    "churn": Faults(leave=5.0, join=5.0),
    "stops": Faults(stop=8.0, leave=20.0, join=10.0, calls=Chances(split=0.3)),
    "stops and calls": Faults(stop=8.0, join=10.0, calls=_CALLS),
    "deaf": Faults(stop=5.0, leave=5.0, join=5.0, clock=20.0, calls=Chances(slow=0.1, deaf=0.7)),
    "cuts": Faults(cut_off=6.0, calls=Chances(split=0.2)),
    "away": Faults(down=15.0, stall=15.0, kill=20.0),
    "restarts": Faults(restart=10.0, kill=12.0, calls=_CALLS),
    "all but losses": Faults(25.0, 20.0, 25.0, 25.0, 25.0, 40.0, 40.0, 40.0, loses=False, calls=_CALLS),
    "losses": Faults(restart=10.0, loses=True),
    "losses and kills": Faults(restart=10.0, kill=10.0, loses=True, calls=Chances(split=0.5)),
    "losses and churn": Faults(restart=8.0, loses=True, leave=4.0, join=4.0),
    "fail-over": Faults(fail_over=8.0, leave=5.0, join=5.0, kill=15.0),
    "losses in a row": Faults(
        restart=3.0, loses=True, leave=4.0, join=3.0, kill=8.0, calls=Chances(split=0.3), repeats=0
    ),
    "fail-overs in a row": Faults(
        fail_over=4.0, leave=3.0, join=3.0, kill=8.0, pause=15.0, calls=Chances(split=0.3, slow=0.05), repeats=0
    ),
    "heirs": Faults(pause=5.0, kill=10.0, leave=4.0, join=3.0, calls=Chances(slow=0.3)),
    "all": Faults(25.0, 20.0, 25.0, 25.0, 25.0, 40.0, 40.0, 25.0, loses=True, calls=_CALLS),
    "clocks": Faults(clock=8.0, leave=10.0, join=8.0, kill=12.0, pause=20.0, calls=Chances(split=0.2, slow=0.1)),
    "orders": Faults(25.0, 12.0, 20.0, 20.0, 15.0, 40.0, 25.0, 30.0, calls=_CALLS, order=2.0),
    "orders and losses": Faults(25.0, 20.0, 20.0, 20.0, restart=10.0, loses=True, calls=Chances(split=0.5), order=2.0),
}


class Run:
    """One crawl. ``errors``: what must not be, empty if all is well."""

    def __init__(self, kind: str, seed: int) -> None:
        self.kind, self.seed = kind, seed
        self.faults = FAULTS[kind]
        self.counts: Counter[str] = Counter()
        self.simulation = simulation = Simulation(seed)
        random = simulation.random
        self._options = WorkerOptions(
            crawl=CRAWL,
            partitions=PARTITIONS,
            interval=random.choice([0.5, 1.0, 1.0]),
            lease=random.choice([4.0, 6.0, 6.0, 15.0]),
            download_timeout=random.choice([3.0, 8.0]),
            keep_running=False,
        )
        self._timeout = random.choice([1.0, 2.0, 5.0])
        self._is_one_machine = random.random() < 0.5
        self._kept = random.choice([30.0, 30.0, 1.0])
        self.redis = RedisModel(lambda: simulation.now)
        self.server = Server(simulation, self.redis, Chances())
        self.web = Web(random, SERVERS, PAGES, self._options.download_timeout, self.faults.repeats)
        self.observer = Observer(simulation, self.web)
        self.observer.is_done = lambda page: b"%d" % page in self.redis.data.get("done", {})
        self.redis.observe = self._observe
        simulation.failed = self.observer.error
        self.operator = (
            Operator(simulation, self.redis, KEYS.orders, self._options.lease, self.observer)
            if self.faults.order
            else None
        )
        self._crawls: list[tuple[Process, ModelCrawl, Client]] = []
        self._workers = 0

    @property
    def errors(self) -> list[str]:
        return self.observer.errors

    def run(self) -> Run:
        """Until all workers have ended."""
        with self._patched():
            for number in range(WORKERS):
                self._start(self.web.seeds if number < 2 else [])
            self._schedule()
            try:
                has_ended = self.simulation.run(END, self._is_over)
            finally:
                for process, _, _ in self._crawls:
                    process.kill()
        if not has_ended:
            self.observer.error("the crawl does not end")
        if missing := self._missing():
            self.observer.error(f"{len(missing)} pages were never fetched: {missing[:5]}")
        self.counts["refetched"] = sum(self.observer.fetched.values()) - len(self.observer.fetched)
        return self

    @property
    def interval(self) -> float:
        return self._options.interval

    def idle(self, seconds: float) -> int:
        """Round trips of one worker that waits for URLs for so long."""
        self._options = replace(self._options, keep_running=True)
        with self._patched():
            self._start([])
            process, crawl, _ = self._crawls[0]
            self.simulation.run(seconds, lambda: False)
            process.kill()
        return crawl.worker.control.calls

    def _is_over(self) -> bool:
        # after each event: what costs least, and is rarely true, comes first
        return self.simulation.now > LAST and self._state() == b"ended" and not self._live()

    def _state(self) -> bytes:
        return self.redis.hash_of(KEYS.meta).get(b"state", b"")

    # processes

    def _start(self, seeds: list[str]) -> None:
        simulation = self.simulation
        self._workers += 1
        process = Process(simulation, f"w{self._workers}", simulation.random.uniform(100.0, 1_000_000.0))
        client = Client(process, self.server)
        self._crawls.append((process, self._crawl(process, client, seeds), client))

    def _crawl(self, process: Process, client: Client, seeds: list[str]) -> ModelCrawl:
        self.simulation.current = process
        redis = self.redis
        copy, box = ModelCopy(self.web, OF, lambda: redis.time_ms() / 1000, redis.has_stepped), Outbox(OF)
        crawl = ModelCrawl(process, self.web, self.observer, copy, box, seeds)
        made = Control(client, KEYS, self._timeout)
        if self.operator is not None:
            crawl.operator, crawl.obeyed = self.operator, Obeyed(self.simulation, crawl.close, crawl.wake)
            crawl.obeyed.shared.open(made, CRAWL, crawl.wake)
        crawl.worker = Worker(Holdings(made, copy, box, crawl, self._options))
        self.simulation.current = None
        process.start(self._join_and_run(made, crawl))
        return crawl

    async def _join_and_run(self, made: Control, crawl: ModelCrawl) -> None:
        await made.commands([call(JOIN, [KEYS.meta], "crawl", CRAWL, "state", "running")])
        await crawl.run()

    def _live(self) -> list[tuple[Process, ModelCrawl, Client]]:
        return [row for row in self._crawls if row[0].is_alive]

    def _may_run(self, name: str, own: str) -> bool:
        """Half of the runs are on one machine, on which each process knows which others run."""
        number, own_number = (int(each.split(":")[1]) for each in (name, own))
        if number == own_number:
            return False
        return not self._is_one_machine or self._crawls[number - 1][0].is_alive

    # faults

    def _schedule(self) -> None:
        kinds: dict[str, Callable[[], None]] = {
            "kill": self._kill,
            "pause": self._pause,
            "leave": self._leave,
            "join": self._join,
            "stop": self._stop,
            "cut_off": self._cut_off,
            "down": self._down,
            "stall": self._stall,
            "restart": self._restart,
            "fail_over": self._fail_over,
            "clock": self._set_clock,
            "order": self._order,
        }
        for name, action in kinds.items():
            mean = getattr(self.faults, name)
            time = FIRST
            while mean and (time := time + self.simulation.random.expovariate(1 / mean)) < LAST:
                self.simulation.at(time, self._counted(name, action))
        self.simulation.at(FIRST, lambda: self._set_chances(self.faults.calls))
        self.simulation.at(LAST + 20.0, lambda: self._set_chances(Chances()))
        if self.operator is not None:
            for time in range(int(LAST), int(END), 2):
                self.simulation.at(float(time), self._undo)
        for time in range(10, int(END), 10):
            self.simulation.at(float(time), self._keep_alive)

    def _counted(self, name: str, action: Callable[[], None]) -> Callable[[], None]:
        def inner() -> None:
            self.counts[name] += 1
            self.simulation.note(f"-- {name}")
            action()

        return inner

    def _set_chances(self, chances: Chances) -> None:
        self.server.chances = chances

    def _order(self) -> None:
        assert self.operator is not None
        self._give(self.operator.next_order())

    def _undo(self) -> None:
        assert self.operator is not None
        if changes := self.operator.undo():
            self._give(changes)

    def _give(self, changes: Mapping[str, str | None]) -> None:
        one = self._one()
        if one is not None:
            process, crawl, _ = one
            self.simulation.note(f"at {process.name} the operator orders {changes}")
            process.give(crawl.give(changes))

    def _missing(self) -> list[str]:
        return self.observer.missing(frozenset() if self.operator is None else self.operator.blocked())

    def _keep_alive(self) -> None:
        """Start a worker if there is none and the crawl has not ended."""
        if not self._live() and self._state() != b"ended":
            self._start([])

    def _one(self) -> tuple[Process, ModelCrawl, Client] | None:
        rows = [row for row in self._live() if not row[0].is_paused]
        return self.simulation.random.choice(rows) if rows else None

    def _kill(self) -> None:
        one = self._one()
        if one is not None:
            self.simulation.note(f"{one[0].name} is killed")
            one[0].kill()
            self._join_later()

    def _join_later(self) -> None:
        self.simulation.after(self.simulation.random.uniform(0.0, 15.0), self._join)

    def _pause(self) -> None:
        one = self._one()
        if one is not None:
            random = self.simulation.random
            seconds = random.uniform(0.1, 3.0 * self._options.lease)
            self.simulation.note(f"{one[0].name} is paused for {seconds:.1f} s")
            one[0].pause()
            self.simulation.after(seconds, one[0].resume)

    def _leave(self) -> None:
        one = self._one()
        if one is not None:
            self.simulation.note(f"{one[0].name} leaves")
            one[0].call(one[1].close)
            self._join_later()

    def _stop(self) -> None:
        random = self.simulation.random
        for process, crawl, _ in self._live():
            seconds = random.choice([0.0, random.uniform(0.0, 2.0)])
            process.pause()
            self.simulation.after(seconds, process.resume)
            self.simulation.after(seconds, lambda process=process, crawl=crawl: process.call(crawl.close))  # type: ignore[misc]
        for _ in range(random.randint(1, WORKERS)):
            self._join_later()

    def _join(self) -> None:
        if len(self._live()) < WORKERS + 2:
            self._start([])

    def _cut_off(self) -> None:
        one = self._one()
        if one is not None:
            random, client = self.simulation.random, one[2]
            client.cut_off = random.choice(["error", "silence"])
            seconds = random.uniform(0.1, 3.0 * self._options.lease)
            self.simulation.note(f"{one[0].name} does not reach Redis for {seconds:.1f} s")
            self.simulation.after(seconds, lambda: setattr(client, "cut_off", ""))

    def _down(self) -> None:
        seconds = self.simulation.random.uniform(0.1, 2.0 * self._options.lease)
        for _, _, client in self._crawls:
            client.cut_off = "error"
            self.simulation.after(seconds, lambda client=client: setattr(client, "cut_off", ""))  # type: ignore[misc]

    def _stall(self) -> None:
        if not self.server.is_down:
            self.server.stall()
            self.simulation.after(self.simulation.random.uniform(0.1, 2.0 * self._options.lease), self.server.go_on)

    def _restart(self) -> None:
        random, server = self.simulation.random, self.server
        if server.is_down:
            return
        seconds = random.choice([random.uniform(0.01, 0.3), random.uniform(0.1, 1.5 * self._options.lease)])
        lost = random.uniform(0.0, MAX_LOST) if self.faults.loses and self.simulation.now > 8.0 else 0.0
        self.simulation.note(f"Redis restarts in {seconds:.1f} s, loses {lost:.1f} s")
        self.counts["losses"] += bool(lost)
        before = self.simulation.now
        server.stop()

        def again() -> None:
            server.start_again(lost + self.simulation.now - before if lost else 0.0)
            if self.operator is not None:
                self.operator.changed()
            self.simulation.note("Redis is up again")

        self.simulation.after(seconds, again)
        if self.faults.kill and random.random() < 0.6:
            self.simulation.after(seconds + random.uniform(-1.0, 3.0), self._counted("kill", self._kill))

    def _set_clock(self) -> None:
        random = self.simulation.random
        seconds = random.choice([-60.0, -10.0, -3.0, 3.0, 10.0, 60.0, 3600.0])
        self.simulation.note(f"Redis's clock is set by {seconds:+.0f} s")
        self.redis.step_clock(seconds)
        if random.random() < 0.5:  # one leaves, and another joins that cannot know of it
            one = self._one()
            if one is not None:
                one[0].call(one[1].close)
            self.simulation.after(random.uniform(0.0, 2.0), self._join)

    def _fail_over(self) -> None:
        """The primary is gone; its replica has been up for long, and lacks what was written last."""
        random, server = self.simulation.random, self.server
        if server.is_down or self.simulation.now < 8.0:
            return
        seconds, lost = random.uniform(0.01, 0.5 * self._options.lease), random.uniform(0.0, MAX_LOST)
        self.simulation.note(f"A replica takes over in {seconds:.1f} s, lacks {lost:.1f} s")
        before = self.simulation.now
        server.stop()

        def again() -> None:
            server.start_again(lost + self.simulation.now - before, is_replica=True)
            self.simulation.note("Redis is up again")

        self.simulation.after(seconds, again)

    # what Redis sees

    def _observe(self, name: str, keys: list[str], arguments: list[bytes], answer: Any) -> None:
        if name == "COMMIT":
            for result, (_, commit) in zip(answer, commits_of(keys, arguments), strict=True):
                if result == b"ok":
                    self._committed(commit[3])
        elif name == "ORDER" and self.operator is not None:
            self.operator.changed()
        elif name == "TAKE" and answer is not None:
            self._taken(keys[0], arguments)
        elif name == "STATE" and answer and arguments[1] == b"ended" and (missing := self._missing()):
            self.observer.error(f"the end is declared, {len(missing)} pages are missing: {missing[:5]}")

    def _committed(self, blob: bytes) -> None:
        _, tables = blobs.decode_journal(blob)
        for key, row in tables.get("urls", {}).items():
            page = b"%d" % int.from_bytes(key[4:], "big")
            if row is None:
                self.redis.hset_one("done", page, 1)

    def _taken(self, key: str, arguments: list[bytes]) -> None:
        """Epochs grow, as far as Redis does not lose writes."""
        epoch = int(arguments[2]) + 1
        last = int(self.redis.hash_of("epochs").get(key.encode(), 0))
        if epoch <= last:
            self.observer.error(f"{key}: epoch {epoch} after {last}")
        self.redis.hset_one("epochs", key.encode(), epoch)

    # the code under test

    async def _write_snapshot(self, *given: Any) -> bool:
        self.counts["snapshots"] += 1
        return await write_snapshot(*given)

    @contextmanager
    def _patched(self) -> Iterator[None]:
        """Virtual clocks and names; small limits, so that everything happens in a short crawl."""
        simulation = self.simulation
        clock = SimpleNamespace(clock_gettime=lambda _: simulation.boot_time(), CLOCK_BOOTTIME=0)
        numbers = iter(range(1, 10_000))

        def new_id() -> str:
            assert simulation.current is not None
            return f"elsewhere:{simulation.current.name[1:]}:0:{next(numbers)}"

        values = [
            (lease, "time", clock),
            (control, "new_id", new_id),
            (worker, "new_id", new_id),
            (shares, "may_run", self._may_run),
            (shares, "MAX_TAKEN", 3),
            (control, "ALL_BYTES", 300),
            (control, "IN_TIME", 150),
            (control, "ELEMENTS", 3),
            (loading, "ELEMENTS", 3),
            (control, "MESSAGES", 6),
            (control, "AT_ONCE", 1 + self.seed % 3),
            (receiver, "MAX_RECEIVED", 20),
            (receiver, "RECEIVED_AT_ONCE", 5),
            (outbox, "ENTRIES", 10),
            (writer, "write_snapshot", self._write_snapshot),
            (writer, "MAX_ROWS", 50_000 if self.seed % 3 else 6),
            (writer, "encode_journal", blobs.encode_journal if self.seed % 3 != 1 else _of_few_rows),
            (part, "SMALL_JOURNAL", 1_000),
            (writer, "KEPT", self._kept),
            (loading, "ROWS", 6),
            (loading, "SEEN_KEYS", 8),
        ]
        with ExitStack() as stack:
            for module, name, value in values:
                stack.enter_context(mock.patch.object(module, name, value))
            stack.enter_context(_traced(simulation))
            yield


def _of_few_rows(seq: int, tables: blobs.Tables) -> bytes:
    """A commit whose bytes are too many, now and then."""
    if sum(map(len, tables.values())) > 8:
        raise blobs.BlobError("too large")
    return blobs.encode_journal(seq, tables)


class _Traced(logging.Handler):
    def __init__(self, simulation: Simulation) -> None:
        super().__init__()
        self._simulation = simulation

    def emit(self, record: logging.LogRecord) -> None:
        self._simulation.note(record.getMessage())
        if record.exc_info:
            self._simulation.note(logging.Formatter().formatException(record.exc_info))


@contextmanager
def _traced(simulation: Simulation) -> Iterator[None]:
    """What the workers log goes into the trace only."""
    logger, handler = logging.getLogger("crawlproject.workers"), _Traced(simulation)
    logger.addHandler(handler)
    with mock.patch.object(logger, "propagate", new=False):
        try:
            yield
        finally:
            logger.removeHandler(handler)
