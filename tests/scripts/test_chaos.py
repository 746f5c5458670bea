"""A small crawl that is broken; the schedule of faults, with a crawl that only counts."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scripts.chaos import DEFAULTS, PAUSES, STANDSTILL, Chaos, Step, chaos_crawl, schedule
from testbed.web import Fault
from tests.crawl.workers import fork


class FakeCrawl:
    """Crew, Redis, line and clock: ten pages a second while Redis is there and a worker is awake."""

    def __init__(self, workers: int, pages: int) -> None:
        self.faults: list[Fault] = []
        self.did: list[tuple[str, int]] = []
        self.left = float(pages)
        self.total = pages
        self.alive = set(range(workers))
        self.paused: set[int] = set()
        self.started = workers
        self.now = 0.0
        self.broken = 0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.alive - self.paused and not self.broken:
            self.left -= 10 * seconds
        if self.left <= 0:
            self.alive &= self.paused

    def pages(self) -> int:
        return min(self.total, int(self.total - self.left))

    def running(self) -> list[int]:
        return sorted(self.alive)

    def add(self) -> int:
        self.did.append(("add", self.started))
        self.alive.add(self.started)
        self.started += 1
        return self.started - 1

    def kill(self, number: int | None = None) -> None:
        if number is None:
            self.broken += 1
            self.did.append(("redis", self.pages()))
            return
        self.did.append(("kill", number))
        self.alive.remove(number)
        self.paused.discard(number)

    def pause(self, number: int) -> None:
        assert number in self.alive - self.paused
        self.did.append(("pause", number))
        self.paused.add(number)

    def resume(self, number: int) -> None:
        self.did.append(("resume", number))
        self.paused.discard(number)

    def interrupt(self, number: int) -> None:
        self.did.append(("interrupt", number))
        self.alive.remove(number)

    def restart(self) -> None:
        self.broken -= 1

    def cut(self) -> None:
        self.did.append(("cut", self.pages()))
        self.broken += 1

    freeze = cut

    def heal(self) -> None:
        self.broken -= 1


def arguments(**changes: Any) -> Namespace:
    return Namespace(**{**DEFAULTS, "pages": 1000, **changes})


def chaos(crawl: FakeCrawl, steps: list[Step]) -> Chaos:
    return Chaos(crawl, crawl, crawl, steps, clock=crawl.clock, sleep=crawl.sleep, tell=lambda line: None)  # type: ignore[arg-type]


def test_schedule_depends_only_on_the_seed() -> None:
    """So many faults as asked for, in order of pages, none in the last pages."""
    steps = schedule(arguments(churn=2, frozen=7.0))
    assert steps == schedule(arguments(churn=2, frozen=7.0))
    assert steps != schedule(arguments(churn=2, frozen=7.0, seed=2))
    kinds = Counter(step.kind for step in steps)
    assert kinds == {"kill": 10, "pause": 5, "redis-kill": 3, "churn": 2, "away": 1, "frozen": 1}
    assert steps == sorted(steps)
    assert all(30 <= step.pages <= 900 for step in steps)
    assert {step.seconds for step in steps if step.kind == "frozen"} == {7.0}
    assert all(PAUSES[0] <= step.seconds <= PAUSES[1] for step in steps if step.kind == "pause")


def test_every_fault_happens_and_ends() -> None:
    """Killed and interrupted workers are replaced, paused ones resumed, Redis is there at the end."""
    crawl = FakeCrawl(workers=4, pages=1000)
    broken = chaos(crawl, schedule(arguments(churn=3, frozen=2.0)))
    assert broken.run() == ""
    did = Counter(name for name, _ in crawl.did)
    assert did == {"kill": 10, "add": 13, "pause": 5, "resume": 5, "redis": 3, "cut": 2, "interrupt": 3}
    assert (crawl.broken, crawl.paused, crawl.pages()) == (0, set(), 1000)
    assert Counter(fault.kind for fault in broken.faults) == {"redis-kill": 3, "away": 1, "frozen": 1}
    away = next(fault for fault in broken.faults if fault.kind == "away")
    assert away.end - away.start >= 60
    assert broken.done == 23


def test_worker_that_was_interrupted_is_left_alone() -> None:
    """It may take long to leave; the others are killed, paused and interrupted meanwhile, and named in the output."""

    class Slow(FakeCrawl):
        def interrupt(self, number: int) -> None:
            self.did.append(("interrupt", number))

    crawl, lines = Slow(workers=2, pages=200), list[str]()
    broken = chaos(crawl, [Step(10, "churn", 0.0)] + [Step(20 + n, ("kill", "pause")[n % 2], 1.0) for n in range(60)])
    broken.tell = lines.append
    assert broken.run() == ""
    ((_, leaving),) = [each for each in crawl.did if each[0] == "interrupt"]
    assert leaving not in [number for what, number in crawl.did if what in ("kill", "pause")]
    assert f"churn worker {leaving} " in lines[0]


def test_redis_has_one_trouble_at_a_time() -> None:
    """A kill while it is away waits until it is back."""
    crawl = FakeCrawl(workers=1, pages=100)
    broken = chaos(crawl, [Step(10, "away", 5.0), Step(10, "redis-kill", 1.0)])
    assert broken.run() == ""
    away, kill = broken.faults
    assert away.end <= kill.start


def test_crawl_that_stands_still_is_given_up() -> None:
    """All its workers wait for something."""
    crawl = FakeCrawl(workers=1, pages=100)
    crawl.broken = 1
    assert chaos(crawl, []).run() == f"no new page for {STANDSTILL:g} s"


def test_crawl_that_ends_before_its_faults_has_failed() -> None:
    """Nothing was tested then."""
    crawl = FakeCrawl(workers=1, pages=10)
    assert chaos(crawl, [Step(20, "kill", 1.0)]).run().startswith("the crawl ended before 1 of the faults")


@pytest.mark.long
def test_small_crawl_loses_no_page(redis_program: Path, tmp_path: Path) -> None:
    """Two workers, one of which is killed and replaced, and Redis, which is killed and started again."""
    chosen = {"workers": 2, "servers": 12, "pages": 120, "kill": 1, "pause": 0, "redis_kill": 1, "away": 0.0}
    outcome = chaos_crawl(arguments(**chosen), tmp_path, fork)
    table = dict(outcome.rows())
    assert table["faults"] == "kill 1, redis-kill 1"
    assert table["pages fetched"] == "120 of 120"
    assert outcome.is_right(), table
