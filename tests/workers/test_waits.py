"""The wait of a server whose partition goes to another worker: never shorter, whatever the clocks show."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier, Measurement, Politeness
from crawlproject.storage.directory import StoreLabel
from crawlproject.workers.local import LocalCopy
from crawlproject.workers.partitions import Partitions

KEY = "http://www.a.com"


class Machine:
    """A worker's copy, on a clock that shows ``shown`` at time 0."""

    def __init__(self, folder: Path, shown: float, longest_rest: float = 0.0) -> None:
        self._shown, self._now = shown, 0.0
        self.partitions = Partitions(4)
        label = StoreLabel("web", "quality")
        frontier = Frontier(BestPrefix())
        self.copy = LocalCopy(
            frontier, self.partitions, folder, label, self._clock, indexed=False, longest_rest=longest_rest
        )

    def _clock(self) -> float:
        return self._shown + self._now

    def hear(self, *, sent: float, answered: float, read: float) -> None:
        """A beat, by the time; Redis's clock shows 1,000 at time 0."""
        self._now = read
        self.copy.follow_clock(int((1000.0 + answered) * 1000) / 1000, read - sent)

    def take(self, *commits: Mapping[int, Any]) -> None:
        """Take the partition, as ``commits`` of another worker have left it."""
        partition = self.partitions.of(KEY)
        for commit in commits:
            tables = commit[partition]
            self.copy.write({table: [(key, row) for key, row in rows.items() if row] for table, rows in tables.items()})
        for _ in self.copy.restore(partition, {}):
            pass

    def contacted(self, at: float, retry_after: float) -> None:
        """The server asks for a wait."""
        self._now = at
        self.copy.frontier.record(Measurement(KEY, self._clock(), 429, retry_after=retry_after))

    def fetched(self, at: float) -> None:
        self._now = at
        self.copy.frontier.record(Measurement(KEY, self._clock(), 200, fetch_time=0.1))

    def ready_at(self) -> float:
        return self.copy.frontier.servers[KEY].ready_at - self._shown


Make = Callable[..., Machine]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Make]:
    """Makes machines: name, time that the clock shows at time 0, longest rest."""
    with ExitStack() as stack:

        def make(name: str, *given: float) -> Machine:
            made = Machine(tmp_path / name, *given)
            stack.callback(made.copy.close)
            return made

        yield make


@pytest.mark.parametrize(
    ("sent", "answered", "read"),
    [(1.0, 1.0, 1.0), (1.0, 1.0009, 1.0009), (1.0, 1.0, 5.0), (1.0, 5.0, 5.0), (1.0, 3.0, 5.0)],
)
@pytest.mark.parametrize("is_slow_before", [True, False])
def test_a_wait_survives_a_slow_beat(
    machine: Make, sent: float, answered: float, read: float, *, is_slow_before: bool
) -> None:
    """The answer is under way, or waits for a busy or stopped process, for up to 4 s."""
    quick, slow = {"sent": 6.0, "answered": 6.0, "read": 6.0}, {"sent": sent, "answered": answered, "read": read}
    old, new = machine("old", 100.0), machine("new", 7.0)
    old.take()
    old.hear(**slow if is_slow_before else quick)
    old.contacted(at=7.0, retry_after=60.0)
    commit = old.copy.commit()
    new.hear(**quick if is_slow_before else slow)
    new.take(commit)
    assert 67.0 <= new.ready_at() + 1e-5 <= 67.0 + (read - sent) + 0.01


@pytest.mark.parametrize("step", [3600.0, -3600.0])
def test_a_wait_survives_that_redis_s_clock_is_set(machine: Make, step: float) -> None:
    """The owner of the server stores its rest again, by the new time."""
    old, new = machine("old", 100.0), machine("new", 7.0)
    old.hear(sent=1.0, answered=1.0, read=1.0)
    old.take()
    old.contacted(at=2.0, retry_after=60.0)
    commits = [old.copy.commit()]
    for one in (old, new):
        one.hear(sent=3.0, answered=3.0 + step, read=3.0)
    old.copy.clock_set(step)
    commits.append(old.copy.commit())
    new.take(*commits)
    assert new.ready_at() == pytest.approx(62.0, abs=0.01)


def test_a_worker_that_takes_a_partition_again_knows_the_waits_that_redis_does_not(machine: Make) -> None:
    """It was taken for dead, or Redis lost what it wrote; nobody has crawled the server since."""
    one = machine("one", 100.0)
    one.hear(sent=1.0, answered=1.0, read=1.0)
    one.take()
    one.fetched(at=2.0)
    commit = one.copy.commit()
    one.contacted(at=3.0, retry_after=60.0)
    partition = one.partitions.of(KEY)
    one.copy.close_partition(partition)
    for _ in one.copy.unload(partition):
        pass
    one.take(commit)
    assert one.ready_at() == pytest.approx(63.0, abs=0.01)


def test_a_rest_until_connections_are_closed_is_kept_when_the_partition_moves_again(machine: Make) -> None:
    """Also if it is longer than all polite waits."""
    old, new = machine("old", 100.0, 5000.0), machine("new", 7.0, 5000.0)
    for one in (old, new):
        one.hear(sent=1.0, answered=1.0, read=1.0)
    old.take()
    old.fetched(at=2.0)
    old.copy.frontier.servers.taken_over(KEY, 102.0, 4100.0)
    new.take(old.copy.commit())
    assert new.ready_at() == pytest.approx(4000.0, abs=0.1)


def test_a_delay_that_the_operator_has_set_is_kept(machine: Make) -> None:
    """Also if it is longer than all waits of the settings."""
    old, new = machine("old", 100.0), machine("new", 7.0)
    for one in (old, new):
        for _ in one.copy.frontier.servers.set_delay(KEY, 900.0, 0.0):
            pass
    old.hear(sent=1.0, answered=1.0, read=1.0)
    old.take()
    old.fetched(at=2.0)
    commit = old.copy.commit()
    new.hear(sent=2.5, answered=2.5, read=2.5)
    new.take(commit)
    assert new.ready_at() == pytest.approx(902.0, abs=0.1)


@pytest.mark.parametrize(
    ("politeness", "crawl_delay", "closed_at", "ready_at"),
    [
        (Politeness(), 30.0, None, 1030.0),
        (Politeness(), 30.0, 1180.0, 1180.0),
        (Politeness(), 400.0, None, 1300.0),  # max_crawl_delay
        (Politeness(request_delay=7.0), 0.0, None, 1007.0),
        (Politeness(mode="request", min_delay=3.0), 0.0, None, 1003.0),
        (Politeness(), 0.0, None, 1000.0),  # it had no session
        (Politeness(factor=100.0, max_delay=60.0), 0.0, 1000.0, 1060.0),  # it had one, of unknown length
    ],
)
def test_a_server_of_a_worker_that_died(
    politeness: Politeness, crawl_delay: float, closed_at: float | None, ready_at: float
) -> None:
    """It may have been contacted until the end of the lease, whatever its last commit says; a longer wait stays."""
    frontier = Frontier(BestPrefix(), politeness)
    frontier.push([Entry(f"{KEY}/{number}") for number in range(10)])
    frontier.servers.set_crawl_delay(KEY, crawl_delay)
    frontier.servers.taken_over(KEY, 1000.0, closed_at)
    server = frontier.servers[KEY]
    assert server.ready_at == ready_at
    server.ready_at = 2000.0
    frontier.servers.taken_over(KEY, 1000.0, closed_at)
    assert server.ready_at == 2000.0
