"""A frontier on disk against one in memory, also over restarts."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.frontier import BestPrefix, BreadthFirst, Entry, Frontier, Measurement, Policy, Politeness, Session
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.errors import StoreError
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.storage.rocks import Batch
from tests.frontier.invariants import check

SERVERS = [f"http://{name}.example" for name in "abc"]
POLITENESS = Politeness(mode="session", factor=1, min_delay=0, max_delay=5)


class OnDisk:
    """A frontier in a folder, that can be closed and opened again."""

    def __init__(self, folder: Path, policy: type[Policy] = BestPrefix, offset: float = 1000.0) -> None:
        self.folder, self.policy = folder, policy
        self.open(offset)

    def open(self, offset: float = 1000.0, now: float = 0.0) -> None:
        self.store = DiskStore(self.folder, StoreLabel("web", "quality" if self.policy.by_quality else "arrival"))
        try:
            self.frontier = Frontier(self.policy(), POLITENESS, max_batch=20, max_failures=3)
            DiskFrontierStore(self.store, offset, indexed=True).load(self.frontier, now)
        except StoreError:
            self.store.close()
            raise

    def reopen(self, offset: float = 1000.0, now: float = 0.0) -> None:
        self.store.close()
        self.open(offset, now)


def fetch(frontier: Frontier, now: float, *, failed: bool = False, acknowledge: bool = True) -> str | None:
    session = frontier.open_session(now)
    if session is None:
        return None
    url = step(frontier, session, now, failed=failed, acknowledge=acknowledge)
    frontier.close_session(session, now + 0.1)
    return url


def step(frontier: Frontier, session: Session, now: float, *, failed: bool, acknowledge: bool) -> str | None:
    entry = frontier.next_url(session, now)
    if entry is None:
        return None
    if acknowledge:
        frontier.acknowledge(entry)
    status = None if failed else 200
    answer = Measurement(
        session.server.key, now + 0.1, status, failed, connect_time=0.1, response_time=0.1, fetch_time=0.1
    )
    frontier.record(answer)
    return entry.url


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, 2), st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 40)),
        st.tuples(st.just("fetch"), st.booleans(), st.booleans()),
        st.tuples(st.just("raise"), st.integers(0, 2), st.integers(0, 60), st.floats(0.1, 1)),
        st.tuples(st.just("give back")),
        st.tuples(st.just("commit")),
        st.tuples(st.just("drop")),
        st.tuples(st.just("reopen")),
    ),
    max_size=40,
)


class Both:
    """The same steps on a frontier on disk and one in memory."""

    def __init__(self, folder: Path, policy: type[Policy]) -> None:
        self.disk = OnDisk(folder, policy)
        self.memory = Frontier(policy(), POLITENESS, max_batch=20, max_failures=3)
        self.serial = 0
        self.now = 0.0
        self.unacknowledged = 0

    @property
    def frontiers(self) -> list[Frontier]:
        return [self.disk.frontier, self.memory]

    def push(self, server: int, quality: float, count: int) -> None:
        urls = [f"{SERVERS[server]}/{self.serial + i}" for i in range(count)]
        self.serial += count
        for frontier in self.frontiers:
            frontier.push([Entry(url, quality) for url in urls], SERVERS[server - 1])

    def fetch(self, failed: bool, acknowledge: bool) -> None:
        before = len(self.memory)
        urls = [fetch(frontier, self.now, failed=failed, acknowledge=acknowledge) for frontier in self.frontiers]
        assert urls[0] == urls[1]
        self.unacknowledged += (urls[0] is not None) * (not acknowledge)
        self.now += 0.5
        assert before >= len(self.memory)

    def raise_(self, server: int, number: int, gain: float) -> None:
        for frontier in self.frontiers:
            frontier.raise_quality([(f"{SERVERS[server]}/{number}", gain)])

    def give_back(self) -> None:
        for frontier in self.frontiers:
            session = frontier.open_session(self.now)
            if session is not None:
                entry = frontier.next_url(session, self.now)
                if entry is not None:
                    frontier.give_back(session, entry)
                frontier.close_session(session, self.now)

    def drop(self) -> None:
        dropped = [frontier.drops.take() for frontier in self.frontiers]
        for entry in dropped[0]:
            self.disk.frontier.acknowledge(entry)
        assert sorted(e.url for e in dropped[0]) == sorted(e.url for e in dropped[1])

    def commit(self) -> None:
        self.disk.store.commit()

    def reopen(self) -> None:
        """What was dealt with is gone, nothing else; what is known of the servers is known again."""
        self.drop()
        self.commit()
        for frontier in self.frontiers:  # a server's bonus is looked up when it is ranked, as a restart does for all
            for server in frontier.servers:
                frontier._expectations.update(server)
            frontier._rank_again()
        old = self.disk.frontier
        self.disk.reopen(now=self.now)
        new = self.disk.frontier
        assert len(new) == len(old) + self.unacknowledged
        for server in old.servers:
            again = new.server(server.key)
            assert again is not None
            assert (again.limit, again.page_time, again.bonus) == (server.limit, server.page_time, server.bonus)
            assert again.failures == server.failures
            assert again.given_up == server.given_up
            assert again.ready_at == pytest.approx(server.ready_at)


@settings(max_examples=25, deadline=None)
@given(policy=st.sampled_from([BestPrefix, BreadthFirst]), steps=STEPS)
def test_frontier_on_disk_behaves_like_the_one_in_memory(policy: type[Policy], steps: list[tuple]) -> None:
    """The same URLs in the same order, up to the first restart; after it nothing is lost and nothing comes back."""
    with TemporaryDirectory() as folder:
        both = Both(Path(folder), policy)
        names = {"give back": "give_back", "raise": "raise_"}
        for name, *args in steps:
            getattr(both, names.get(name, name))(*args)
            check(both.disk.frontier)
            if name == "reopen":
                break
        both.disk.store.close()


@pytest.fixture
def disk(tmp_path: Path) -> OnDisk:
    """A frontier of ten URLs on each of three servers, nothing committed."""
    disk = OnDisk(tmp_path)
    disk.frontier.push(Entry(f"{server}/{i}", i / 10, depth=2) for server in SERVERS for i in range(10))
    return disk


def test_a_url_in_flight_is_queued_again(disk: OnDisk) -> None:
    """Only what was acknowledged is gone; the order is as before."""
    first = fetch(disk.frontier, 0.0, acknowledge=False)
    second = fetch(disk.frontier, 0.0)
    disk.store.commit()
    disk.reopen()
    assert len(disk.frontier) == 29
    urls = [fetch(disk.frontier, 100.0 + i) for i in range(29)]
    assert first in urls
    assert second not in urls
    assert len(set(urls)) == 29
    disk.store.close()


def test_rest_goes_on_by_the_wall_clock(disk: OnDisk) -> None:
    """A server that rests until 30 s: after a restart 10 s later, with a clock that starts at 0, until 20 s."""
    session = disk.frontier.open_session(0.0)
    disk.frontier.next_url(session, 0.0)
    disk.frontier.record(Measurement(session.server.key, 0.0, 429, retry_after=30.0))
    disk.store.commit()
    disk.reopen(offset=1010.0)
    assert disk.frontier.server(session.server.key).ready_at == pytest.approx(20.0)
    disk.store.commit()
    disk.reopen(offset=-1e9)  # a wall clock that was wrong
    assert disk.frontier.server(session.server.key).ready_at == pytest.approx(300.0)
    disk.store.close()


def test_every_run_tries_a_server_that_has_never_answered(disk: OnDisk) -> None:
    """Its rest is cut to what a run waits for it, its failures are counted on."""
    for _ in range(2):
        disk.frontier.servers.robots_failed(SERVERS[0], 0.0, 300.0)
    disk.frontier.record(Measurement(SERVERS[1], 0.0, 404))
    disk.frontier.servers.robots_failed(SERVERS[1], 0.0, 300.0)
    disk.store.commit()
    disk.reopen(now=1.0)
    servers = disk.frontier.servers
    assert [(servers[key].ready_at, servers[key].robots_failures) for key in SERVERS[:2]] == [(31.0, 2), (300.0, 1)]
    disk.store.close()


@pytest.mark.parametrize(
    ("table", "key", "record", "error"),
    [
        ("servers", b"\0\0\0\1", {"failures": "x"}, "the record of http://b.example .*failures='x'"),
        ("servers", b"\0\0\0\1", {"ready_at": None}, "the record of http://b.example .*"),
        ("servers", b"\0\0\0\1", None, "the record of a server .*"),
        ("state", b"frontier", {"learned": 5}, "the state learned from all servers "),
    ],
)
def test_a_damaged_record(disk: OnDisk, table: str, key: bytes, record: dict | None, error: str) -> None:
    """One line that names store, server and value; the store is not changed."""
    disk.store.commit()
    rocks = disk.store.rocks
    batch = Batch(rocks)
    whole = json.loads(rocks.get(table, key) or b"")
    batch.put(table, key, b"{oops" if record is None else json.dumps(whole | record).encode())
    rocks.write(batch)
    disk.store.close()
    for _ in range(2):
        with pytest.raises(StoreError, match=rf"{disk.folder}: damaged: {error}") as raised:
            disk.open()
        assert "\n" not in str(raised.value)


def test_servers_keep_their_numbers(disk: OnDisk) -> None:
    """A server met after a restart does not get another one's URLs."""
    disk.store.commit()
    disk.reopen()
    disk.frontier.push([Entry("http://new.example/1", 9.0)])
    assert fetch(disk.frontier, 0.0) == "http://new.example/1"
    disk.store.commit()
    disk.reopen()
    assert len(disk.frontier) == 30
    check(disk.frontier)
    disk.store.close()
