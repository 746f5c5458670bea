"""Ranges of servers that move between processes, against dicts; what is loaded and removed is a range, no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawlproject.frontier import (
    BestPrefix,
    BreadthFirst,
    Dispatcher,
    Entry,
    Frontier,
    IllegalStepError,
    Measurement,
    Policy,
    Politeness,
)
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.storage.rocks import Changes, number_range
from crawlproject.storage.seen import DiskSeenStore
from tests.frontier.invariants import check

NO_WAIT = Politeness(mode="session", factor=0, min_delay=0, max_delay=0)
PARTS = 4  # partitions, numbered by the two highest bits of a server's number
SERVERS = 8  # number n is in partition n % PARTS

Rows = dict[str, dict[bytes, bytes]]
#: URL -> (its place among the server's URLs, quality): by quality, then by arrival.
Queue = dict[str, tuple[float, int]]


def key_of(server: int) -> str:
    return f"http://{server}.example"


def part_of(key: str) -> int:
    return int(key.removeprefix("http://").partition(".")[0]) % PARTS


def numbers_of(part: int) -> tuple[int, int]:
    return part << 30, part + 1 << 30


class Central:
    """What outlives the workers: the rows of each partition, its arrival numbers and its next server."""

    def __init__(self) -> None:
        self.rows: list[Rows] = [{} for _ in range(PARTS)]
        self.arrivals: list[tuple[int, int] | None] = [None] * PARTS
        self.servers = [0] * PARTS


class Worker:
    """One process, with the partitions that it owns."""

    def __init__(self, folder: Path, policy: type[Policy], central: Central) -> None:
        self.central = central
        self.owned: set[int] = set()
        self.strangers: set[str] = set()  # servers of partitions that it did not own when it heard of them
        self.frontier = Frontier(policy(), NO_WAIT, max_batch=1)
        self.dispatcher = Dispatcher(self.frontier, 4)
        self.store = DiskStore.scratch(folder, StoreLabel("web", "quality" if policy.by_quality else "arrival"))
        self.servers = DiskFrontierStore(self.store, 0.0, indexed=True, number_of=self.number_of)
        self.servers.load(self.frontier, 0.0)
        self.seen = DiskSeenStore(self.store)

    def number_of(self, key: str) -> int | None:
        part = part_of(key)
        if part not in self.owned:
            self.strangers.add(key)
            return None
        self.central.servers[part] += 1
        return (part << 30) + self.central.servers[part] * 1000

    def commit(self) -> None:
        changes: Changes = {}
        self.store.commit(changes)
        assert "places" not in changes
        for table, rows in changes.items():
            for key, value in rows.items():
                if table == "state":
                    continue
                stored = self.central.rows[key[0] >> 6].setdefault(table, {})
                if value is None:
                    stored.pop(key, None)
                else:
                    stored[key] = value
        for part in self.owned:
            self.central.arrivals[part] = self.frontier.arrivals

    def take(self, part: int) -> None:
        rows = self.central.rows[part]
        self.store.load({table: rows.get(table, {}).items() for table in ("urls", "servers", "lengths")})
        self.seen.load(rows.get("seen", {}).items())
        if (arrivals := self.central.arrivals[part]) is not None:
            self.frontier.raise_arrivals(*arrivals)
        for _ in self.servers.load_range(*numbers_of(part), now=self.frontier.queue.now):
            check(self.frontier)
        for key in [key for key in self.strangers if part_of(key) == part]:  # as ``workers.local`` does
            self.strangers.discard(key)
            if self.frontier.server(key) is not None and self.servers.number(key) is None:
                self.frontier.remove(key)
        self.owned.add(part)

    def leave(self, part: int) -> None:
        self.owned.discard(part)
        for server in self.servers.servers_in(*numbers_of(part)):
            self.dispatcher.hold(server.key, self.frontier.queue.now)
        for _ in self.servers.unload_range(*numbers_of(part)):
            check(self.frontier)
        for _ in self.seen.drop(part << 94, part + 1 << 94):
            pass
        for table in ("urls", "places", "servers", "lengths", "seen"):
            assert list(self.store.scan(table, *number_range(*numbers_of(part)))) == []


class Model:
    """Two workers, and a dict of the URLs that each partition must have; ``stored``: as of its last commit."""

    def __init__(self, folder: Path, policy: type[Policy]) -> None:
        self.by_quality = policy.by_quality
        self.central = Central()
        self.workers = [Worker(folder / str(number), policy, self.central) for number in range(2)]
        self.queued: list[dict[str, Queue]] = [{} for _ in range(PARTS)]
        self.handed_out: list[dict[str, Queue]] = [{} for _ in range(PARTS)]
        self.seen: list[set[int]] = [set() for _ in range(PARTS)]
        self.stored: list[tuple[dict[str, Queue], set[int]]] = [({}, set()) for _ in range(PARTS)]
        self.serial = self.returned = 0
        self.now = 0.0
        for part in range(PARTS):
            self.workers[part % 2].take(part)

    def owner(self, part: int) -> Worker:
        return next(worker for worker in self.workers if part in worker.owned)

    def push(self, server: int, quality: float, count: int) -> None:
        key, part = key_of(server), server % PARTS
        urls = [f"{key}/{self.serial + number}" for number in range(count)]
        keys = [part << 94 | (self.serial + number) % 50 for number in range(count)]
        self.owner(part).frontier.push(Entry(url, quality) for url in urls)
        for seen, is_new in zip(keys, self.owner(part).seen.add_new(keys), strict=True):
            assert is_new == (seen not in self.seen[part])
            self.seen[part].add(seen)
        for url in urls:
            self.serial += 1
            self.queued[part].setdefault(key, {})[url] = (quality, self.serial)

    def rise(self, server: int, pick: int) -> None:
        part = server % PARTS
        queue = self.queued[part].get(key_of(server))
        if queue:
            url = sorted(queue)[pick % len(queue)]
            self.owner(part).frontier.raise_quality([(url, 0.5)])
            queue[url] = (queue[url][0] + 0.5, queue[url][1])

    def fetch(self, worker: int, then: str) -> None:
        """One URL: the best of its server, whoever had it before."""
        frontier = self.workers[worker].frontier
        self.now += 1.0
        session = frontier.open_session(self.now)
        owned = self.workers[worker].owned
        if session is None:
            assert not any(queue for part in owned for queue in self.queued[part].values())
            return
        key, part = session.server.key, part_of(session.server.key)
        entry = frontier.next_url(session, self.now)
        queue = self.queued[part][key]
        assert entry is not None
        assert entry.url == min(queue, key=lambda url: (-queue[url][0] if self.by_quality else 0, queue[url][1]))
        if then == "give back":
            self.returned -= 1
            queue[entry.url] = (queue[entry.url][0], self.returned)
            frontier.give_back(session, entry)
        else:
            self.handed_out[part].setdefault(key, {})[entry.url] = queue.pop(entry.url)
            frontier.record(Measurement(key, self.now, status=200, response_time=0.1, fetch_time=0.1))
        if then == "acknowledge":
            frontier.acknowledge(entry)
            del self.handed_out[part][key][entry.url]
        frontier.close_session(session, self.now)

    def commit(self, worker: int) -> None:
        self.workers[worker].commit()
        for part in self.workers[worker].owned:
            queues = {key: dict(queue) for key, queue in self.queued[part].items()}
            for key, queue in self.handed_out[part].items():
                queues.setdefault(key, {}).update(queue)
            self.stored[part] = (queues, set(self.seen[part]))

    def stray(self, server: int) -> None:
        """A late answer reaches a worker that does not own the server."""
        for worker in self.workers:
            if server % PARTS not in worker.owned:
                worker.frontier.record(Measurement(key_of(server), self.now, status=200, fetch_time=0.1))

    def move(self, part: int, *, lost: bool) -> None:
        """Give a partition to the other worker; ``lost``: without the changes since the last commit."""
        giver = self.owner(part)
        if not lost:
            self.commit(self.workers.index(giver))
        giver.leave(part)
        next(worker for worker in self.workers if worker is not giver).take(part)
        queues, seen = self.stored[part]
        self.queued[part] = {key: dict(queue) for key, queue in queues.items()}
        self.seen[part] = set(seen)
        self.handed_out[part] = {}

    def check(self) -> None:
        for worker in self.workers:
            check(worker.frontier)
            parts = worker.owned
            assert len(worker.frontier) == sum(len(queue) for part in parts for queue in self.queued[part].values())
            assert len(worker.seen) == sum(len(self.seen[part]) for part in parts)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, SERVERS - 1), st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 30)),
        st.tuples(st.just("rise"), st.integers(0, SERVERS - 1), st.integers(0, 99)),
        st.tuples(st.just("fetch"), st.integers(0, 1), st.sampled_from(["acknowledge", "give back", "wait"])),
        st.tuples(st.just("commit"), st.integers(0, 1)),
        st.tuples(st.just("move"), st.integers(0, PARTS - 1), st.booleans()),
        st.tuples(st.just("stray"), st.integers(0, SERVERS - 1)),
    ),
    min_size=5,
    max_size=40,
)


#: URLs pushed after a move come after those of the other worker, though it had numbered fewer.
FEWER = [("push", 0, 1.0, 30), ("move", 0, False), ("push", 0, 1.0, 3), ("fetch", 1, "give back")]
#: URLs pushed before a move are found after it.
FOUND = [("push", 0, 0.5, 3), ("move", 0, False), ("rise", 0, 2), ("move", 0, True), ("rise", 0, 1)]
#: Two servers of one worker have URLs with the same sort key, one committed, one not.
EQUAL = [
    *[("push", 0, 0.5, 2), ("push", 1, 0.5, 2), ("move", 0, False), ("fetch", 1, "wait"), ("rise", 1, 0)],
    *[("rise", 0, 0), ("commit", 1), ("rise", 0, 1), ("fetch", 1, "acknowledge"), ("fetch", 1, "acknowledge")],
]

#: A server of which a worker has heard before it owns its partition, where it is new.
STRANGER = [("stray", 0), ("move", 0, False), ("push", 0, 0.0, 1), ("move", 0, False)]


@settings(max_examples=25, deadline=None)
@example(policy=BestPrefix, steps=STRANGER)
@example(policy=BestPrefix, steps=FEWER)
@example(policy=BreadthFirst, steps=FEWER)
@example(policy=BestPrefix, steps=FOUND)
@example(policy=BestPrefix, steps=EQUAL)
@given(policy=st.sampled_from([BestPrefix, BreadthFirst]), steps=STEPS)
def test_partitions_move_between_workers(policy: type[Policy], steps: list[tuple]) -> None:
    """Each server's URLs stay in order, over moves and lost partitions, and a partition has what was committed."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        model = Model(Path(folder), policy)
        for worker in model.workers:
            stack.callback(worker.store.close)
        for name, *args in steps:
            if name == "move":
                model.move(args[0], lost=args[1])
            else:
                getattr(model, name)(*args)
            model.check()
        for number in (0, 1):
            while len(model.workers[number].frontier):
                model.fetch(number, "acknowledge")


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    """It owns partition 3, the last one, and has three URLs of one server there."""
    worker = Worker(tmp_path / "scratch", BestPrefix, Central())
    worker.take(3)
    worker.frontier.push(Entry(f"{key_of(3)}/{number}") for number in range(3))
    yield worker
    worker.store.close()


