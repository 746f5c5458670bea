"""The servers of one registered domain have a part of the sessions while servers of other domains are ready."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from crawlproject.frontier import Entry, Frontier, Politeness, QualityFirst, Session
from crawlproject.frontier.queues import ready_line
from crawlproject.frontier.queues.ready_line import AddressPlaces, Domains, DomainShares, ReadyLine
from crawlproject.urls.server_key import domain_of_server
from tests.frontier.invariants import check

SESSIONS = 8
SHARE = 0.25
PLACES = 2
NONE = Politeness(factor=0, min_delay=0, max_delay=0, min_backoff=1)


def new_frontier(share: float = SHARE, *, admits_newcomers: bool = False) -> Frontier:
    frontier = Frontier(QualityFirst(), NONE, admits_newcomers=admits_newcomers)
    frontier.queue.share_sessions(share)
    return frontier


def push(frontier: Frontier, hosts: list[str], quality: float = 1.0, urls: int = 3) -> None:
    frontier.push(Entry(f"http://{host}/{number}", quality) for host in hosts for number in range(urls))


def farm(count: int, first: int = 0) -> list[str]:
    return [f"s{number}.farm.com" for number in range(first, first + count)]


def open_sessions(frontier: Frontier, count: int = SESSIONS) -> list[Session]:
    opened = [frontier.open_session(0.0, SESSIONS) for _ in range(count)]
    check(frontier)
    return [session for session in opened if session is not None]


def domains_of(keys: Sequence[str | None]) -> Counter[str]:
    return Counter(domain_of_server(key) for key in keys if key is not None)


def domains(sessions: list[Session]) -> Counter[str]:
    return domains_of([session.server.key for session in sessions])


def test_a_domain_has_its_share_while_others_are_ready() -> None:
    """However well its servers rank; servers of other domains are in the order of their ranks."""
    frontier = new_frontier()
    push(frontier, farm(20), quality=9.0)
    push(frontier, [f"good{number}.org" for number in range(20)])
    assert domains(open_sessions(frontier))["farm.com"] == PLACES


def test_a_domain_gets_all_sessions_that_nobody_else_can_use() -> None:
    """Its best servers first; also if it is the only one."""
    frontier = new_frontier()
    push(frontier, farm(20))
    push(frontier, ["s19.farm.com"], quality=5.0, urls=4)
    push(frontier, ["good.org", "good.net"])
    sessions = open_sessions(frontier)
    assert domains(sessions) == {"farm.com": 6, "good.org": 1, "good.net": 1}
    assert sessions[0].server.key == "http://s19.farm.com"
    assert len(open_sessions(frontier, 1)) == 1  # the limit is the caller's


def test_hosts_that_end_alike_are_not_one_domain() -> None:
    """``co.uk`` is a public suffix."""
    frontier = new_frontier()
    push(frontier, [f"www.shop{number}.co.uk" for number in range(7)], quality=9.0)
    push(frontier, ["good.org", "good.net"])
    assert len(domains(open_sessions(frontier))) == SESSIONS
    assert sum(domain.endswith(".co.uk") for domain in domains(list_of_open(frontier))) == 7


def list_of_open(frontier: Frontier) -> list[Session]:
    return [server.session for server in frontier.servers if server.session is not None]


def test_when_a_session_ends_the_best_server_of_its_domain_is_next() -> None:
    """Not only the one that was set aside first."""
    frontier = new_frontier()
    push(frontier, farm(20), quality=9.0)
    push(frontier, [f"good{number}.org" for number in range(20)])
    sessions = open_sessions(frontier)
    push(frontier, ["s15.farm.com"], quality=99.0)
    ended = next(session for session in sessions if "farm" in session.server.key)
    frontier.close_session(ended, 0.0)
    check(frontier)
    assert [session.server.key for session in open_sessions(frontier, 1)] == ["http://s15.farm.com"]
    assert "farm" not in open_sessions(frontier, 1)[0].server.key


def test_a_session_beyond_the_share_ends_for_another_domain() -> None:
    """One within it does not, nor one of another domain for a domain that has its share."""
    frontier = new_frontier()
    push(frontier, farm(20), quality=9.0)
    sessions = open_sessions(frontier)
    assert all(frontier.is_worth_more(session, 0.0) for session in sessions)  # nobody else is ready
    push(frontier, ["good.org"])
    assert not any(frontier.is_worth_more(session, 0.0) for session in sessions)
    for session in sessions[PLACES:]:
        frontier.close_session(session, 0.0)
    kept = sessions[:PLACES]
    assert all(frontier.is_worth_more(session, 0.0) for session in kept)
    good = open_sessions(frontier, 1)[0]
    assert good.server.key == "http://good.org"
    assert frontier.next_url(good, 0.0)
    assert frontier.is_worth_more(good, 0.0)


def test_newcomers_of_a_farm_do_not_keep_others_from_being_looked_up() -> None:
    """They have places with all others; one of another domain has places that none of them takes."""
    frontier, admitted = new_frontier(admits_newcomers=True), 4
    push(frontier, farm(300), quality=9.0)

    def admit() -> list[str]:
        keys = []
        while (key := frontier.ask_newcomer(0.0, admitted)) is not None:
            keys.append(key)
            frontier.admit(key)
        check(frontier)
        return keys

    assert len(admit()) == admitted
    assert len(open_sessions(frontier, 2)) == PLACES
    push(frontier, [f"good{number}.org" for number in range(9)])
    asked = {domain_of_server(key) for key in admit()}
    while not any("good" in domain for domain in asked) and frontier.open_session(0.0, SESSIONS):
        asked |= {domain_of_server(key) for key in admit()}
    assert sum("good" in domain for domain in asked) >= admitted - 1
    assert domains(open_sessions(frontier, 4))["farm.com"] == 0


def test_names_that_nobody_answers_for_do_not_keep_others_from_being_looked_up() -> None:
    """While subdomains wait for their name servers, another domain's newcomer is asked for next."""
    frontier, admitted = new_frontier(admits_newcomers=True), 16
    push(frontier, farm(50), quality=9.0)
    asked = [frontier.ask_newcomer(0.0, admitted) for _ in range(6)]
    assert None not in asked, "nobody else waits"
    push(frontier, [f"good{number}.org" for number in range(3)])
    others = [frontier.ask_newcomer(0.0, admitted) for _ in range(3)]
    assert others == [f"http://good{number}.org" for number in range(3)]
    check(frontier)
    for key in asked:
        assert key is not None
        frontier.name_failed(key, 0.0, "no answer", 30.0, is_final=False)
    check(frontier)
    push(frontier, ["late.org"])
    assert domains_of([frontier.ask_newcomer(0.0, admitted) for _ in range(5)])["farm.com"] == 4
    check(frontier)
    frontier.give_up("http://late.org")
    frontier.remove("http://good0.org")
    check(frontier)


