#!/usr/bin/env python3
"""Crawl an emulated web, kill and break what crawls it, and count what that costs, by the web's own log.

    scripts/chaos.py [--workers 4] [--servers 300] [--pages 10000] [--kill 10] [--pause 5] [--redis-kill 3]
                     [--away 60] [--frozen 0] [--churn 0] [--seed 1] [--logs FOLDER]
    scripts/chaos.py --disk [--kill 10] [--pages 900]      # one process with a JOBDIR

Run by hand; takes minutes. --kill: workers killed (-9), each soon replaced; --pause: workers stopped for 1 to 40 s;
--redis-kill: Redis killed (-9) and started again on its append-only file; --away, --frozen: seconds in which Redis
refuses, and in which it answers nothing (once each); --churn: workers that are interrupted, each replaced at once.
A worker that was interrupted is left alone. The schedule is in pages fetched, so it depends only on --seed; so does
the choice of workers. --disk: the only process is killed, at random moments, and started again on its JOBDIR.

Every reachable page must have been fetched; otherwise, or if a worker failed or the crawl stood still, the exit code
is 1. A repeated fetch is explained if the first was in progress, or not yet confirmed, at a fault of its worker or of
Redis; with --disk, where every one must be explained, if the store did not have the page as fetched when the process
was killed. An overlap of connections to a server is explained if the earlier one belonged to a paused worker.
"""

from __future__ import annotations

import heapq
import math
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlproject.frontier import BestPrefix, Frontier, Politeness
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.fetched import DiskFetchedPages
from crawlproject.storage.frontier_state import DiskFrontierStore
from testbed.bench import command_line
from testbed.cut_off import CutOff
from testbed.redis_server import RunningRedis
from testbed.web import (
    Fault,
    Record,
    Repeat,
    Web,
    WebSpec,
    missing,
    overlaps,
    politeness_violations,
    repeats,
    rule_of,
    running_web,
    unexplained_overlaps,
    unexplained_repeats,
)
from testbed.workers import POLL, Workers, start_python

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Sequence

    from testbed.workers import Start

#: Seconds without a new page after which the crawl is taken to stand still. Longer than any fault and lease together.
STANDSTILL = 600.0
#: Seconds that a fetched page may be unconfirmed: three ticks of 1 s, 2 s of writes that Redis loses, and a margin.
UNCONFIRMED = 7.0
#: Seconds after the end of a fault until the workers know of it: a tick, and a margin.
AFTER = 5.0
#: Faults happen between these shares of all pages.
FIRST, LAST = 0.03, 0.9

SETTINGS: dict[str, Any] = {
    "FRONTIER_MAX_SESSIONS": 16,
    "FRONTIER_POLITENESS": "session",
    "FRONTIER_DELAY_FACTOR": 1,
    "FRONTIER_MIN_DELAY": 0.1,
    "FRONTIER_MAX_DELAY": 1,
    "FRONTIER_MIN_BACKOFF": 0.1,
    "FRONTIER_MAX_BACKOFF": 1,
    "FRONTIER_MAX_FAILURES": 0,
}
ON_DISK: dict[str, Any] = SETTINGS | {
    "FRONTIER_COMMIT_INTERVAL": 0.2,
    "FRONTIER_MAX_SESSIONS": 4,
    "FRONTIER_DELAY_FACTOR": 0,
    "FRONTIER_MIN_DELAY": 0,
    "FRONTIER_MIN_BACKOFF": 0.01,
    "FRONTIER_MAX_BACKOFF": 0.1,
    "RETRY_TIMES": 1,
}
#: Pages for each kill of the only process, so that the crawl lasts long enough.
PAGES_PER_KILL = 90

PAUSES = (1.0, 40.0)  # seconds: shorter and longer than a lease of 15 s
OUTAGES = (0.0, 5.0)  # seconds until Redis is started again
REPLACEMENTS = (0.0, 5.0)  # seconds until a killed worker is replaced


class Step(NamedTuple):
    """A fault that begins when so many pages are fetched, and lasts so many seconds."""

    pages: int
    kind: str
    seconds: float


def schedule(arguments: Namespace) -> list[Step]:
    """All faults, by pages; the same for the same arguments."""
    chance = random.Random(arguments.seed)
    ranges = {"kill": REPLACEMENTS, "pause": PAUSES, "redis-kill": OUTAGES, "churn": (0.0, 0.0)}
    numbers = {"kill": arguments.kill, "pause": arguments.pause, "redis-kill": arguments.redis_kill}
    steps = [
        Step(_moment(chance, arguments.pages), kind, chance.uniform(*ranges[kind]))
        for kind, number in (numbers | {"churn": arguments.churn}).items()
        for _ in range(number)
    ]
    once = {"away": arguments.away, "frozen": arguments.frozen}
    steps += [Step(_moment(chance, arguments.pages), kind, seconds) for kind, seconds in once.items() if seconds]
    return sorted(steps)


def _moment(chance: random.Random, pages: int) -> int:
    return round(pages * chance.uniform(FIRST, LAST))