@pytest.mark.parametrize("committed", [False, True])
def test_a_server_with_a_session_cannot_be_unloaded(worker: Worker, committed: bool) -> None:
    """Held, it can once the session has ended; its number is listed until then."""
    start = worker.dispatcher.next(1.0)
    assert start is not None
    if committed:
        worker.store.commit()
    (number,) = worker.servers.numbers(worker.dispatcher.served())
    assert worker.servers.server(number) is start.session.server
    with pytest.raises(IllegalStepError, match="it has a session"):
        worker.leave(3)
    worker.dispatcher.abandon(start.session, 1.0)
    worker.leave(3)
    assert worker.servers.numbers(worker.dispatcher.served()) == []
    assert worker.servers.count == len(worker.frontier) == 0
    assert worker.servers.server(number) is None


def test_what_is_still_known_of_an_unloaded_server_reaches_no_store(worker: Worker) -> None:
    """A page judged after its server has left, an answer that was late: nothing is committed, nothing fails."""
    server = worker.frontier.servers[key_of(3)]
    worker.leave(3)
    worker.frontier.servers.changed(server)
    worker.frontier.record(Measurement(key_of(3), 1.0, 429, retry_after=60.0))
    changes: Changes = {}
    worker.store.commit(changes)
    assert changes.keys() <= {"state"}
    assert worker.servers.number(key_of(3)) is None
    assert worker.frontier.counts()["servers"] == 1  # in memory
    worker.take(3)
    assert worker.frontier.counts()["servers"] == 0  # the partition was never committed