class Ready:
    """A ready server."""

    def __init__(self, key: str, address: str = "") -> None:
        self.key = key
        self.address = address
        self.domain: str | None = None
        self.crowd = None
        self.heap_item: tuple[float, int, int] | None = None
        self.rank = 0.0


def new_shares() -> DomainShares:
    shares = DomainShares(Domains())
    shares.limit(SHARE)
    return shares


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 30))])
def test_the_best_is_that_of_a_scan(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After any sequence of operations, without a limit at addresses and with one."""
    monkeypatch.setattr(ready_line, "SET_ASIDE_PER_LOOK", 1000)
    rng = random.Random(seed)
    shares, addresses, most = new_shares(), AddressPlaces(), seed % 3
    addresses.limit(most)
    lines = [ReadyLine(addresses, shares), ReadyLine(addresses, shares)]
    ready: list[set[Ready]] = [set(), set()]
    served: set[Ready] = set()
    suffixes = ("a.com", "b.com", "c.co.uk", "d.co.uk", "e.org")
    idle = {Ready(f"http://h{number}.{rng.choice(suffixes)}", rng.choice(("", "A", "B", "C"))) for number in range(60)}
    sessions = 8

    def count(domain: str) -> int:
        return sum(domain_of_server(server.key) == domain for server in served)

    def is_full(server: Ready) -> bool:
        return count(domain_of_server(server.key)) >= max(1, int(sessions * SHARE))

    def is_shut(server: Ready) -> bool:
        return bool(server.address) and sum(other.address == server.address for other in served) >= most > 0

    def some(servers: set[Ready]) -> Ready:
        return rng.choice(sorted(servers, key=lambda server: server.key))

    for _ in range(600):
        at = rng.randrange(2)
        line, here = lines[at], ready[at]
        what = rng.random()
        if what < 0.3 and idle:
            server = some(idle)
            server.rank = float(rng.randrange(1000))
            idle.remove(server)
            here.add(server)
            line.push(server, server.rank)
        elif what < 0.45 and here:
            server = some(here)
            server.rank = float(rng.randrange(1000))
            line.rekey(server, server.rank)
        elif what < 0.55 and here:
            server = some(here)
            line.remove(server)
            here.remove(server)
            idle.add(server)
        elif what < 0.75 and (best := line.peek()) is not None:
            line.remove(best)
            here.remove(best)
            served.add(best)
            shares.take(best)
            addresses.take(best)
        elif what < 0.95 and served:
            server = some(served)
            served.remove(server)
            idle.add(server)
            shares.leave(server)
            addresses.leave(server)
        else:
            sessions = rng.choice((1, 4, 8, 16, 40))
        shares.set_places(sessions)
        for line, here in zip(lines, ready, strict=True):
            check_line(line, here, is_full, is_shut)


def check_line(
    line: ReadyLine, here: set[Ready], is_full: Callable[[Ready], bool], is_shut: Callable[[Ready], bool]
) -> None:
    """It has the servers ``here``, and its best is that of a scan."""
    best = line.peek()
    expected = min(((is_full(each), each.rank) for each in here if not is_shut(each)), default=None)
    assert (None if best is None else (is_full(best), best.rank)) == expected
    assert best is None or (best.heap_item is not None and best.heap_item[0] == best.rank)
    assert len(line) == len(here)
    assert set(line.values()) == here
    assert line.crowded <= sum(is_full(each) or is_shut(each) for each in here)
    assert line.shut <= sum(map(is_shut, here))
    assert all(server in here for server in line.about_first(5))
    if here and not any(is_full(each) or is_shut(each) for each in here):
        assert min(server.rank for server in line.about_first(1)) == expected[1]  # type: ignore[index]


def test_a_domain_moves_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 10,000 servers: each is set aside once, a few at a time, not each time its domain has its share again."""
    shares = new_shares()
    line = ReadyLine(AddressPlaces(), shares)
    shares.set_places(SESSIONS)
    served = [Ready(f"http://x{number}.farm.com") for number in range(PLACES)]
    for number in range(10_000):
        line.push(Ready(f"http://h{number}.farm.com"), -9.0)
    good = Ready("http://good.org")
    line.push(good, -1.0)
    for server in served:
        shares.take(server)
    moved = 0
    put_aside = ReadyLine._put_aside

    def counted(self: ReadyLine, *moving: Any) -> None:
        nonlocal moved
        moved += 1
        put_aside(self, *moving)

    monkeypatch.setattr(ReadyLine, "_put_aside", counted)
    looks = 0
    while line.peek() is not good:
        looks += 1
        assert moved <= looks * ready_line.SET_ASIDE_PER_LOOK
    assert moved == 10_000
    for _ in range(1000):
        shares.leave(served[0])
        best = line.peek()
        assert best is not None
        assert best is not good
        shares.take(served[0])
        assert line.peek() is good
    assert moved == 11_000