@dataclass
class Chaos:
    """Breaks a crawl by a schedule, until all workers have ended."""

    crew: Workers
    redis: RunningRedis
    line: CutOff
    steps: list[Step]
    seed: int = 1
    #: Faults of Redis, with times.
    faults: list[Fault] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._chance = random.Random(f"{self.seed}/victims")
        self._ends: list[tuple[float, int, Callable[[], object]]] = []
        self._order = count()
        self._paused: set[int] = set()
        self._leaving: set[int] = set()  # interrupted: what they do until their end is their own
        self._victim: int | None = None  # of the last fault; None: Redis
        self._broken = ""  # what is the matter with Redis: one thing at a time

    def run(self) -> str:
        """Break things until all workers have ended; returns what went wrong with that, or nothing."""
        steps, best, since = list(self.steps), 0, time.monotonic()
        began = since
        while self.crew.running() or self._ends:
            while self._ends and self._ends[0][0] <= time.monotonic():
                heapq.heappop(self._ends)[2]()
            pages = self.crew.pages()
            if pages > best:
                best, since = pages, time.monotonic()
            if time.monotonic() - since > STANDSTILL:
                return f"no new page for {STANDSTILL:g} s"
            if steps and steps[0].pages <= pages and self._begin(steps[0]):
                what = steps[0].kind if self._victim is None else f"{steps[0].kind} worker {self._victim}"
                print(f"{time.monotonic() - began:>8.1f} s, {pages} pages: {what} ({steps[0].seconds:.1f} s)")
                del steps[0]
            time.sleep(POLL)
        return f"the crawl ended before {len(steps)} of the faults: increase --pages" if steps else ""

    def _later(self, seconds: float, what: Callable[[], object]) -> None:
        heapq.heappush(self._ends, (time.monotonic() + seconds, next(self._order), what))

    def _begin(self, step: Step) -> bool:
        """Begin a fault; False if it is not possible now."""
        if step.kind in ("redis-kill", "away", "frozen"):
            self._victim = None
            return self._break_redis(step)
        spared = self._leaving if step.kind == "kill" else self._leaving | self._paused
        victims = [number for number in self.crew.running() if number not in spared]
        if not victims:
            return False
        self._victim = victim = self._chance.choice(victims)
        if step.kind == "pause":
            self._pause(victim, step.seconds)
        elif step.kind == "kill":
            self.crew.kill(victim)
            self._later(step.seconds, self._add)
        else:
            self._leaving.add(victim)
            self.crew.interrupt(victim)
            self._add()
        return True

    def _add(self) -> None:
        """Start a worker, as soon as it can reach Redis."""
        if self._broken:
            self._later(1.0, self._add)
        else:
            self.crew.add()

    def _pause(self, victim: int, seconds: float) -> None:
        def over() -> None:
            self._paused.discard(victim)
            self.crew.resume(victim)

        self.crew.pause(victim)
        self._paused.add(victim)
        self._later(seconds, over)

    def _break_redis(self, step: Step) -> bool:
        if self._broken:
            return False
        self._broken, start = step.kind, time.monotonic()
        begin, end = {
            "redis-kill": (self.redis.kill, self.redis.restart),
            "away": (self.line.cut, self.line.heal),
            "frozen": (self.line.freeze, self.line.heal),
        }[step.kind]
        begin()

        def over() -> None:
            end()
            self._broken = ""
            self.faults.append(Fault(step.kind, start, time.monotonic()))

        self._later(step.seconds, over)
        return True


@dataclass
class Outcome:
    """The result of a crawl."""

    web: Web
    records: Sequence[Record]
    faults: Sequence[Fault]
    #: Why the crawl failed as a whole; empty: it did not.
    trouble: str = ""
    #: With a JOBDIR: servers and paths of the pages that the store had as fetched, at each kill.
    committed: Sequence[set[tuple[str, str]]] | None = None

    def unexplained(self) -> list[Repeat]:
        """Repeated fetches that no fault explains."""
        if self.committed is None:
            return unexplained_repeats(self.records, self.faults, UNCONFIRMED, AFTER)
        found = []
        for each in repeats(self.records):
            first, again = each.before.arrival, each.again.arrival
            between = [at for at, kill in zip(self.committed, self.faults, strict=True) if first < kill.end < again]
            if not between or any(each.page in at for at in between):
                found.append(each)
        return found

    def rows(self) -> Iterator[tuple[str, str]]:
        """The table: name and value of each figure."""
        again, open_twice = repeats(self.records), overlaps(self.records)
        pauses = [fault for fault in self.faults if fault.kind == "pause"]
        unexplained, lost = self.unexplained(), missing(self.web, self.records)
        kinds = sorted(Counter(fault.kind for fault in self.faults).items())
        yield "faults", ", ".join(f"{kind} {number}" for kind, number in kinds) or "none"
        yield "pages fetched", f"{len(self.web.expected) - len(lost)} of {len(self.web.expected)}"
        yield "fetched again", f"{len(again)}, unexplained: {len(unexplained)}"
        yield "overlaps", f"{len(open_twice)}, unexplained: {len(unexplained_overlaps(self.records, pauses, AFTER))}"
        rule = rule_of(SETTINGS if self.committed is None else ON_DISK, self.web)
        yield "waits too short", f"{len(politeness_violations(self.records, rule))}"
        yield from (("missing", url) for url in lost[:10])
        yield from (("unexplained", "".join(each.page)) for each in unexplained[:10])
        if self.trouble:
            yield "failed", self.trouble

    def is_right(self) -> bool:
        """Whether all pages were fetched and nothing failed."""
        return not (self.trouble or missing(self.web, self.records) or (self.committed and self.unexplained()))


