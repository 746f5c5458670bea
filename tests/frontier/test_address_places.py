"""Sessions at one IP address: at most as many as allowed, whatever else is ready."""

from __future__ import annotations

from collections import Counter

from crawlproject.frontier import Dispatcher, Entry, Frontier, Measurement, Politeness, QualityFirst
from tests.frontier.invariants import check

NONE = Politeness(factor=0, min_delay=0, max_delay=0, min_backoff=1)
SHARED, MOST = "192.0.2.1", 2


def new_frontier(*, admits_newcomers: bool = False, share: float = 1.0) -> Frontier:
    frontier = Frontier(QualityFirst(), NONE, max_batch=1, admits_newcomers=admits_newcomers)
    frontier.queue.share_sessions(share)
    frontier.queue.addresses.limit(MOST)
    return frontier


def push(frontier: Frontier, name: str, address: str = SHARED, *, quality: float = 1.0, urls: int = 1) -> str:
    key = f"http://{name}"
    frontier.servers.get_or_add(key).address = address
    frontier.push(Entry(f"{key}/{number}", quality) for number in range(urls))
    return key


def shared(count: int) -> list[str]:
    return [f"d{number}.test" for number in range(count)]


def answered(frontier: Frontier, key: str, now: float = 0.0) -> None:
    frontier.record(Measurement(key, now, status=200, connection_requests=1))


def served(dispatcher: Dispatcher) -> Counter[str]:
    return Counter(server.address for server in dispatcher.served())


def test_a_full_address_is_left_alone_until_a_session_there_ends() -> None:
    """Servers elsewhere are served; nothing is due until then, so that nobody polls; the best waits first."""
    frontier = new_frontier()
    dispatcher = Dispatcher(frontier, max_sessions=16)
    for number, name in enumerate(shared(10)):
        push(frontier, name, quality=float(number))
    push(frontier, "other.test", "192.0.2.2", quality=0.5)
    push(frontier, "unknown.test", "", quality=0.4)
    starts = []
    while (start := dispatcher.next(0.0)) is not None:
        starts.append(start)
    assert served(dispatcher) == {SHARED: MOST, "192.0.2.2": 1, "": 1}
    assert dispatcher.wake_at() is None
    assert frontier.queue.ready.shut == 8
    check(frontier)
    answered(frontier, starts[0].session.server.key)
    dispatcher.ended(starts[0].session)
    following = dispatcher.next(0.0)
    assert following is not None
    assert following.session.server.key == "http://d7.test"
    assert dispatcher.next(0.0) is None
    check(frontier)


def test_all_urls_are_fetched_in_the_end() -> None:
    """Also if a domain has its share of the sessions at the same time, and of one that is at several addresses."""
    frontier = new_frontier(share=0.25)
    dispatcher = Dispatcher(frontier, max_sessions=8)
    for number in range(60):
        push(frontier, f"s{number}.d{number % 3}.test", f"192.0.2.{number % 4}", quality=float(number % 7), urls=3)
    done = 0
    for now in range(200):
        starts = []
        while (start := dispatcher.next(float(now))) is not None:
            starts.append(start)
        assert max(served(dispatcher).values(), default=0) <= MOST
        assert starts or not len(frontier), "never stuck"
        for start in starts:
            answered(frontier, start.session.server.key, now + 0.5)
            dispatcher.ended(start.session)
            done += 1
        check(frontier)
    assert done == 180


def test_a_session_moves_to_the_address_that_it_connects_to() -> None:
    """It is refused one that is full, and then waits there; a proxy and an unlimited address have room always."""
    frontier = new_frontier()
    addresses = frontier.queue.addresses
    keys = [push(frontier, name) for name in shared(MOST)] + [push(frontier, "moved.test", "192.0.2.9")]
    sessions = [frontier.open_session(0.0) for _ in keys]
    moved = frontier.servers[keys[-1]]
    assert None not in sessions
    assert not addresses.move(moved, SHARED)
    assert (moved.address, addresses._taken["192.0.2.9"]) == ("192.0.2.9", 1), "another address may be tried"
    assert addresses.move(moved, "192.0.2.8")
    assert addresses.move(moved, "")
    assert sum(addresses._taken.values()) == MOST
    addresses.wait_at(moved, SHARED)
    session = moved.session
    assert session is not None
    frontier.close_session(session, 0.0)
    assert frontier.queue.first_due() is None
    check(frontier)
    first = frontier.servers[keys[0]].session
    assert first is not None
    frontier.close_session(first, 0.0)
    assert frontier.queue.first_due() == 0.0
    check(frontier)


def test_processes_share_the_limit() -> None:
    """One has its part, one session at least; when others leave, those that waited go on."""
    frontier = new_frontier()
    dispatcher = Dispatcher(frontier, max_sessions=16)
    frontier.queue.addresses.share(3)
    for name in shared(4):
        push(frontier, name)
    assert dispatcher.next(0.0) is not None
    assert (dispatcher.next(0.0), dispatcher.wake_at()) == (None, None)
    frontier.queue.addresses.share(1)
    assert dispatcher.wake_at() == 0.0
    assert dispatcher.next(0.0) is not None
    assert (dispatcher.next(0.0), frontier.queue.ready.shut) == (None, 2)
    check(frontier)


def test_newcomers_at_a_full_address_do_not_keep_others_from_being_looked_up() -> None:
    """Only by their names is it found who is elsewhere."""
    frontier = new_frontier(admits_newcomers=True)
    frontier.push(Entry(f"http://{name}/", 2.0) for name in shared(50))
    frontier.push([Entry("http://other.test/", 1.0)])
    opened = []
    for _ in range(60):
        key = frontier.ask_newcomer(0.0, 4)
        if key is not None:
            frontier.admit(key, "192.0.2.2" if "other" in key else SHARED)
        if (session := frontier.open_session(0.0)) is not None:
            opened.append(session.server.key)
        check(frontier)
    assert len(opened) == MOST + 1
    assert "http://other.test" in opened


def test_a_look_sets_few_aside_and_asks_to_be_called_again() -> None:
    """Of thousands at a full address: no look takes long, and a better one behind them is found."""
    frontier = new_frontier()
    for name in shared(1000):
        push(frontier, name, quality=2.0)
    push(frontier, "other.test", "192.0.2.2")
    assert all(frontier.open_session(0.0) for _ in range(MOST))
    looks = 0
    while (session := frontier.open_session(0.0)) is None:
        assert frontier.queue.first_due() == 0.0
        looks += 1
    assert session.server.key == "http://other.test"
    assert looks >= 5
    assert frontier.open_session(0.0) is None
    assert frontier.queue.first_due() is None
    check(frontier)
