"""The schedule of faults, with a crawl that only counts; the table. Whole crawls are run by hand."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from typing import Any

from scripts.chaos_crawl import DEFAULTS, PAUSES, STANDSTILL, Chaos, Outcome, Step, schedule
from testbed.web import Fault, Record, build_web
from tests.testbed.browser import fast


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


def test_table() -> None:
    """One page of the web was fetched, twice; the first time in progress when its worker was killed."""
    web = build_web(fast(servers=1, pages=2, seed_count=1)).at(8000)
    server = web.servers[0].address
    records = [
        Record("open", server, 1, 0, 0.0, 0.0, 0, 0, "127.9.0.1:4000", "", ""),
        Record("request", server, 1, 1, 0.0, 1.0, 200, 100, "/", "/", ""),
        Record("close", server, 1, 1, 1.0, 1.0, 0, 0, "", "", "client"),
        Record("open", server, 2, 0, 30.0, 30.0, 0, 0, "127.9.0.2:4000", "", ""),
        Record("request", server, 2, 1, 30.0, 31.0, 200, 100, "/", "/", ""),
    ]
    stats = {"frontier/links/sent": 3.0}
    outcome = Outcome(web, records, [Fault("kill", 0.5, 0.5, "127.9.0.1")], 31.0, stats=stats, ended=1)
    rows = outcome.rows()
    assert [next(rows) for _ in range(10)] == [
        ("faults", "kill 1"),
        ("pages reachable", "2"),
        ("pages fetched", "1"),
        ("pages missing", "1"),
        ("fetched again", "1, unexplained: 0"),
        ("by fault", "kill 1"),
        ("overlaps", "0, unexplained: 0"),
        ("waits too short", "0"),
        ("cross links sent", "3 by 1 workers"),
        ("duration", "31 s"),
    ]
    assert list(rows) == [("missing", web.expected_urls()[1])]
    assert not outcome.is_right()
    other = records[4]._replace(target="/p1.html", page=web.paths[1])
    assert Outcome(web, [*records, other], [], 31.0).is_right()
    assert not Outcome(web, [*records, other], [], 31.0, trouble="no new page").is_right()