def chaos_crawl(arguments: Namespace, folder: Path, start: Start = start_python) -> Outcome:
    """Crawl by workers as the arguments say; their logs stay in ``folder``."""
    spec = WebSpec(
        servers=arguments.servers, pages=arguments.pages, seed=arguments.seed, time_scale=0.3, idle_timeout=120
    )
    with running_web(spec) as web, RunningRedis(aof=True) as redis, CutOff(redis.url) as line:
        settings = {**SETTINGS, "FRONTIER_BACKEND": "redis", "REDIS_URL": line.url}
        with Workers(folder, web, settings, start=start) as crew:
            for _ in range(arguments.workers):
                crew.add()
            chaos = Chaos(crew, redis, line, schedule(arguments), arguments.seed)
            trouble = chaos.run() or _failures(crew)
            return Outcome(web.web, crew.records(), chaos.faults + crew.faults, trouble)


def _failures(crew: Workers) -> str:
    """The workers that failed by themselves; the end of their logs goes to standard error."""
    failed = [worker for worker in crew.all if worker.process.poll() and worker.fate != "kill"]
    # Redis broke, or the worker was interrupted, while it started
    excuses = ("cannot be reached", "interrupted before the crawl")
    failed = [worker for worker in failed if not any(excuse in worker.log() for excuse in excuses)]
    for worker in failed:
        print(f"worker {worker.number}:\n{worker.log()[-2000:]}", file=sys.stderr)
    return ", ".join(f"worker {worker.number}: exit code {worker.process.poll()}" for worker in failed)


def disk_crawl(kills: int, pages: int, seed: int, folder: Path, start: Start = start_python) -> Outcome:
    """Crawl by one process with a JOBDIR in ``folder``: kill it ``kills`` times, then let it finish. 0 pages: enough.

    Kills hit a random moment: in one of five cases of the start, else of the first second of fetching.
    """
    pages, chance = pages or max(400, PAGES_PER_KILL * kills), random.Random(seed)
    errors = {"redirect_share": 0.05, "server_error_share": 0.02}
    committed: list[set[tuple[str, str]]] = []
    trouble = ""
    with (
        running_web(WebSpec(servers=20, pages=pages, seed=seed, time_scale=0.05, **errors)) as web,
        Workers(folder, web, ON_DISK | {"JOBDIR": folder / "job"}, start=start) as crew,
    ):
        web.limit(pages // 2)  # so that the first run does not end before it is killed
        while len(committed) < kills and not trouble:
            one = crew.all[crew.add()]
            starts = chance.random() < 0.2
            if not starts:
                crew.until(lambda: bool(crew.look()) or not crew.running(), "a page was fetched")
            time.sleep(chance.uniform(0.0, 1.5 if starts else 1.0))
            if one.process.poll() is None:
                crew.kill(one.number)
                committed.append(committed_pages(folder / "job" / "frontier"))
            else:
                trouble = f"the crawl ended before {kills - len(committed)} of the kills: increase --pages"
            web.limit(math.inf)
        crew.add()
        crew.wait_all()
        return Outcome(web.web, crew.records(), crew.faults, trouble, committed)


def committed_pages(directory: Path) -> set[tuple[str, str]]:
    """Server and path of each page that the store in ``directory`` has as fetched; none if there is no store yet."""
    if not (directory / "store.json").exists():
        return set()
    with DiskStore.read_only(directory) as store:
        frontier, servers = Frontier(BestPrefix(), Politeness()), DiskFrontierStore(store, clock_offset=0.0)
        servers.load(frontier, time.time())
        hosts = {servers.number(server.key): urlsplit(server.key).hostname or "" for server in frontier.servers}
        return {(hosts[number], path) for number, path, _ in DiskFetchedPages(store).stored()}


DEFAULTS: dict[str, Any] = {
    **{"workers": 4, "servers": 300, "pages": 0, "kill": 10, "pause": 5, "redis_kill": 3, "away": 60.0, "frozen": 0.0},
    **{"churn": 0, "seed": 1, "disk": False, "logs": ""},
}


def main(argv: Sequence[str] | None = None) -> int:
    """Crawl and report; returns 0 if no page is missing and nothing failed."""
    arguments = command_line(__doc__, **DEFAULTS).parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(arguments.logs or name)
        if arguments.disk:
            outcome = disk_crawl(arguments.kill, arguments.pages, arguments.seed, folder)
        else:
            arguments.pages = arguments.pages or 10_000
            outcome = chaos_crawl(arguments, folder)
    for name, value in outcome.rows():
        print(f"{name:16} {value}")
    return 0 if outcome.is_right() else 1


if __name__ == "__main__":
    sys.exit(main())