def test_a_polite_wait_learned_meanwhile_is_kept(worker: Worker) -> None:
    """By a request to the server while another worker had it."""
    worker.commit()
    worker.leave(3)
    worker.frontier.record(Measurement(key_of(3), 1.0, 429, retry_after=60.0))
    worker.take(3)
    server = worker.frontier.servers[key_of(3)]
    assert server.ready_at == pytest.approx(61.0)
    assert len(server.urls) == 3
    assert worker.servers.number(key_of(3)) is not None


def test_loading_goes_in_steps(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few servers in each, and few URLs while they are indexed; each step tells its servers."""
    monkeypatch.setattr("crawlproject.storage.frontier_state.SERVERS_AT_ONCE", 2)
    monkeypatch.setattr("crawlproject.storage.frontier_state.ROWS_AT_ONCE", 3)
    worker.frontier.push(Entry(f"{key_of(3 + 4 * number)}/x") for number in range(1, 5))
    worker.commit()
    worker.leave(3)
    rows = worker.central.rows[3]
    worker.store.load({table: rows[table].items() for table in ("urls", "servers", "lengths")})
    steps = [[server.key for server in step] for step in worker.servers.load_range(*numbers_of(3), now=0.0)]
    assert list(map(len, steps)) == [0, 0, 0, 2, 2, 1]
    assert {key for step in steps for key in step} == {server.key for server in worker.frontier.servers}
    assert len(list(worker.servers.unload_range(*numbers_of(3)))) == 3


def test_a_scan_shows_the_rows_of_its_start(tmp_path: Path) -> None:
    """Whatever is committed or dropped before it is read; keys of other ranges are not in it."""
    with DiskStore.scratch(tmp_path / "scratch", StoreLabel("web", "quality")) as store:
        rows = [(bytes([number]) * 5, b"%d" % number) for number in range(10)]
        store.load({"urls": rows})
        scan = store.scan("urls", rows[2][0], rows[5][0])
        store.load({"urls": [(rows[2][0] + b"x", b"new"), (rows[4][0], b"changed")]})
        store.drop([("urls", rows[3][0], rows[9][0])])
        assert list(scan) == rows[2:5]
        assert [key for key, _ in store.scan("urls", b"", b"\xff")] == [
            *[key for key, _ in rows[:3]],
            rows[2][0] + b"x",
            rows[9][0],
        ]
