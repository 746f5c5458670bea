"""No newcomer is asked for and then forgotten, whatever happens to it meanwhile: every crawl ends."""

from __future__ import annotations

from random import Random

import pytest

from crawlproject.frontier import BestPrefix, Dispatcher, Entry, Frontier, Measurement, Politeness
from crawlproject.frontier.dispatch import Start
from tests.frontier.invariants import check

SERVERS = [f"http://s{number}.example" for number in range(24)]
#: Steps with changes; and with those after which every crawl has ended.
CHANGING, MAX_STEPS = 400, 20_000


def group_of(key: str) -> str:
    """One of four groups."""
    return f"group{SERVERS.index(key) % 4}"


class RandomCrawl:
    """A crawl in virtual time: names take a while, some fail; servers come, go, are blocked, rest, share groups."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.frontier = Frontier(
            BestPrefix(),
            Politeness(),
            max_failures=3,
            group_of=group_of if random.random() < 0.6 else None,
            admits_newcomers=True,
        )
        self.dispatcher = Dispatcher(self.frontier, random.choice([1, 2, 5]))
        self.kinds = {key: random.choices(["good", "dead", "nameless", "late"], [5, 3, 1, 2])[0] for key in SERVERS}
        self.ahead = random.choice([1, 3, 100])
        self.now = 0.0
        self.asked: list[tuple[float, str]] = []
        self.busy: list[tuple[float, Start]] = []
        self.blocked: set[str] = set()
        self.pushed = 0

    def run(self) -> None:
        for key in SERVERS:
            self.push(key)
        for step in range(MAX_STEPS):
            if step < CHANGING:
                self.change(self.random.choice(SERVERS))
            elif step == CHANGING:
                for key in self.blocked:
                    list(self.frontier.block(key, blocked=False))
            self.start()
            self.frontier.drops.take()
            if step % 50 == 0:
                check(self.frontier)
            if step > CHANGING and not len(self.frontier) and not self.busy:
                return
            wake = self.dispatcher.wake_at()
            times = [at for at, _ in self.asked] + [at for at, _ in self.busy] + ([] if wake is None else [wake])
            assert times or step < CHANGING, f"nothing wakes the crawl: {self.frontier.counts()}"
            self.now = max(self.now, min(times, default=self.now + 1)) + 1e-6
            self.end()
        raise AssertionError(f"no end: {self.frontier.counts()}")

    def push(self, key: str) -> None:
        self.pushed += 1
        self.frontier.push([Entry(f"{key}/{self.pushed}", self.random.random())])

    def start(self) -> None:
        """What the engine's turn does: ask for names, start requests."""
        frontier, random = self.frontier, self.random
        while (key := frontier.ask_newcomer(self.now, 5 if frontier.queue.newcomers_fail else self.ahead)) is not None:
            self.asked.append((self.now + random.expovariate(0.5), key))
        while (start := self.dispatcher.next(self.now)) is not None:
            self.busy.append((self.now + random.expovariate(2.0), start))
        self.dispatcher.take_closed()

    def end(self) -> None:
        """End look-ups and requests."""
        for at, key in [one for one in self.asked if one[0] <= self.now]:
            self.asked.remove((at, key))
            kind = self.kinds[key]
            if kind == "late":
                self.kinds[key] = "good"
            if kind in ("good", "dead"):
                self.frontier.admit(key)
            elif self.frontier.server(key) is not None:
                self.frontier.name_failed(key, self.now, "no such name", 30.0, is_final=kind == "nameless")
        for ends, start in [one for one in self.busy if one[0] <= self.now]:
            self.busy.remove((ends, start))
            server = start.session.server
            failed = self.kinds[server.key] == "dead"
            status = None if failed else 200
            self.frontier.record(Measurement(server.key, self.now, status, failed, 0.1, 0.3, keep_alive_time=30.0))
            self.dispatcher.ended(start.session)

    def change(self, key: str) -> None:
        frontier, now = self.frontier, self.now
        server = frontier.servers.get_or_add(key)
        what = self.random.randrange(12)
        if what < 5:
            self.push(key)
        elif what == 5:
            self.blocked ^= {key}
            list(frontier.block(key, blocked=key in self.blocked))
        elif what == 6:
            list(frontier.servers.set_delay(key, self.random.choice([0.0, 3.0]), now))
        elif what == 7 and server.session is None:
            frontier.remove(key)
        elif what == 8:
            sum(frontier.rewrite_queue(server, lambda entry: entry if self.random.random() < 0.7 else None))
        elif what == 9:
            frontier.servers.learn_content(key, copy=self.random.random() < 0.5)
        elif what == 10:
            frontier.record(Measurement(key, now, 200, connect_time=0.1, response_time=0.1))
        elif what == 11:
            self.frontier.servers.connection_lost(key, now)


@pytest.mark.parametrize("seed", range(20))
def test_every_crawl_ends(seed: int) -> None:
    """No server stays in a line for ever."""
    RandomCrawl(seed).run()
